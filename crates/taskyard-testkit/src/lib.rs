//! What every test of Taskyard needs: the contract of a store as a suite, random operations that must keep the invariants,
//! lists written in one line, graphs, homes for the real binary, its rivals, and a browser.
//!
//! A store is stamped with the suite in a test file of its own:
//!
//! ```
//! use std::sync::Arc;
//!
//! use taskyard::Store;
//! use taskyard::store::MemoryStore;
//!
//! taskyard_testkit::store_suite!(|rules| Arc::new(MemoryStore::new(rules)) as Arc<dyn Store>);
//! # fn main() {}
//! ```
//!
//! Everything here panics when it is used wrongly or when a store breaks the contract: it is for tests only.
#![allow(clippy::missing_panics_doc, reason = "panicking is how a test fails")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[cfg(unix)]
pub mod browser;
pub mod contest;
pub mod list_builder;
pub mod properties;
pub mod suite;
pub mod team_suite;

mod files_on_disk;
mod home;
mod journals;
mod log_store;
mod old_yard;
mod opened;
#[cfg(target_os = "linux")]
mod opens_counted;
mod patience;
#[cfg(unix)]
mod postgres;
mod process;
mod rivals;
mod turned_world;

pub use files_on_disk::{
    DiskUse, HeldDatabase, StrangeFile, Tasks, is_consistent_journal, leftovers, one_sided_edges, read_tasks,
    rewrite_in_place, set_database_format, upgrade_beyond_today, write_in_place,
};
pub use home::{COMMANDS_WITH_HISTORY, Home, Server, Suspended, Took, example, rules_under_test};
pub use journals::{
    HeldLog, JournalDump, copy_log, dump_journal, make_first_format, make_second_format, set_format, write_long_journal,
};
pub use list_builder::{commit, images, signature};
pub use log_store::LogStore;
pub use old_yard::{OldEntry, OldList, OldYard, Rows, pack};
pub use opened::{CountingTeams, Opened, OpenedTeams, folder_in_memory};
#[cfg(target_os = "linux")]
pub use opens_counted::OpensCounted;
pub use patience::{PATIENCE, Random, Scale, finishes, is_once_within, side_by_side, wait_for, wait_or, wait_until};
#[cfg(unix)]
pub use postgres::{Cluster, CountingProxy, Pooler, SharedPostgres, postgres_program};
pub use process::{NOBODY, Process, Program, Ran, Step, is_root, kill_all_with};
pub use rivals::{
    Rival, install_claude, install_mcp_clients, install_rivals, install_taskmaster, install_taskwarrior,
    install_trackers,
};
pub use taskyard::core::Rules;
pub use turned_world::TurnedWorld;
