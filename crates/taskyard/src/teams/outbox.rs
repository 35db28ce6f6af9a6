//! How far one's own messages came.

use taskyard_core::Timestamp;
use taskyard_core::rules::teams::mailing::{DeliveryState, Traces, judge_delivery};

use super::TeamError;
use super::contract::{SentFound, SentLetter};
use super::register::Teams;
use super::seat::Seat;

/// A message that was sent, and how far it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// What tells it from others.
    pub(crate) key: String,
    /// The recipient.
    pub to: String,
    /// When it was sent.
    pub at: Timestamp,
    /// What it says, in a few words.
    pub summary: String,
    /// How far it came.
    pub state: DeliveryState,
}

/// How far the messages of a member came.
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
        let SentFound { letters, unreadable } = self.store.sent(&seat.team, &seat.name, most)?;
        let judged = |letter: SentLetter| {
            let has_recipient = seat.team.member(&letter.to).is_some();
            let state = judge_delivery(Traces { has_recipient, ..letter.traces });
            SentMessage { key: letter.key, to: letter.to, at: letter.at, summary: letter.summary, state }
        };
        Ok(Outbox { messages: letters.into_iter().map(judged).collect(), unreadable })
    }
}
