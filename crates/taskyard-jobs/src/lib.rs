//! Commands that run in the background, each under a small process of its own that looks after it, and working a list off by such commands.
//!
//! [`Jobs`] starts them, finds them again, reads what they wrote, waits for them, stops them and tidies up. [`dispatch()`] is that small process's
//! whole life, and the first moments of the command it starts: a program that starts jobs or calls [`work::work`] calls it before anything else.
//! What is recorded of jobs is [`taskyard::jobs`]; what is on disk is specified in `docs/formats/jobs.md`; why it is done so is
//! `docs/design/jobs.md` and `docs/design/work.md`.
//!
//! This crate knows nothing of tools.

mod answers;
mod dispatch;
mod following;
mod housekeeping;
mod options;
mod output;
mod processes;
mod registry;
mod reopening;
mod shared_news;
pub mod signals;
mod starting;
mod supervising;
pub mod work;

pub use answers::{JobNotices, OutputRead, incomplete};
pub use dispatch::dispatch;
pub use following::{Stopping, Waited};
pub use housekeeping::Swept;
pub use options::{JobOptions, NewJob};
pub use output::OutputReader;
pub use registry::Jobs;
pub use taskyard::process::{Cancel, Stop};
