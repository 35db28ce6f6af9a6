//! The stores of task lists, and the contract they implement. Begin with `store_contract.rs`, then `memory.rs`, the
//! reference. `file` is the client's own files, `kit` what a new store is built from.

#[cfg(feature = "sqlite")]
mod dialects;
#[cfg(feature = "sqlite")]
mod document;
#[cfg(feature = "sqlite")]
mod engine;
mod error;
#[cfg(feature = "sqlite")]
mod file;
mod file_care;
mod history;
#[cfg(feature = "sqlite")]
mod journal;
pub mod kit;
#[cfg(feature = "sqlite")]
mod list_directories;
#[cfg(feature = "sqlite")]
mod locks;
mod memory;
mod moving;
mod store_contract;
#[cfg(feature = "sqlite")]
mod teaching;
mod waiting;

#[cfg(feature = "sqlite")]
pub use document::{DocumentOptions, DocumentPaths, open_documents};
#[cfg(feature = "sqlite")]
pub(crate) use document::{read_locked_document, replace_document};
pub use error::{Cause, JournalDamage, Occupant, StoreError};
#[cfg(feature = "sqlite")]
pub use file::{FileStore, FileStoreOptions};
#[cfg(feature = "sqlite")]
pub(crate) use file_care::is_lock;
pub use file_care::{
    FileCare, FileLayout, JournalCare, ListCopy, ListCopyTarget, Litter, MOST_FAULTS, SharedCare, SharedFault,
    Sighting, StaleWrite, StuckLock, ThinOut, ThinnedList, ThinnedOut, Traffic,
};
pub use history::{HistoryBackwards, HistoryPages, HistoryQuery, HistorySource, LastEntry};
#[cfg(feature = "sqlite")]
pub(crate) use journal::{Pace, TidyTerms};
#[cfg(feature = "sqlite")]
pub use journal::{PortableJournal, PortableMarks, TidiedJournal, TimeCount};
#[cfg(feature = "sqlite")]
pub use list_directories::ListMemory;
#[cfg(feature = "sqlite")]
pub(crate) use list_directories::{finish_putting_away, list_memories, list_sidecars, newest_time, tidy_journal};
#[cfg(feature = "sqlite")]
pub(crate) use locks::{Found, Guarded, Print, Replaced, end_lock_of, read_unlocked, stuck_lock_of};
#[cfg(feature = "sqlite")]
pub use locks::{before_first_turn, release_held_locks};
pub use memory::MemoryStore;
pub use moving::{ArrivingList, Closed, Departure, ListMoving, new_token};
pub(crate) use store_contract::UNTOLD;
pub use store_contract::{
    Capabilities, ExpectedReads, ListInfo, ListWatch, LiveView, Lookup, NewLease, Signature, Snapshot, Store,
    StoreCall, StoreClock, Subscription, Txn, TxnPair, Unpacked, UnreadableTask, Watch,
};
#[cfg(feature = "sqlite")]
pub use teaching::{TeachingOptions, TeachingPaths, open_teaching};
pub use waiting::{LockWaits, lock_waits, note_lock_wait};

pub use crate::watching::Moved;
