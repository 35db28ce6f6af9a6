//! Where lists live: the contract every store keeps, and the stores.

mod attempt;
mod clock;
mod contract;
#[cfg(feature = "sqlite")]
mod dialects;
#[cfg(feature = "sqlite")]
mod directories;
#[cfg(feature = "sqlite")]
mod document;
#[cfg(feature = "sqlite")]
mod engine;
mod error;
#[cfg(feature = "sqlite")]
mod file;
mod file_care;
mod following;
#[cfg(feature = "sqlite")]
mod foreign_link;
mod history_pages;
mod history_query;
#[cfg(feature = "sqlite")]
mod journal;
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
mod stale_write;
mod stuck_lock;
mod subscription;
#[cfg(feature = "sqlite")]
mod teaching;
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
pub use file_care::{FileCare, FileLayout, JournalCare, Sighting};
pub use history_pages::{HistoryBackwards, HistoryPages, HistorySource};
pub use history_query::{HistoryQuery, LastEntry};
#[cfg(feature = "sqlite")]
pub(crate) use journal::AtRest;
#[cfg(feature = "sqlite")]
pub use journal::{Pace, PortableJournal, PortableMarks, TidiedJournal, TidyTerms, TimeCount};
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
pub use memories::{ListMemory, finish_putting_away, journal_size, list_memories};
#[cfg(feature = "sqlite")]
pub(crate) use memories::{list_sidecars, newest_time, tidy_journal};
pub use memory::MemoryStore;
pub use moving::{ArrivingList, Closed, Departure, ListMoving, new_token};
pub use occupant::Occupant;
pub use shared_care::{MOST_FAULTS, SharedCare, SharedFault, ThinOut, ThinnedList, ThinnedOut, Traffic};
pub use stale_write::StaleWrite;
pub use stuck_lock::StuckLock;
pub use subscription::Subscription;
#[cfg(feature = "sqlite")]
pub use teaching::{TeachingOptions, TeachingPaths, open_teaching};
pub use watch::{ListWatch, UNTOLD, Untold, Watch};

pub use crate::watching::Moved;
