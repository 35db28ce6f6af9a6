//! Task files of MACF tools: Claude Code's own, with conventions inside their texts, specified in `docs/formats/macf.md`.

mod block;
mod hidden;
mod kind;
mod renaming;
mod subject;
mod tasks;

pub use block::{Block, take_facts_of_making};
pub use hidden::{hidden_names, hidden_task_of, is_hidden_twice};
pub use kind::{Kind, UnknownKind};
pub use renaming::{change_facts, with_marks};
pub use subject::{Subject, plain};
pub use tasks::{CARRIED, hear, tell};
