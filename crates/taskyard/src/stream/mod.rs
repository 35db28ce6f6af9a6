//! One ordered stream of what happens: commits, messages, the ends of jobs, agents and lists that come and go.
//!
//! A follower holds a [`Stream`], which remembers how far it has read ([`Cursor`]) and reads on when it is told that something moved.
//! Nothing is queued for a follower that is slow: the journal keeps what it has not read yet. What tells it is one watcher per process,
//! whatever is followed (`watching/`), or the store itself. Why it is done so is `docs/design/stream.md`.

mod control;
mod cursor;
mod following;
mod happening;
mod interest;
mod jobs_source;
mod list_source;
mod listening;
mod names_source;
mod source;
mod teams_source;

pub use control::StreamControl;
pub use cursor::{AlreadyTold, Cursor};
pub use following::Stream;
pub(crate) use following::cannot_wait;
pub use happening::Happening;
pub use interest::{Interest, ListsFollowed};
pub use listening::Listening;
