//! The file of a job's output: how it is laid out (`layout.rs`: begin reading there), writing it within its limit, and reading it.

mod layout;
mod reader;
mod writer;

pub(crate) use layout::last_touched;
pub use reader::OutputReader;
pub(crate) use writer::{OutputWriter, SMALLEST};
