//! Claude Code's own task files: one JSON object per file, specified in `docs/formats/native.md`. Begin with
//! `native_reading.rs`.
//!
//! Reading and writing are pure functions over bytes. Locks, renames and the journal belong to the file store.

mod native_reading;
mod native_repairing;
mod native_writing;

pub(crate) use native_reading::SCHEMA;
pub use native_reading::{Ids, LARGEST, Shape, Unreadable, read};
pub use native_repairing::{Repair, repair};
pub(crate) use native_writing::keys;
pub use native_writing::{TooLarge, as_written_in, next_number, parse_int, stringify, write};
