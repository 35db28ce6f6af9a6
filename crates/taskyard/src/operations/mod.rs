//! The verbs: one file each, every one a method of [`crate::Yard`]. An operation opens a transaction, hands what it read
//! to a rule of the core, and writes what the rule decided.

mod clear;
mod create;
mod delete;
mod depend;
mod doctor;
mod graph;
mod history;
mod list;
mod lists;
mod merge;
mod moves;
mod outcome;
mod ready;
mod restore;
mod search;
mod sessions;
mod show;
mod stats;
mod undo;
mod update;

pub use clear::Cleared;
pub use create::{Created, NewTask};
pub use delete::Deleted;
pub use doctor::{Finding, Fix, Mended};
pub use graph::Graph;
pub use list::Listing;
pub use merge::{MergeWhich, Merged};
pub use outcome::Outcome;
pub use ready::Ranked;
pub use restore::{Restorable, RestoreWhich, Restored};
pub use search::Hit;
pub use sessions::SessionList;
pub use show::Shown;
pub use stats::Stats;
pub use taskyard_core::rules::health::FindingCode;
pub use taskyard_core::rules::listing::Filter;
pub use taskyard_core::rules::patching::{Field, OwnerChange, Patch};
pub use undo::{UndoRange, Undone};
pub use update::{Update, Updated};
