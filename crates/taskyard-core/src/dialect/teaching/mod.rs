//! A folder with one small file per task, specified in `docs/formats/teaching.md`.

mod element;
mod lists;
mod names;

pub(crate) use element::write;
pub use element::{BadCarried, carried_of, parse_carried, print_carried, read, write_over};
pub use lists::{Folder, TasksRead, read_tasks, waiting, write_tasks};
pub use names::{new_id, task_of};
