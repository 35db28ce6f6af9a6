//! Background commands, each supervised by a small process of its own, and workers that process a list with such
//! commands.
//!
//! [`Jobs`] starts jobs, finds them, reads their output, waits for them, stops them and removes old ones.
//! [`dispatch()`] runs the supervisors, and the processes through which commands start: a program that starts jobs or
//! calls [`work::work`] calls it first. The records of jobs are in [`taskyard::jobs`]. The files are specified in
//! `docs/formats/jobs.md`; the reasons for the design are in `docs/design/jobs.md` and `docs/design/work.md`.
//!
//! This crate knows nothing of tools.

mod answers;
mod following;
pub mod notify;
mod options;
mod output;
pub mod processes;
mod registry;
mod reopening;
mod starting;
mod supervising;
pub mod work;
pub mod worktrees;

pub use answers::{JobNotices, OutputRead, incomplete};
pub use following::{Stopping, Waited};
pub use options::{JobOptions, NewJob};
pub use output::OutputReader;
pub use registry::{Jobs, Swept};
pub use reopening::dispatch;
pub use taskyard::process::{Cancel, Stop};
