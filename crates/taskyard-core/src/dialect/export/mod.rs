//! A list as one array of objects, specified in `docs/formats/export.md`.

mod element;
mod lists;

pub(crate) use element::for_agents;
pub use lists::{BadExport, parse, print, read_tasks, write_tasks};

pub use super::elements::TasksRead;
