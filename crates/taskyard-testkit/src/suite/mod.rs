//! The contract of a store, of notices and of todo lists, one function per promise. [`crate::store_suite`],
//! [`crate::notices_suite`] and [`crate::todos_suite`] make a test of each. Begin with `committing.rs`.

pub mod committing;
pub mod contention;
pub mod history;
pub mod images;
pub mod leasing;
pub mod notices;
pub mod numbering;
pub mod pairs;
pub mod reading;
pub mod todos;
pub mod watching;

mod samples;
mod stamp;

pub use samples::Open;
pub use stamp::open_with;
