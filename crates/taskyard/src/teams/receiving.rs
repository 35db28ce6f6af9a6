//! Reading one's inbox, and saying that one has what is in it.

use std::collections::HashSet;

use taskyard_core::dialect::inbox::manner;
use taskyard_core::rules::mailing::{Delivery, to_deliver};
use taskyard_core::{Message, MessageKey};

use super::TeamError;
use super::inbox::SetAside;
use super::register::Teams;
use super::seat::Seat;
use crate::store::failpoint::reach;

/// What an inbox holds for its owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    /// The messages that are not acknowledged yet, oldest first.
    pub deliveries: Vec<Delivery>,
    /// How many entries are no messages.
    pub malformed: usize,
}

/// What came of saying that one has messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acknowledged {
    /// How many were still unread in the inbox, those included that were acknowledged before and not taken out. The others another
    /// reader had.
    pub taken: usize,
    /// The entries that were no messages, and where they are kept now.
    pub set_aside: Vec<SetAside>,
}

impl Teams {
    /// Returns what there is to read, and remembers that it was shown. It stays there, and is shown again, until it is
    /// acknowledged.
    pub fn receive(&self, seat: &Seat) -> Result<Received, TeamError> {
        let received = self.look_into(seat)?;
        if !received.deliveries.is_empty() {
            let (inbox, now) = (self.inbox_key(seat), self.now());
            let keys = received.deliveries.iter().flat_map(|delivery| &delivery.keys);
            let noted = self
                .remember(|memory| memory.deliver(&inbox, keys, now))
                .and_then(|()| self.note_answers(seat, received.deliveries.iter().map(|delivery| &delivery.message)));
            // What is there to be read is not kept from its reader because nothing can be written down.
            if let Err(error) = noted {
                tracing::warn!(%error, "its sender is not told that it was delivered");
            }
        }
        Ok(received)
    }

    /// Returns what there is to read, and remembers nothing.
    pub fn look_into(&self, seat: &Seat) -> Result<Received, TeamError> {
        let (messages, malformed) = self.contents(seat)?;
        let acknowledged = self.acknowledged_among(seat, &messages)?;
        let deliveries = to_deliver(&messages, |key| acknowledged.contains(&key.as_text()));
        Ok(Received { deliveries, malformed })
    }

    /// Says that one has messages: they are not shown again, and taken out of the inbox as the client takes them out.
    ///
    /// The moment counts in which our memory has it. Where the inbox could not be written then, that is an error, and what was
    /// acknowledged stays so.
    pub fn acknowledge(&self, seat: &Seat, keys: &[MessageKey]) -> Result<Acknowledged, TeamError> {
        let (inbox, now) = (self.inbox_key(seat), self.now());
        if !keys.is_empty() {
            self.remember(|memory| memory.acknowledge(&inbox, keys.iter(), now))?;
            reach("messages: acknowledged");
        }
        let is_acknowledged = !keys.is_empty();
        // Those of before, too: whoever said it may have died before they were taken out. And the lock of an inbox, which wakes whoever
        // follows it, is not taken for nothing.
        let (messages, malformed) = self.contents(seat)?;
        let mut known = self.acknowledged_among(seat, &messages)?;
        let is_any_left = messages.iter().any(|message| !message.read && known.contains(&message.key().as_text()));
        if !is_acknowledged && !is_any_left && (malformed == 0 || self.rules().is_client()) {
            return Ok(Acknowledged::default());
        }
        known.extend(keys.iter().map(MessageKey::as_text));
        let folder = self.set_aside_folder();
        let mut acknowledged = Acknowledged::default();
        for path in self.places.inboxes(&seat.team.name, &seat.name) {
            let aside = (!self.rules().is_client()).then_some(folder.as_path());
            let consumed = self.inbox(path).consume(|key| known.contains(&key.as_text()), manner(self.rules()), aside);
            let (taken, set_aside) = consumed.map_err(|error| match is_acknowledged {
                true => TeamError::StillInInbox { source: Box::new(error) },
                false => error,
            })?;
            acknowledged.taken += taken.len();
            acknowledged.set_aside.extend(set_aside);
        }
        Ok(acknowledged)
    }

    /// Returns those of the messages that their reader has acknowledged.
    fn acknowledged_among(&self, seat: &Seat, messages: &[Message]) -> Result<HashSet<String>, TeamError> {
        if messages.is_empty() {
            return Ok(HashSet::new());
        }
        let (inbox, keys) = (self.inbox_key(seat), messages.iter().map(Message::key).collect::<Vec<_>>());
        let known = self.remembered(|memory| memory.acknowledged_among(&inbox, keys.iter()))?;
        Ok(known.unwrap_or_default())
    }

    /// Returns everything in a member's inboxes, read or not, and how many entries are no messages.
    pub(super) fn contents(&self, seat: &Seat) -> Result<(Vec<Message>, usize), TeamError> {
        let (mut messages, mut malformed) = (Vec::new(), 0);
        for path in self.places.inboxes(&seat.team.name, &seat.name) {
            if let Some(contents) = self.inbox(path).read()? {
                messages.extend(contents.messages);
                malformed += contents.malformed.len();
            }
        }
        Ok((messages, malformed))
    }
}
