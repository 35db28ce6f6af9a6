//! `doctor`: finds and repairs problems of a list, its jobs and its teams. Begin with `checkup.rs`; `docs/design/doctor.md`
//! lists every finding.

mod checkup;
mod examining_lists;
mod findings;
mod mending_lists;

pub use checkup::{Checkup, JobChecks};
pub use findings::{Finding, Fix};
pub use mending_lists::Mended;
