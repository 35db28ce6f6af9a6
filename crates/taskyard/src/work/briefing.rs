//! What a command is told of the task, or the messages, it is started for.

use std::ffi::OsString;

use serde_json::{Value, json};
use taskyard_core::dialect::native::Shape;
use taskyard_core::{ListId, Task, Token};

use super::{Order, Worker};
use crate::hooks::line;
use crate::process::{CommandLine, Program};

/// How long the value of a variable can be. Linux takes no longer string than 128 KiB, name included.
const LONGEST_VALUE: usize = 96 * 1024;

/// A task, and what a command must know to work on it.
pub(super) struct Briefing<'a> {
    pub(super) task: &'a Task,
    pub(super) token: Token,
    pub(super) attempt: u64,
    pub(super) worker: &'a Worker,
    pub(super) list: &'a ListId,
    /// What was written to the worker, as JSON.
    pub(super) messages: Option<String>,
}

impl Briefing<'_> {
    /// Returns the command with the task on its stdin and in its environment.
    pub(super) fn program(&self, order: &Order) -> Program {
        Program {
            command: CommandLine::Words(order.program.clone(), order.arguments.clone()),
            directory: order.directory.clone(),
            environment: self.environment(order),
            stdin: line(&Shape(self.task)),
            timeout: None,
        }
    }

    fn environment(&self, order: &Order) -> Vec<(OsString, OsString)> {
        let task = self.task;
        let metadata = task
            .metadata
            .as_ref()
            .map_or_else(|| "{}".to_owned(), |it| serde_json::Value::from(it.clone()).to_string());
        // Half an object would be none; the whole of it is on stdin.
        let metadata = if metadata.len() > LONGEST_VALUE { String::new() } else { metadata };
        let values = [
            ("TASKYARD_TASK_ID", task.id.as_str().to_owned()),
            ("TASKYARD_TASK_SUBJECT", task.subject.clone()),
            ("TASKYARD_TASK_DESCRIPTION", task.description.clone()),
            ("TASKYARD_TASK_ACTIVE_FORM", task.active_form.clone().unwrap_or_default()),
            ("TASKYARD_TASK_TOKEN", self.token.to_string()),
            ("TASKYARD_TASK_METADATA", metadata),
            ("TASKYARD_TASK_ATTEMPT", self.attempt.to_string()),
        ];
        let around = surroundings(order, self.worker, self.list, self.messages.clone());
        values.into_iter().chain(around).map(|(name, value)| (name.into(), fitting(value).into())).collect()
    }
}

/// Messages for a worker that has no task, and what a command must know to attend to them.
pub(super) struct Errands<'a> {
    pub(super) worker: &'a Worker,
    pub(super) list: &'a ListId,
    /// What was written to the worker, as a list.
    pub(super) messages: &'a Value,
}

impl Errands<'_> {
    /// Returns the command with the messages on its stdin and in its environment.
    pub(super) fn program(&self, order: &Order) -> Program {
        let around = surroundings(order, self.worker, self.list, Some(self.messages.to_string()));
        Program {
            command: CommandLine::Words(order.program.clone(), order.arguments.clone()),
            directory: order.directory.clone(),
            environment: around.into_iter().map(|(name, value)| (name.into(), fitting(value).into())).collect(),
            stdin: line(&json!({ "messages": self.messages })),
            timeout: None,
        }
    }
}

/// Returns what a command is told whatever it is started for.
fn surroundings(
    order: &Order,
    worker: &Worker,
    list: &ListId,
    messages: Option<String>,
) -> Vec<(&'static str, String)> {
    let values = [
        ("TASKYARD_LIST", list.as_str().to_owned()),
        ("TASKYARD_STORE", order.store_address.clone()),
        ("TASKYARD_AGENT", worker.name.as_str().to_owned()),
        // A client that the command starts shares the list.
        ("CLAUDE_CODE_TASK_LIST_ID", list.as_str().to_owned()),
    ];
    // Half a list would be none; whoever needs more asks for it with `taskyard inbox`.
    let messages = messages.filter(|messages| messages.len() <= LONGEST_VALUE);
    values.into_iter().chain(messages.map(|messages| ("TASKYARD_MESSAGES", messages))).collect()
}

/// Returns as much of a text as a variable can hold, without the one character it cannot.
fn fitting(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST_VALUE));
    text.retain(|character| character != '\0');
    text
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_VALUE, fitting};

    #[test]
    fn a_variable_holds_what_the_system_takes() {
        assert_eq!(fitting("a\0b".into()), "ab");
        let long = fitting("é".repeat(LONGEST_VALUE));
        assert!(long.len() <= LONGEST_VALUE && long.len() > LONGEST_VALUE - 2);
    }
}
