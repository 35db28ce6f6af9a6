//! What there is to tell an agent of the jobs it started, until it has heard it.
//!
//! The process that records the end of a job queues its notice on its machine in the same transaction. [`Notices`] says
//! which wait and records which were heard, where the lists live; [`ForwardedNotices`] passes on to them what jobs left
//! on their machine. How they are told is not known here, and why it is done so is `docs/design/notifications.md`.

mod board;
mod contract;
mod error;
#[cfg(feature = "sqlite")]
mod forwarding;
#[cfg(feature = "sqlite")]
mod job_text;
#[cfg(feature = "sqlite")]
mod machine_notices;
mod memory;
mod notice;
mod stamp;
#[cfg(feature = "sqlite")]
mod watching;

pub use board::NoticeBoard;
pub use contract::{NoticeWatch, Notices};
pub use error::NoticeError;
#[cfg(feature = "sqlite")]
pub use forwarding::ForwardedNotices;
#[cfg(feature = "sqlite")]
pub use job_text::{job_from_text, job_to_text};
#[cfg(feature = "sqlite")]
pub use machine_notices::MachineNotices;
pub use memory::MemoryNotices;
pub use notice::Notice;
