//! An ordered stream of events: commits, messages, ended jobs, and agents and lists that come and go.
//!
//! A follower holds a [`Stream`] with its position ([`Cursor`]). Nothing is queued for a slow follower: the journal
//! keeps what it has not read yet. See `docs/design/stream.md`; begin reading with `event_stream.rs`.

mod event_stream;
mod stream_event;
mod stream_sources;

pub(crate) use event_stream::cannot_wait;
pub use event_stream::{Listening, Stream};
pub use stream_event::{AlreadyTold, Cursor, Happening, Interest, ListsFollowed, StreamControl};
