//! Errors of the library as problems, as they are reported to people and programs: see [`taskyard_core::problem`]. Begin
//! with `library_problems.rs`.

mod library_problems;
#[cfg(feature = "sqlite")]
mod sqlite_problems;

pub use library_problems::{advice, with_way_back};
