//! Processing a list with workers: they claim ready tasks, run a command for each, and complete or release it. Begin at
//! `crew.rs`; the design is in `docs/design/work.md`. Nothing is printed here: a listener receives events.

mod assignment;
mod attempt;
mod branching;
mod crew;
mod report;
mod site;

pub use crew::work;
pub use report::{
    Ended, Failure, MergeOrder, Order, WorkError, WorkEvent, WorkListener, WorkReport, Worker, WorktreeOrder,
};
pub use taskyard::core::rules::leases::leasing::Loss;
