//! Where lists live: the contract every store keeps, and the stores.

mod contract;
mod error;
mod file;
mod leases;
mod memory;

pub use contract::{
    HistoryQuery, ListInfo, Listener, Litter, Lookup, NewLease, Problem, Signature, Snapshot, Store, Subscription, Txn,
    TxnPair, Unpacked,
};
pub use error::StoreError;
pub use file::{FileStore, FileStoreOptions, failpoint, release_held_locks};
pub(crate) use file::{Found, Guarded, PlacesWatched, read_unlocked};
pub use memory::MemoryStore;
