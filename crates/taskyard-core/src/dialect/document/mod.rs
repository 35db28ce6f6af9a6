//! One `tasks.json` per list, specified in `docs/formats/document.md`.
//!
//! Reading and writing are pure functions over values and bytes. Locks, renames and the journal are the store's business.

mod element;
mod file;
mod lists;

pub use element::{
    Around, CARRIED, Times, for_agents, parts_of, read, read_with_times, times, write, write_with_times,
};
pub use file::{BadDocument, Document, VERSION};
pub use lists::{read_tasks, write_tasks};

pub use super::elements::TasksRead;
