//! A message from one agent to another, and what agents say to each other's programs.

use serde_json::Value;

use crate::Timestamp;

/// A message as it lies in an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The name of the member that sent it.
    pub from: String,
    /// What it says: words for a model, or a [`Protocol`] message written as JSON.
    pub text: String,
    /// The same in a few words.
    pub summary: Option<String>,
    /// When it was sent, as it is written.
    pub timestamp: String,
    /// The colour of its sender.
    pub color: Option<String>,
    /// The name that tells it from every other message; older clients give none.
    pub msg_id: Option<String>,
    /// Whether its recipient has it.
    pub read: bool,
}

/// What tells one message from another: its id, or where it has none its sender, time and text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageKey {
    /// The id.
    Id(String),
    /// Sender, time and text.
    Words(String, String, String),
}

impl Message {
    /// Returns what tells this message from others.
    pub fn key(&self) -> MessageKey {
        match &self.msg_id {
            Some(id) if !id.is_empty() => MessageKey::Id(id.clone()),
            _ => MessageKey::Words(self.from.clone(), self.timestamp.clone(), self.text.clone()),
        }
    }

    /// Returns its summary, where that says more than how the text begins.
    pub(crate) fn telling_summary(&self) -> Option<&str> {
        let summary = self.summary.as_deref().filter(|summary| !summary.is_empty())?;
        (!self.text.trim_start().starts_with(summary.trim_end_matches('…'))).then_some(summary)
    }

    /// Returns when it was sent, where what is written there is a time.
    pub(crate) fn sent(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.timestamp)
    }
}

impl MessageKey {
    /// Returns the key as one text, the same for ever.
    pub fn as_text(&self) -> String {
        match self {
            Self::Id(id) => id.clone(),
            Self::Words(from, timestamp, text) => format!("{from}\u{0}{timestamp}\u{0}{text}"),
        }
    }
}

/// What the programs of agents say to each other, inside the text of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A task was given to a member.
    TaskAssignment {
        /// The id of the task, without `#`.
        task: String,
        /// The title of the task.
        subject: String,
        /// The description of the task.
        description: String,
        /// The agent that gave it.
        assigned_by: String,
        /// When it was given, as RFC 3339.
        timestamp: String,
    },
    /// An agent has nothing to do.
    IdleNotification(Idle),
    /// An agent is asked to end.
    ShutdownRequest {
        /// The id of the request, which the answer repeats.
        request: String,
        /// The name of the member that asks.
        from: String,
        /// Why the member is to end; none where it was not said.
        reason: Option<String>,
        /// When it was asked, as RFC 3339.
        timestamp: String,
    },
    /// An agent ends.
    ShutdownApproved {
        /// The id of the request that this answers.
        request: String,
        /// The name of the member that ends.
        from: String,
        /// When it agreed, as RFC 3339.
        timestamp: String,
        /// Where it runs, in the client's words.
        pane: Option<String>,
        /// What it runs in, in the client's words.
        backend: Option<String>,
    },
    /// An agent goes on.
    ShutdownRejected {
        /// The id of the request that this answers.
        request: String,
        /// The name of the member that goes on.
        from: String,
        /// Why it goes on.
        reason: String,
        /// When it refused, as RFC 3339.
        timestamp: String,
    },
    /// An agent shows its plan.
    PlanApprovalRequest {
        /// The id of the request, which the answer repeats.
        request: String,
        /// The name of the member whose plan it is.
        from: String,
        /// The whole plan, as text for a model.
        plan: String,
        /// When it was shown, as RFC 3339.
        timestamp: String,
    },
    /// The lead has looked at a plan.
    PlanApprovalResponse {
        /// The id of the request that this answers.
        request: String,
        /// Whether it may be carried out.
        approved: bool,
        /// What the member is to change; none where the plan is approved.
        feedback: Option<String>,
        /// When the lead answered, as RFC 3339.
        timestamp: String,
        /// How the agent may go on, in the client's words.
        permission_mode: Option<String>,
    },
    /// Something we do not know, kept as it is.
    Unknown {
        /// The word under `type`.
        kind: String,
        /// The whole object, that word included.
        value: Value,
    },
}

/// That an agent has nothing to do, and what came of the last thing it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// The name of the member.
    pub from: String,
    /// When it had nothing to do, as RFC 3339.
    pub timestamp: String,
    /// Why: `available`.
    pub reason: Option<String>,
    /// What it did, in a few words.
    pub summary: Option<String>,
    /// The task it was at.
    pub task: Option<String>,
    /// What became of that.
    pub status: Option<String>,
    /// What went wrong.
    pub failure: Option<String>,
    /// What came of it.
    pub result: Option<String>,
}

impl Idle {
    /// Tells whether it says no more than that there is nothing to do.
    pub(crate) fn is_bare(&self) -> bool {
        let said = [&self.summary, &self.task, &self.status, &self.failure, &self.result];
        said.iter().all(|word| word.as_ref().is_none_or(|word| word.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Message, MessageKey};

    #[test]
    fn a_message_is_known_by_its_id_or_by_sender_time_and_text() {
        let message = |msg_id: Option<&str>| Message {
            from: "ana".into(),
            text: "hello".into(),
            summary: None,
            timestamp: "2026-11-15T00:00:00.000Z".into(),
            color: None,
            msg_id: msg_id.map(Into::into),
            read: false,
        };
        assert_eq!(message(Some("x")).key(), MessageKey::Id("x".into()));
        assert_eq!(message(Some("")).key(), message(None).key());
        assert_ne!(message(None).key(), Message { from: "ben".into(), ..message(None) }.key());
        assert_ne!(message(Some("x")).key().as_text(), message(None).key().as_text());
    }

    #[test]
    fn a_summary_that_is_how_the_text_begins_tells_nothing() {
        let message = |summary: Option<&str>| Message {
            from: "ana".into(),
            text: "\nparses 12 of 12 files\nall of them".into(),
            summary: summary.map(Into::into),
            timestamp: String::new(),
            color: None,
            msg_id: None,
            read: false,
        };
        for (summary, telling) in
            [(None, None), (Some(""), None), (Some("parses 12 of…"), None), (Some("done"), Some("done"))]
        {
            assert_eq!(message(summary).telling_summary(), telling);
        }
    }
}
