//! `doctor`: finds and repairs problems of a list and its surroundings. Begin with `checkup`.

mod checkup;
mod examining_lists;
mod findings;
mod mending_lists;

pub use checkup::{Checkup, JobChecks};
pub use findings::{Finding, Fix};
pub use mending_lists::Mended;
