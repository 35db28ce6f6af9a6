//! Reading one's inbox, and saying that one has what is in it.

use taskyard_core::MessageKey;
use taskyard_core::rules::teams::mailing::{Delivery, to_deliver};

use super::TeamError;
use super::contract::{Acknowledged, Mailbox};
use super::register::Teams;
use super::seat::Seat;

/// What an inbox holds for its owner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    /// The messages that are not acknowledged yet, oldest first.
    pub deliveries: Vec<Delivery>,
    /// How many entries are no messages.
    pub malformed: usize,
}

impl Teams {
    /// Returns what there is to read, and remembers that it was shown. It stays there, and is shown again, until it is
    /// acknowledged.
    pub fn receive(&self, seat: &Seat) -> Result<Received, TeamError> {
        let received = self.look_into(seat)?;
        if !received.deliveries.is_empty() {
            let keys: Vec<MessageKey> =
                received.deliveries.iter().flat_map(|delivery| delivery.keys.iter().cloned()).collect();
            let noted = self
                .store
                .note_shown(&seat.team, &seat.name, &keys, self.now())
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
        let mailbox = self.store.mailbox(&seat.team, &seat.name)?;
        Ok(Received { deliveries: waiting_in(&mailbox), malformed: mailbox.malformed })
    }

    /// Says that one has messages: they are not shown again. Where that failed half way, what was acknowledged stays so.
    pub fn acknowledge(&self, seat: &Seat, keys: &[MessageKey]) -> Result<Acknowledged, TeamError> {
        self.store.acknowledge(&seat.team, &seat.name, keys, self.now())
    }
}

/// Returns what of a mailbox its owner has not acknowledged.
pub(super) fn waiting_in(mailbox: &Mailbox) -> Vec<Delivery> {
    to_deliver(&mailbox.messages, |key| mailbox.acknowledged.contains(key))
}
