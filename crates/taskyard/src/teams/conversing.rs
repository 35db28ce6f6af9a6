//! Everything that a member wrote and was written, for a display that shows it as conversations.

use std::collections::{HashMap, HashSet};

use taskyard_core::rules::teams::mailing::Delivery;
use taskyard_core::view::SentText;
use taskyard_core::{Message, MessageKey};

use super::TeamError;
use super::receiving::waiting_in;
use super::register::Teams;
use super::seat::Seat;

/// What a member wrote and was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Correspondence {
    /// What came and is not acknowledged yet, oldest first.
    pub waiting: Vec<Delivery>,
    /// What came and was acknowledged, as far as it is still there, oldest first.
    pub had: Vec<Message>,
    /// What was sent, newest first.
    pub sent: Vec<SentText>,
}

impl Teams {
    /// Returns what a member wrote, so much at most, and was written. Of a message that it sent the whole text is told where it still lies
    /// in the inbox of its recipient, else its summary.
    pub fn correspondence(&self, seat: &Seat, most: usize) -> Result<Correspondence, TeamError> {
        let mailbox = self.store.mailbox(&seat.team, &seat.name)?;
        let waiting = waiting_in(&mailbox);
        let is_waiting: HashSet<MessageKey> =
            waiting.iter().flat_map(|delivery| delivery.keys.iter().cloned()).collect();
        let mut seen = HashSet::new();
        let mut had = mailbox.messages;
        had.retain(|message| {
            let key = message.key();
            !is_waiting.contains(&key) && seen.insert(key)
        });
        let sent = self.sent(seat, most)?.messages;
        let mut texts: HashMap<String, HashMap<String, String>> = HashMap::new();
        for letter in &sent {
            if !texts.contains_key(&letter.to) {
                // What cannot be read is told in a few words.
                let theirs = self.store.mailbox(&seat.team, &letter.to).unwrap_or_default();
                let ours = theirs.messages.into_iter().filter(|message| message.from == seat.name);
                let by_key = ours.map(|message| (message.key().as_text(), message.text)).collect();
                texts.insert(letter.to.clone(), by_key);
            }
        }
        let whole = |to: &str, key: &str| texts.get(to)?.get(key).cloned();
        let sent = sent.into_iter().map(|letter| SentText {
            text: whole(&letter.to, &letter.key).unwrap_or(letter.summary),
            to: letter.to,
            at: letter.at,
            state: letter.state,
        });
        Ok(Correspondence { waiting, had, sent: sent.collect() })
    }
}
