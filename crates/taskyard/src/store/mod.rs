//! Where lists live: the contract every store keeps, and the stores.

mod contract;
mod error;

pub use contract::{HistoryQuery, ListInfo, Listener, Lookup, Problem, Signature, Snapshot, Store, Subscription, Txn};
pub use error::StoreError;
