//! What a journal has of the owners of tasks.

use std::collections::HashMap;

use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::health::{is_of_another_program, is_sign_of_owner};
use taskyard_core::{Entry, Op, Task, TaskId, Timestamp};

/// What a journal has of the owners of tasks, gathered in one pass: a list may be long, and so may its journal.
#[derive(Debug)]
pub(super) struct OwnerSigns {
    /// When each agent last did something.
    pub(super) of_agents: HashMap<String, Timestamp>,
    /// The tasks in question.
    pub(super) of_tasks: HashMap<TaskId, SignsOfTask>,
}

/// What the entries of one task say of its owner.
#[derive(Debug)]
pub(super) struct SignsOfTask {
    pub(super) task: Task,
    /// When its file was written, where that is known.
    pub(super) written: Option<Timestamp>,
    /// When its owner last showed life in it.
    pub(super) last: Option<Timestamp>,
}

impl OwnerSigns {
    /// Takes the next entry of the journal.
    pub(super) fn add(&mut self, entry: &Entry) {
        if self.of_tasks.is_empty() {
            return;
        }
        if entry.op != Op::Expire {
            match self.of_agents.get_mut(entry.actor.as_str()) {
                Some(last) => *last = entry.at.max(*last),
                None => drop(self.of_agents.insert(entry.actor.as_str().to_owned(), entry.at)),
            }
        }
        if let Some(of_task) = self.of_tasks.get_mut(&entry.task)
            && is_sign_of_owner(entry, &of_task.task)
        {
            // What another program wrote happened when it wrote it, and not when we saw it.
            let happened = match of_task.written.filter(|_| is_of_another_program(entry)) {
                Some(written) => written.min(entry.at),
                None => entry.at,
            };
            of_task.last = of_task.last.max(Some(happened));
        }
    }

    /// Returns when an agent last did something.
    pub(super) fn of_agent(&self, owner: &str) -> Option<Timestamp> {
        let own = self.of_agents.iter().filter(|(agent, _)| is_same_agent(agent, owner));
        own.map(|(_, last)| *last).max()
    }
}
