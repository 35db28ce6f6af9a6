//! Task files of MACF tools: Claude Code's own, with conventions inside their texts, specified in `docs/formats/macf.md`.

mod block;
mod editing;
mod facts;
mod hidden;
mod kind;
mod making;
mod parent;
mod renaming;
mod subject;
mod tasks;
mod value_text;

pub use block::{Block, stated_parent};
pub use facts::{BadBlock, Fact};
pub use hidden::{hidden_names, hidden_task_of, is_hidden_twice};
pub use kind::{Kind, UnknownKind};
pub use making::describe_making;
pub(crate) use parent::set_parent;
pub use renaming::{ChangedFacts, change_facts, retitled, with_marks};
pub use subject::Subject;
pub use tasks::{CARRIED, read_task, write_task};
