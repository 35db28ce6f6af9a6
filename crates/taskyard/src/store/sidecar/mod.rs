//! Our memory of one list: a SQLite database with its journal, and the last known state of every file.
//!
//! The database says what happened; it never decides what may. It is specified in `docs/formats/journal.md`.

mod archive;
mod aside;
mod at_rest;
mod boot;
mod checking;
mod condemning;
mod copying;
mod damage;
mod database;
mod entries;
mod fingerprint;
mod forms;
mod images;
mod installing;
mod journals;
mod known;
mod leases;
mod log;
mod mapping;
mod mending;
mod moves;
mod naming;
mod opening;
mod outside;
mod pace;
mod packing;
mod pool;
mod putting_away;
mod rare_entries;
mod recent_images;
mod resting_file;
mod salvage;
mod schema;
mod seats;
mod selecting;
mod sequence;
mod size;
mod stamp;
mod sums;
mod thinning;
#[cfg(test)]
mod thinning_properties;
mod tidying;
mod verdict;
mod wrong_sum;

pub(in crate::store) use archive::archived_with_tasks;
pub(in crate::store) use boot::{is_same_boot, remember_boot};
pub(in crate::store) use database::Journal;
pub(in crate::store) use entries::{NewEntry, Standing, StoredEntry};
pub(in crate::store) use fingerprint::Fingerprint;
pub(in crate::store) use forms::Formed;
pub(in crate::store) use installing::{has_memory, install};
pub(in crate::store) use journals::Journals;
pub(in crate::store) use known::{Known, KnownTask, LOOK_IS_OLD};
pub(in crate::store) use mending::{examine, mend};
pub(in crate::store) use moves::Move;
pub(in crate::store) use naming::{canonical, is_gone, sidecar_name, sidecar_of};
pub(in crate::store) use outside::{Extent, OutsideChange};
pub use pace::Pace;
pub(in crate::store) use putting_away::{LEAVING, remove_what_is_leaving};
pub(in crate::store) use salvage::Beside;
pub(in crate::store) use size::{journal_size, memory_size};
pub use tidying::{TidiedJournal, TidyTerms};
pub(in crate::store) use tidying::{list_of, size_of, tidy, try_tidy};
