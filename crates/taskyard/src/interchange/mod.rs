//! Files of other programs: read into tasks for an import, written from an export.
//!
//! What a file means is decided in `taskyard_core::dialect`; what an import does to a list, in `operations/import.rs`.

mod error;
mod folders;
mod reading;
mod writing;

pub use error::InterchangeError;
pub use reading::{guess, read_bytes, read_source};
pub use writing::{Written, save};
