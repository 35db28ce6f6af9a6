//! Working a list off: workers take what is ready, run a command for each task, and complete it or give it back. Why it is done
//! as it is: `docs/design/work.md`.
//!
//! This module prints nothing: what happens is told to a listener as it happens.

mod attempt;
mod briefing;
mod crew;
mod order;
mod report;
mod site;

pub use crew::work;
pub use order::{Order, Worker};
pub use report::{Ended, Failure, WorkError, WorkEvent, WorkListener, WorkReport};
pub use taskyard::core::rules::leases::fate::Loss;
