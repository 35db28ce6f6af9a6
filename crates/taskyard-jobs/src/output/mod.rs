//! The output file of a job: its layout and writing it within its limit (`output_file.rs`, begin there), and reading
//! it.

mod output_file;
pub(crate) mod output_reader;

pub(crate) use output_file::{OutputWriter, SMALLEST, last_touched};
pub use output_reader::OutputReader;
