//! Finding what is wrong with a list and around it, and mending it.

mod checkup;
mod examining;
mod finding;
mod inotify_use;
mod mending;
mod owner_signs;
mod owners;
mod surroundings;
mod taken_back;

pub use checkup::{Checkup, JobChecks};
pub use finding::{Finding, Fix};
pub use mending::Mended;
