//! One `tasks.json` per list, specified in `docs/formats/document.md`.
//!
//! Reading and writing are pure functions over values and bytes. Locks, renames and the journal are the store's business.

mod element;
mod file;
mod lists;

pub use element::{Around, Times, read, times, write};
pub(crate) use element::{for_agents, parts_of};
pub use file::{BadDocument, Document, VERSION};
pub use lists::{read_tasks, write_tasks};

pub use super::elements::TasksRead;
