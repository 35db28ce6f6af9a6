//! What there is to tell an agent of the jobs it started, until it has heard it.
//!
//! Whoever records the end of a job queues its notice in the same transaction. [`Notices`] says which wait and records which were
//! heard; how they are told is not known here, and why it is done so is `docs/design/notifications.md`.

mod board;
mod following;
mod keeping;
mod notice;
mod queue;
mod stamp;

pub use board::NoticeBoard;
pub use following::NoticeListener;
pub use keeping::Notices;
pub use notice::Notice;
pub(crate) use queue::queue;
