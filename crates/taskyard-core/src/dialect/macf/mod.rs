//! Task files of MACF tools: Claude Code's own, with conventions inside their texts, specified in `docs/formats/macf.md`.

mod block;
mod hidden;
mod kind;
mod subject;
mod tasks;

pub use block::Block;
pub use hidden::{hidden_name, hidden_task_of};
pub use kind::{Kind, UnknownKind};
pub use subject::{Subject, plain};
pub use tasks::{CARRIED, hear, tell};
