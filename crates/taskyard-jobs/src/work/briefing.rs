//! What a command is told of the task, or the messages, it is started for.

use serde::Serialize;
use serde_json::{Value, json};
use taskyard::core::dialect::native::Shape;
use taskyard::core::{ListId, Task, Token};
use taskyard::process::{CommandLine, Program};

use super::attending::Mail;
use super::{Order, Worker};

/// How long the value of a variable can be. Linux takes no longer string than 128 KiB, name included.
const LONGEST_VALUE: usize = 96 * 1024;

/// What a command must know, whatever it is started for.
pub(super) struct Briefing<'a> {
    pub(super) order: &'a Order,
    pub(super) worker: &'a Worker,
    pub(super) list: &'a ListId,
    pub(super) mail: &'a Mail,
}

impl Briefing<'_> {
    /// Returns the command with a task on its stdin and in its environment.
    pub(super) fn for_task(&self, task: &Task, token: Token, attempt: u64) -> Program {
        let metadata = task.metadata.as_ref().map_or_else(|| "{}".to_owned(), |it| Value::from(it.clone()).to_string());
        let values = [
            ("TASKYARD_TASK_ID", task.id.as_str().to_owned()),
            ("TASKYARD_TASK_SUBJECT", task.subject.clone()),
            ("TASKYARD_TASK_DESCRIPTION", task.description.clone()),
            ("TASKYARD_TASK_ACTIVE_FORM", task.active_form.clone().unwrap_or_default()),
            ("TASKYARD_TASK_TOKEN", token.to_string()),
            // Half an object would be none; the whole of it is on stdin.
            ("TASKYARD_TASK_METADATA", whole(metadata).unwrap_or_default()),
            ("TASKYARD_TASK_ATTEMPT", attempt.to_string()),
        ];
        self.program(values, line(&Shape(task)))
    }

    /// Returns the command with the messages alone, on its stdin and in its environment.
    pub(super) fn for_messages(&self) -> Program {
        self.program([], line(&json!({ "messages": self.mail.as_json() })))
    }

    fn program(&self, values: impl IntoIterator<Item = (&'static str, String)>, stdin: Vec<u8>) -> Program {
        let order = self.order;
        let around = [
            ("TASKYARD_LIST", self.list.directory().to_owned()),
            ("TASKYARD_STORE", order.store_address.clone()),
            ("TASKYARD_AGENT", self.worker.name.as_str().to_owned()),
            // A client that the command starts shares the list.
            ("CLAUDE_CODE_TASK_LIST_ID", self.list.directory().to_owned()),
        ];
        // Half a list would be none; a command that needs more asks for it with `taskyard inbox`.
        let messages = (self.mail.len() > 0).then(|| self.mail.as_json().to_string()).and_then(whole);
        let messages = messages.map(|messages| ("TASKYARD_MESSAGES", messages));
        let variables = values.into_iter().chain(around).chain(messages);
        let variables = variables.map(|(name, value)| (name.into(), fitting(value).into()));
        // What children get in place of ours comes first: the address of the store is the one that counts.
        let replaced = order.jobs.options().environment.iter().cloned();
        Program {
            command: CommandLine::Words(order.program.clone(), order.arguments.clone()),
            directory: order.directory.clone(),
            environment: replaced.chain(variables).collect(),
            stdin,
            timeout: None,
        }
    }
}

/// Returns a value as one line of JSON.
fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("text, lists and maps with text for keys can be written as JSON");
    line.push(b'\n');
    line
}

/// Returns a text where a variable can hold it whole.
fn whole(text: String) -> Option<String> {
    (text.len() <= LONGEST_VALUE).then_some(text)
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
