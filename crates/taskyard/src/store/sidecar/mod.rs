//! Our memory of one list: a SQLite database with its journal, and the last known state of every file.
//!
//! The database says what happened; it never decides what may. It is specified in `docs/formats/journal.md`.

mod aside;
mod boot;
mod checking;
mod damage;
mod database;
mod entries;
mod fingerprint;
mod forms;
mod images;
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
mod packing;
mod pool;
mod rare_entries;
mod salvage;
mod schema;
mod selecting;
mod sequence;
mod size;
mod stamp;
mod sums;
mod verdict;

pub(in crate::store) use boot::{is_same_boot, remember_boot};
pub use damage::JournalDamage;
pub(in crate::store) use database::Journal;
pub(in crate::store) use entries::{NewEntry, Standing, StoredEntry};
pub(in crate::store) use fingerprint::Fingerprint;
pub(in crate::store) use forms::Formed;
pub(in crate::store) use journals::Journals;
pub(in crate::store) use known::{Known, KnownTask, LOOK_IS_OLD};
pub(in crate::store) use mending::{examine, mend};
pub(in crate::store) use moves::Move;
pub(in crate::store) use naming::{canonical, sidecar_name, sidecar_of};
pub(in crate::store) use outside::{Extent, OutsideChange};
pub(in crate::store) use salvage::Beside;
pub(in crate::store) use size::{journal_size, memory_size};
