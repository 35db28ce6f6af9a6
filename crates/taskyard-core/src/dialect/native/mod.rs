//! Claude Code's own task files: one JSON object per file, specified in `docs/formats/native.md`.
//!
//! Reading and writing are pure functions over bytes. Locks, renames and the journal are the file store's business.

mod javascript;
mod javascript_numbers;
mod reading;
mod repairing;
mod schema;
mod shape;
mod writing;

pub(crate) use javascript::keys;
pub use javascript::{next_number, parse_int, stringify};
pub use reading::{Unreadable, read};
pub use repairing::{Repair, repair};
pub use schema::LARGEST;
pub(crate) use schema::SCHEMA;
pub use shape::{Ids, Shape};
pub use writing::{TooLarge, as_written_in, write};
