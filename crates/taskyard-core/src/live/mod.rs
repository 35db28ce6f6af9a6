//! A list in memory, moved on by one task at a time: what waits for what, what is a part of what, and what can start, without looking
//! at all of it again.
//!
//! It holds tasks as the bytes they are read from, so that a long list stays small, and of each what decides where it stands. The rules
//! are those of [`crate::rules`]; a property says that both come to the same answers.

mod chains;
mod claiming;
mod list;
mod looking;
mod rank;
mod readiness;
mod record;

pub use list::LiveList;
pub(crate) use looking::Outline;
pub use readiness::ReadyTask;
pub(crate) use record::Slot;
