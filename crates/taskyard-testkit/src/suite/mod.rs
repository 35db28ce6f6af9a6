//! The contract of a store, one function per promise. [`crate::store_suite`] makes a test of each.

pub mod committing;
pub mod contention;
pub mod history;
pub mod images;
pub mod leasing;
pub mod numbering;
pub mod pairs;
pub mod reading;
pub mod watching;

mod samples;
mod stamp;

pub use samples::Open;
pub use stamp::open_with;
