//! What we keep about one list: a SQLite database with its journal and the last known state of every file. It records
//! what happened and never decides what may happen; `docs/formats/journal.md` specifies its format. Begin reading with
//! `entries.rs`; `layout.rs` has the tables, `database.rs` the connection, `journals.rs` what a process keeps open.

mod archive;
mod damage;
mod database;
mod entries;
mod journals;
mod known;
mod layout;
mod mending;
mod moves;
mod opening;
mod pace;
mod packing;
mod rows;
mod selecting;
mod stamp;
mod thinning;
#[cfg(test)]
mod thinning_properties;
mod tidying;

pub(in crate::store) use archive::archived_with_tasks;
pub(in crate::store) use database::Journal;
pub(in crate::store) use entries::{Extent, NewEntry, OutsideChange, OutsideRecord, Standing, StoredEntry};
pub(in crate::store) use journals::Journals;
pub(in crate::store) use known::{Formed, Known, KnownTask, LOOK_IS_OLD};
pub(in crate::store) use layout::{
    canonical, changed, departure_in, is_leaving, journal_size, memory_size, note_departure, sidecar_name, sidecar_of,
    withdraw_departure,
};
pub(in crate::store) use mending::{Beside, examine, mend};
pub(in crate::store) use moves::{Move, MovePeer, arrived_by, has_memory, install, reopen};
pub use moves::{PortableJournal, PortableMarks};
pub(crate) use pace::Pace;
pub(in crate::store) use stamp::{NEWER_LAYOUTS, is_same_boot, remember_boot};
pub(crate) use thinning::TidyTerms;
pub use thinning::TimeCount;
pub use tidying::TidiedJournal;
pub(in crate::store) use tidying::{LEAVING, list_of, newest_time, remove_what_is_leaving, tidy, try_tidy};

pub(in crate::store) use crate::fingerprint::{FileStamp, Fingerprint, is_past};
