//! Where lists live: the contract every store keeps, and the stores.

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
mod history;
#[cfg(feature = "sqlite")]
mod journal;
pub mod kit;
mod list_copy;
mod litter;
#[cfg(feature = "sqlite")]
mod locks;
mod lookup;
#[cfg(feature = "sqlite")]
mod memories;
mod memory;
mod moving;
#[cfg(feature = "sqlite")]
mod new_name;
mod shared_care;
#[cfg(feature = "sqlite")]
mod teaching;
mod waiting;
mod watch;

pub use clock::StoreClock;
pub use contract::{
    Capabilities, ExpectedReads, ListInfo, NewLease, Signature, Snapshot, Store, StoreCall, Txn, TxnPair, Unpacked,
};
#[cfg(feature = "sqlite")]
pub use document::{DocumentOptions, DocumentPaths, open_documents};
#[cfg(feature = "sqlite")]
pub(crate) use document::{read_locked_document, replace_document};
pub use error::{Cause, JournalDamage, Occupant, StoreError};
#[cfg(feature = "sqlite")]
pub use file::{FileStore, FileStoreOptions};
pub use file_care::{FileCare, FileLayout, JournalCare, Sighting, StaleWrite};
pub use history::{HistoryBackwards, HistoryPages, HistoryQuery, HistorySource, LastEntry};
#[cfg(feature = "sqlite")]
pub(crate) use journal::{AtRest, Pace, TidyTerms};
#[cfg(feature = "sqlite")]
pub use journal::{PortableJournal, PortableMarks, TidiedJournal, TimeCount};
#[cfg(feature = "sqlite")]
pub(crate) use list_copy::is_lock;
pub use list_copy::{ListCopy, ListCopyTarget};
pub use litter::{Litter, StuckLock};
#[cfg(feature = "sqlite")]
pub use locks::release_held_locks;
#[cfg(feature = "sqlite")]
pub(crate) use locks::{Found, Guarded, Print, Replaced, end_lock_of, read_unlocked, stuck_lock_of};
pub use lookup::{LiveView, Lookup, UnreadableTask};
#[cfg(feature = "sqlite")]
pub use memories::ListMemory;
#[cfg(feature = "sqlite")]
pub(crate) use memories::{finish_putting_away, list_memories, list_sidecars, newest_time, tidy_journal};
pub use memory::MemoryStore;
pub use moving::{ArrivingList, Closed, Departure, ListMoving, new_token};
pub use shared_care::{MOST_FAULTS, SharedCare, SharedFault, ThinOut, ThinnedList, ThinnedOut, Traffic};
#[cfg(feature = "sqlite")]
pub use teaching::{TeachingOptions, TeachingPaths, open_teaching};
pub use waiting::{LockWaits, lock_waits, note_lock_wait};
pub use watch::{ListWatch, Subscription, Watch};
pub(crate) use watch::{UNTOLD, Untold};

pub use crate::watching::Moved;
