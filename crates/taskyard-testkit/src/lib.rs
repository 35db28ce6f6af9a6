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
pub mod graphs;
pub mod list_builder;
pub mod properties;
pub mod suite;
pub mod team_builder;
pub mod team_suite;

mod counting_teams;
mod databases;
mod disk_use;
mod example;
mod home;
mod journal_dump;
mod listing;
mod log_store;
mod long_journal;
mod memory_folder;
mod old_journal;
mod old_yard;
mod opened;
mod opened_teams;
#[cfg(target_os = "linux")]
mod opens_counted;
mod patience;
#[cfg(unix)]
mod postgres;
mod process;
mod ran;
mod random;
mod rivals;
mod scale;
mod server;
mod side_by_side;
mod staging;
mod step;
mod strange_file;
mod suspended;
mod took;
mod turned_world;

pub use counting_teams::CountingTeams;
pub use databases::{HeldDatabase, set_database_format, upgrade_beyond_today};
pub use disk_use::DiskUse;
pub use example::example;
pub use home::{COMMANDS_WITH_HISTORY, Home, rules_under_test};
pub use journal_dump::{HeldLog, JournalDump, copy_log, dump_journal};
pub use listing::{
    Tasks, is_consistent_journal, leftovers, one_sided_edges, read_tasks, rewrite_in_place, write_in_place,
};
pub use log_store::LogStore;
pub use long_journal::write_long_journal;
pub use memory_folder::folder_in_memory;
pub use old_journal::{make_first_format, make_second_format, set_format};
pub use old_yard::{OldEntry, OldList, OldYard, Rows, pack};
pub use opened::Opened;
pub use opened_teams::OpenedTeams;
#[cfg(target_os = "linux")]
pub use opens_counted::OpensCounted;
pub use patience::{PATIENCE, finishes, is_once_within, wait_for, wait_or, wait_until};
#[cfg(unix)]
pub use postgres::{Cluster, CountingProxy, Pooler, SharedPostgres, postgres_program};
pub use process::{NOBODY, Process, Program, is_root, kill_all_with};
pub use ran::Ran;
pub use random::Random;
pub use rivals::{
    Rival, install_claude, install_mcp_clients, install_rivals, install_taskmaster, install_taskwarrior,
    install_trackers,
};
pub use scale::Scale;
pub use server::Server;
pub use side_by_side::side_by_side;
pub use staging::{commit, images, signature};
pub use step::Step;
pub use strange_file::StrangeFile;
pub use suspended::Suspended;
pub use taskyard::core::Rules;
pub use took::Took;
pub use turned_world::TurnedWorld;
