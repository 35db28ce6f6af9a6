//! What a command is told of the task, or the messages, it is started for.
//!
//! A worker in a team attends to a request to end before it takes a task. What else was written to it goes with the next task to the
//! command, the lead's messages first; if there is no task, the command runs for the messages alone.

use serde::Serialize;
use serde_json::{Value, json};
use taskyard::core::dialect::inbox::read_protocol;
use taskyard::core::dialect::native::Shape;
use taskyard::core::rules::agents::attention::{first, urgency};
use taskyard::core::rules::agents::departing::Departure;
use taskyard::core::{AgentName, ListId, MessageKey, Protocol, Task, Token};
use taskyard::process::{CommandLine, Program};
use taskyard::teams::{Delivery, Seat};
use taskyard::{Error, Yard};

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

/// What was written to a worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Mail {
    seat: Option<Box<Seat>>,
    deliveries: Vec<Delivery>,
}

/// What a worker finds in its inbox.
pub(super) enum Attended {
    /// It was asked to end, and has left the team.
    Left,
    /// It goes on, with this.
    GoesOn(Mail),
}

/// Looks into the inbox of a worker, and lets it leave where it was asked to.
pub(super) fn attend(yard: &Yard, worker: &AgentName) -> Result<Attended, Error> {
    let Some(teams) = yard.teams() else { return Ok(Attended::GoesOn(Mail::default())) };
    let Some(seat) = teams.only_seat(worker)? else { return Ok(Attended::GoesOn(Mail::default())) };
    let mut deliveries = teams.receive(&seat)?.deliveries;
    let lead = seat.team.lead().to_owned();
    let urgent = first(deliveries.iter().map(|delivery| &delivery.message), &lead);
    let request = urgent.and_then(|message| Some((message.key(), read_protocol(&message.text)?)));
    if let Some((key, Protocol::ShutdownRequest { request, .. })) = request {
        // A refusal means that the team is gone, and with it all members to tell.
        let _ = teams.answer_shutdown(&seat, &request, None)?;
        teams.acknowledge(&seat, &[key])?;
        let _ = yard.leave_team(teams, &seat, Departure::Shutdown)?;
        return Ok(Attended::Left);
    }
    // Stable, so that each sender's own order stays.
    deliveries.sort_by_key(|delivery| urgency(&delivery.message, &lead));
    Ok(Attended::GoesOn(Mail { seat: Some(Box::new(seat)), deliveries }))
}

impl Mail {
    /// Returns the messages for a command.
    fn as_json(&self) -> Value {
        let shape = |delivery: &Delivery| {
            let message = &delivery.message;
            json!({
                "id": message.msg_id, "from": message.from, "text": message.text, "summary": message.summary,
                "timestamp": message.timestamp,
            })
        };
        self.deliveries.iter().map(shape).collect()
    }

    /// Returns how many messages there are.
    pub(super) fn len(&self) -> usize {
        self.deliveries.len()
    }

    /// Returns what tells the messages from others.
    pub(super) fn keys(&self) -> impl Iterator<Item = &MessageKey> {
        self.deliveries.iter().flat_map(|delivery| &delivery.keys)
    }

    /// Returns the messages that are worth a command of their own: none unless a member of the team wrote words among them. What programs
    /// say to each other, and what is said of members that left, waits for the next task; so does what was tried too often.
    pub(super) fn worth_an_errand(mut self, is_given_up: impl Fn(&MessageKey) -> bool) -> Option<Self> {
        let seat = self.seat.as_ref()?;
        self.deliveries.retain(|delivery| !delivery.keys.iter().any(&is_given_up));
        let is_prompt = |delivery: &Delivery| {
            let message = &delivery.message;
            seat.team.member(&message.from).is_some() && read_protocol(&message.text).is_none()
        };
        self.deliveries.iter().any(is_prompt).then_some(self)
    }

    /// Says that the command had the messages.
    pub(super) fn acknowledge(&self, yard: &Yard) {
        let (Some(teams), Some(seat)) = (yard.teams(), &self.seat) else { return };
        let keys: Vec<MessageKey> = self.keys().cloned().collect();
        if !keys.is_empty()
            && let Err(error) = teams.acknowledge(seat, &keys)
        {
            tracing::warn!(%error, "messages will come again");
        }
    }
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
