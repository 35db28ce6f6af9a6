//! Task files of MACF tools: Claude Code's own, with conventions inside their texts, specified in `docs/formats/macf.md`.
//! Begin with `macf_tasks.rs`.

mod macf_block;
mod macf_facts;
mod macf_renaming;
mod macf_tasks;

pub use macf_block::{Block, Subject, describe_making, stated_parent};
pub use macf_facts::{BadBlock, Fact};
pub(crate) use macf_renaming::set_parent;
pub use macf_renaming::{
    ChangedFacts, Kind, UnknownKind, change_facts, hidden_names, hidden_task_of, is_hidden_twice, retitled, with_marks,
};
pub use macf_tasks::{CARRIED, read_task, write_task};
