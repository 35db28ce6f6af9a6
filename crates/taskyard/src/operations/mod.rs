//! The operations, all of them methods of [`crate::Yard`], in files named for what users do. An operation opens a
//! transaction, passes what it read to a rule of the core, and writes what the rule decided. Begin with `done.rs` and
//! `changing.rs`.

mod changing;
mod claim;
mod consulting;
mod create;
mod delete;
mod depend;
mod doctor;
mod done;
#[cfg(feature = "sqlite")]
mod export;
mod import_and_merge;
mod lease_upkeep;
mod list;
mod next;
mod outcome;
mod put_back;
mod reading;
mod recurring;
mod release;
mod restore;
mod sessions;
mod show;
mod staged_tasks;
mod stats;
mod team;
mod undo;
mod update;
mod worktrees;

pub use claim::Claimed;
pub use consulting::{IdleAnswer, StopAnswer, Stopped};
pub use create::{Created, CreatedBatch, NewTask};
pub use delete::{Cleared, Deleted};
pub use depend::Graph;
pub use doctor::{Checkup, Finding, Fix, JobChecks, Mended};
pub use done::Move;
#[cfg(feature = "sqlite")]
pub use export::Exported;
pub use import_and_merge::{ImportReport, Merged, SharedBy};
pub use lease_upkeep::{Hold, Keeper, Nudge};
pub(crate) use lease_upkeep::{show_life, stage_ended_leases};
pub use list::{KnownList, Listing, Survey};
pub use next::{Claim, DEFAULT_LEASE, Ready, Resuming};
pub(crate) use outcome::Halt;
pub use outcome::{Possible, RefusedTask};
pub use release::{Departed, Released};
pub(crate) use restore::TaskCopy;
pub use restore::{CopiesRestored, CopiesWanted, Restorable, RestoreWhich, Restored};
pub use sessions::{OwnerSession, SessionList, recent_sessions, shell_word};
pub use show::{Shown, journal_of_shown};
pub use staged_tasks::{TaskMessage, Update, Updated, now_ready};
pub use stats::{KnownPast, PastAndPresent, TimeSpent};
pub use taskyard_core::rules::agents::Departure;
pub use taskyard_core::rules::changes::editing::Draft;
pub use taskyard_core::rules::changes::patching::{Field, OwnerChange, Patch, TagChange};
pub use taskyard_core::rules::claims::readiness::Brief;
pub use taskyard_core::rules::health::FindingCode;
pub use taskyard_core::rules::history::vanishing::{Absence, Gone, KeptIn};
pub use taskyard_core::rules::looking::listing::Filter;
pub use taskyard_core::rules::looking::query::{Mistake, Query, SortOrder};
pub use taskyard_core::rules::looking::searching::Hit;
pub use taskyard_core::rules::looking::statistics::Summary;
pub use taskyard_core::rules::moving::importing::{ImportPlan, Source};
pub use taskyard_core::rules::moving::list_moves::MergeWhich;
pub use team::{AT_ONCE, Pruned};
pub use undo::{UndoRange, Undone};
pub use update::{Edited, EditedPlan, Noted, PlanChange};
