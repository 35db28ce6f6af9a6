//! Where lists live: the contract every store keeps, and the stores.

mod attempt;
mod clock;
mod contract;
#[cfg(feature = "sqlite")]
mod directories;
#[cfg(feature = "sqlite")]
mod document;
mod error;
#[cfg(feature = "sqlite")]
mod file;
mod file_care;
mod following;
#[cfg(feature = "sqlite")]
mod foreign_link;
mod history_pages;
mod history_query;
mod journal_damage;
pub mod kit;
mod list_copy;
mod litter;
mod live_view;
mod lock_waits;
#[cfg(feature = "sqlite")]
mod locks;
mod lookup;
#[cfg(feature = "sqlite")]
mod memories;
mod memory;
mod moving;
#[cfg(feature = "sqlite")]
mod new_name;
mod occupant;
#[cfg(feature = "sqlite")]
mod remembered_places;
mod shared_care;
#[cfg(feature = "sqlite")]
mod sidecar;
mod stale_write;
mod stuck_lock;
mod subscription;
#[cfg(feature = "sqlite")]
mod teaching;
#[cfg(feature = "sqlite")]
mod translated;
mod turn_waiting;
mod watch;

pub use clock::StoreClock;
pub use contract::{
    Capabilities, ExpectedReads, ListInfo, NewLease, Signature, Snapshot, Store, StoreCall, Txn, TxnPair, Unpacked,
};
#[cfg(feature = "sqlite")]
pub use document::{DocumentOptions, DocumentPaths, open_documents};
#[cfg(feature = "sqlite")]
pub(crate) use document::{read_locked_document, replace_document};
pub use error::{Cause, StoreError};
#[cfg(feature = "sqlite")]
pub use file::{FileStore, FileStoreOptions};
pub use file_care::{FileCare, FileLayout, Sighting};
pub use history_pages::{HistoryBackwards, HistoryPages, HistorySource};
pub use history_query::{HistoryQuery, LastEntry};
pub use journal_damage::JournalDamage;
#[cfg(feature = "sqlite")]
pub(crate) use list_copy::is_lock;
pub use list_copy::{ListCopy, ListCopyTarget};
pub use litter::Litter;
pub use live_view::LiveView;
pub use lock_waits::{LockWaits, lock_waits, note_lock_wait};
#[cfg(feature = "sqlite")]
pub use locks::release_held_locks;
#[cfg(feature = "sqlite")]
pub(crate) use locks::{Found, Guarded, Print, Replaced, end_lock_of, read_unlocked, stuck_lock_of};
pub use lookup::{Lookup, UnreadableTask};
#[cfg(feature = "sqlite")]
pub use memories::ListMemory;
#[cfg(feature = "sqlite")]
pub(crate) use memories::{finish_putting_away, list_memories, list_sidecars, newest_time, tidy_journal};
pub use memory::MemoryStore;
pub use moving::{ArrivingList, Closed, Departure, ListMoving, new_token};
pub use occupant::Occupant;
pub use shared_care::{MOST_FAULTS, SharedCare, SharedFault, ThinOut, ThinnedList, ThinnedOut, Traffic};
#[cfg(feature = "sqlite")]
pub(crate) use sidecar::{AtRest, Pace, TidyTerms};
#[cfg(feature = "sqlite")]
pub use sidecar::{PortableJournal, PortableMarks, TidiedJournal, TimeCount};
pub use stale_write::StaleWrite;
pub use stuck_lock::StuckLock;
pub use subscription::Subscription;
#[cfg(feature = "sqlite")]
pub use teaching::{TeachingOptions, TeachingPaths, open_teaching};
pub use watch::{ListWatch, Watch};
pub(crate) use watch::{UNTOLD, Untold};

pub use crate::watching::Moved;
