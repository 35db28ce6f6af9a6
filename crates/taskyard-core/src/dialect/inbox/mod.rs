//! The client's inboxes: one JSON array of messages per agent, specified in `docs/formats/teams.md`.
//!
//! Reading and writing are pure functions over bytes. Every change keeps what it does not know, byte for byte where it can: entries that
//! are no messages, keys that we do not know, and the order of both.

mod appending;
mod consuming;
mod entry;
mod protocol;
mod reading;
mod salvaging;

pub use appending::{append, is_whole};
pub use consuming::{Consumed, Manner, consume, manner};
pub use entry::entry;
pub use protocol::{read_protocol, write_protocol};
pub use reading::{BadInbox, Contents, EMPTY, LARGEST, read};
pub use salvaging::{Salvaged, salvage};
