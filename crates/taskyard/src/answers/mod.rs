//! Converts what operations return into the answers that programs receive. Begin with `task_results.rs`.
//!
//! The answers, with their JSON and schemas, are in [`taskyard_core::answers`]. An interface calls one operation,
//! converts the result with `From` or a function of this module, and serialises that. Nothing here reads a store.

#[cfg(feature = "sqlite")]
mod interchange_results;
mod list_results;
mod task_results;

#[cfg(feature = "sqlite")]
pub use interchange_results::{exported, imported};
pub use list_results::{
    broadcast, ignored_setting, list_summary, merged, outbox, shared_list, stats, team_left, unknown_settings,
};
pub use task_results::{
    StreamedEntries, created_batch, deleted, found, graph, listing, loss, rehearsed, renewed, restorable, shown,
    shown_together, unreadable_files,
};
