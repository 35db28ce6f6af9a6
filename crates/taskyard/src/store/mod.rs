//! Where lists live: the contract every store keeps, and the stores.

mod contract;
mod directories;
mod document;
mod error;
mod file;
mod following;
mod foreign_link;
mod leases;
mod litter;
mod lock_table;
mod lookup;
mod memory;
mod new_name;
mod remembered_places;
mod sidecar;
mod staged;
mod subscription;
mod teaching;
mod translated;

pub use contract::{HistoryQuery, ListInfo, NewLease, Sighting, Signature, Snapshot, Store, Txn, TxnPair, Unpacked};
pub use document::{DocumentOptions, DocumentPlace, open_documents};
pub(crate) use document::{read_locked_document, replace_document};
pub use error::StoreError;
pub use file::{FileStore, FileStoreOptions, StuckLock, failpoint, release_held_locks};
pub(crate) use file::{Found, Guarded, Print, Replaced, end_lock_of, read_unlocked, stuck_lock_of};
pub(crate) use following::PlacesWatched;
pub use litter::Litter;
pub use lookup::{Lookup, Problem};
pub use memory::MemoryStore;
pub use sidecar::JournalDamage;
pub use subscription::{Listener, Subscription};
pub use teaching::{TeachingOptions, TeachingPlace, open_teaching};
