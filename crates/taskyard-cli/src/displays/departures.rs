//! What is said to people of an agent that is gone; agents are told in the client's words, which name its tools.

use taskyard::core::render::{Line, Tone, numbered};
use taskyard::core::{AgentName, Task, TaskId};
use taskyard::operations::{Departed, Departure, Pruned};

/// Says which tasks an agent has left behind, each on a line of its own.
pub(crate) fn given_back(agent: &AgentName, departed: &Departed) -> Vec<Line> {
    let said = match departed.tasks.len() {
        0 => format!("{agent} had no open task"),
        1 => format!("Released 1 task of {agent}, which anybody can take now"),
        count => format!("Released {count} tasks of {agent}, which anybody can take now"),
    };
    let listed = departed.tasks.iter().map(|task| {
        let line = Line::plain("  ").with(Tone::Id, &format!("#{}", task.id));
        line.with(Tone::Plain, &format!(" {}", task.shown_subject()))
    });
    [Line::plain(&said)].into_iter().chain(listed).collect()
}

/// Says that a member was taken out of its team, why, and what it has left behind.
pub(crate) fn taken_out(gone: &Pruned) -> String {
    let tasks = &gone.departed.tasks;
    let why = match gone.departure {
        Departure::Shutdown => "it has ended as it was asked to",
        Departure::Terminated => "it no longer lives",
    };
    let said = format!("took {} out of the team, since {why}", gone.name);
    if tasks.is_empty() { said } else { format!("{said}; {} can be taken again", numbered(&ids_of(tasks))) }
}

fn ids_of(tasks: &[Task]) -> Vec<TaskId> {
    tasks.iter().map(|task| task.id.clone()).collect()
}
