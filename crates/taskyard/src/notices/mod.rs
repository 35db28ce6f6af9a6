//! Notices to agents about the jobs they started, kept until they are acknowledged.
//!
//! The process that records the end of a job queues a notice on its machine in the same transaction.
//! [`ForwardedNotices`] passes these on to a shared store. See `docs/design/jobs.md`; begin reading with
//! `notice_store.rs`.

#[cfg(feature = "sqlite")]
mod machine_notices;
mod notice_store;

#[cfg(feature = "sqlite")]
pub use machine_notices::{ForwardedNotices, MachineNotices, job_from_text, job_to_text};
pub use notice_store::{MemoryNotices, Notice, NoticeBoard, NoticeError, NoticeWatch, Notices};
