//! A list in few words, for an agent that begins to work.

use super::escaping;
use super::gone_words::loss_in_words;
use super::line::cut_text;
use crate::rules::claims::briefing::Brief;
use crate::{ListId, Task};

/// How many tasks in progress are named.
const MOST: usize = 5;
/// How many columns the title of a task may take.
const COLUMNS: usize = 60;

/// Returns the state of a list in a few lines, safe to show: how many tasks, who does what, what can start.
pub fn brief_lines(list: &ListId, brief: &Brief) -> Vec<String> {
    let blocked = match brief.blocked {
        0 => String::new(),
        1 => "; 1 waits for others".to_owned(),
        count => format!("; {count} wait for others"),
    };
    let [pending, in_progress, completed] = brief.counts;
    let counts = format!("{pending} pending, {in_progress} in progress, {completed} completed");
    let mut lines = vec![format!("List {list}: {counts}{blocked}")];
    lines.extend(brief.gone.and_then(|gone| loss_in_words(&gone, list, |moment| moment.to_string())));
    if !brief.in_progress.is_empty() {
        let named = brief.in_progress.iter().take(MOST).map(|task| match task.owner() {
            Some(owner) => format!("{} ({})", named(task), escaping::one_line(owner)),
            None => named(task),
        });
        lines.push(format!("In progress: {}", listed(named.collect(), brief.in_progress.len())));
    }
    if !brief.best.is_empty() {
        let best = brief.best.iter().map(|ranked| named(&ranked.task)).collect();
        lines.push(format!("Ready, best first: {}", listed(best, brief.ready)));
    }
    lines
}

/// Says for which task `work` started an agent, and whether the agent still holds it.
pub fn run_line(task: &Task, is_held: bool) -> String {
    let (named, id) = (named(task), &task.id);
    match is_held {
        true => format!(
            "This run is for {named}: work on that and nothing else. Finished: `taskyard done {id}`. Not going to finish it: `taskyard \
             release {id}`."
        ),
        false => format!("This run was for {named}, which is no longer yours."),
    }
}

/// Returns tasks by number and title, the first few of them: `#1 Write the parser, #2 Ship, and 3 more`.
pub fn brief_names(tasks: &[Task]) -> String {
    listed(tasks.iter().take(MOST).map(named).collect(), tasks.len())
}

fn named(task: &Task) -> String {
    format!("#{} {}", task.id, cut_text(&task.shown_subject(), COLUMNS, "…"))
}

fn listed(named: Vec<String>, count: usize) -> String {
    let more = count.saturating_sub(named.len());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}
