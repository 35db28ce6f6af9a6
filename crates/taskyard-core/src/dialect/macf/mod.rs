//! Task files of MACF tools: Claude Code's own, with conventions inside their texts, specified in `docs/formats/macf.md`.

mod block;
mod hidden;
mod kind;
mod renaming;
mod subject;
mod tasks;

pub use block::{Block, take_facts_of_making};
pub use hidden::{hidden_name, hidden_task_of};
pub use kind::{Kind, UnknownKind};
pub use renaming::{change_facts, with_marks};
pub use subject::{Subject, plain};
pub use tasks::{CARRIED, hear, tell};
