//! What operations return, as the answers that programs get.
//!
//! The answers themselves, with their JSON and their schemas, are in [`taskyard_core::answers`]. Here each is filled with what an operation
//! returned: by `From` if one value is enough, otherwise by a function. An interface calls one operation, makes one answer of it and
//! serialises that; nothing here finds anything out.

mod claims;
mod history;
mod lists;
mod maintenance;
#[cfg(feature = "sqlite")]
mod moving;
mod tasks;
mod teams;

pub use claims::renewed;
pub use history::{StreamedEntries, restorable};
pub use lists::{ignored_setting, list_summary, merged, stats};
pub use maintenance::{shared_list, unknown_settings};
#[cfg(feature = "sqlite")]
pub use moving::{exported, imported};
pub use tasks::{
    created_batch, deleted, found, graph, listing, loss, rehearsed, shown, shown_together, unreadable_files,
};
pub use teams::{broadcast, outbox, team_left};
