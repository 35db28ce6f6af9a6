//! How far one's own messages came.

use std::collections::HashMap;

use taskyard_core::Timestamp;
use taskyard_core::rules::mailing::{DeliveryState, Traces, judge_delivery};

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

impl Teams {
    /// Returns the newest messages sent from a seat, newest first.
    pub fn sent(&self, seat: &Seat, most: usize) -> Result<Vec<SentMessage>, TeamError> {
        let key = self.key(&seat.team);
        let rows = self.remembered(|memory| memory.sent(&key, &seat.name, most))?.unwrap_or_default();
        let mut inboxes: HashMap<String, Known> = HashMap::new();
        let mut sent = Vec::with_capacity(rows.len());
        for row in rows {
            if !inboxes.contains_key(&row.recipient) {
                inboxes.insert(row.recipient.clone(), self.known(seat, &row.recipient)?);
            }
            let known = &inboxes[&row.recipient];
            let acknowledged = known.deliveries.get(&row.key);
            let state = judge_delivery(Traces {
                has_recipient: known.has_recipient,
                in_inbox: known.in_inbox.get(&row.key).copied(),
                was_delivered: acknowledged.is_some(),
                was_acknowledged: acknowledged == Some(&true),
            });
            sent.push(SentMessage { key: row.key, to: row.recipient, at: row.at, summary: row.summary, state });
        }
        Ok(sent)
    }

    fn known(&self, seat: &Seat, recipient: &str) -> Result<Known, TeamError> {
        let other = Seat { team: seat.team.clone(), name: recipient.to_owned() };
        let inbox = self.inbox_key(&other);
        let (messages, _) = self.contents(&other)?;
        Ok(Known {
            has_recipient: other.member().is_some(),
            in_inbox: messages.iter().map(|message| (message.key().as_text(), message.read)).collect(),
            deliveries: self.remembered(|memory| memory.deliveries(&inbox))?.unwrap_or_default(),
        })
    }
}

/// What is known of somebody's inbox.
struct Known {
    has_recipient: bool,
    in_inbox: HashMap<String, bool>,
    deliveries: HashMap<String, bool>,
}
