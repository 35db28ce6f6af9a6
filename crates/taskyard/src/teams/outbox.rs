//! How far one's own messages came.

use std::collections::HashMap;

use taskyard_core::rules::mailing::{DeliveryState, Traces, judge_delivery};
use taskyard_core::{Message, Timestamp};

use super::TeamError;
use super::register::Teams;
use super::seat::Seat;

/// A message that was sent, and how far it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// What tells it from others.
    pub key: String,
    /// Who it is for.
    pub to: String,
    /// When it was sent.
    pub at: Timestamp,
    /// What it says, in a few words.
    pub summary: String,
    /// How far it came.
    pub state: DeliveryState,
}

/// How far somebody's messages came.
#[derive(Debug, Default)]
pub struct Outbox {
    /// The messages, newest first.
    pub messages: Vec<SentMessage>,
    /// Whose inboxes cannot be read, and why: of their messages the last is told that is known.
    pub unreadable: Vec<(String, TeamError)>,
}

impl Teams {
    /// Returns the newest messages sent from a seat, newest first.
    pub fn sent(&self, seat: &Seat, most: usize) -> Result<Outbox, TeamError> {
        let key = self.key(&seat.team);
        let rows = self.remembered(|memory| memory.sent(&key, &seat.name, most))?.unwrap_or_default();
        let mut inboxes: HashMap<String, Known> = HashMap::new();
        let mut outbox = Outbox::default();
        for row in rows {
            if !inboxes.contains_key(&row.recipient) {
                let (known, error) = self.known(seat, &row.recipient)?;
                outbox.unreadable.extend(error.map(|error| (row.recipient.clone(), error)));
                inboxes.insert(row.recipient.clone(), known);
            }
            let known = &inboxes[&row.recipient];
            let acknowledged = known.deliveries.get(&row.key);
            let state = judge_delivery(Traces {
                has_recipient: known.has_recipient,
                in_inbox: match &known.in_inbox {
                    Some(messages) => messages.get(&row.key).copied(),
                    None => Some(false),
                },
                was_delivered: acknowledged.is_some(),
                was_acknowledged: acknowledged == Some(&true),
            });
            let message = SentMessage { key: row.key, to: row.recipient, at: row.at, summary: row.summary, state };
            outbox.messages.push(message);
        }
        Ok(outbox)
    }

    /// Returns what is known of somebody's inbox, and why it cannot be read where it cannot.
    fn known(&self, seat: &Seat, recipient: &str) -> Result<(Known, Option<TeamError>), TeamError> {
        let other = Seat { team: seat.team.clone(), name: recipient.to_owned() };
        let inbox = self.inbox_key(&other);
        let (messages, error) = match self.contents(&other) {
            Ok((messages, _)) => (Some(messages), None),
            Err(error) => (None, Some(error)),
        };
        let read = |message: &Message| (message.key().as_text(), message.read);
        let known = Known {
            has_recipient: other.member().is_some(),
            in_inbox: messages.map(|messages| messages.iter().map(read).collect()),
            deliveries: self.remembered(|memory| memory.deliveries(&inbox))?.unwrap_or_default(),
        };
        Ok((known, error))
    }
}

/// What is known of somebody's inbox.
struct Known {
    has_recipient: bool,
    /// Those that lie there, and whether they are marked as read; none where that cannot be told.
    in_inbox: Option<HashMap<String, bool>>,
    deliveries: HashMap<String, bool>,
}
