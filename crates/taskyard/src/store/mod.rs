//! Where lists live: the contract every store keeps, and the stores.

mod contract;
mod error;

pub use contract::{
    HistoryQuery, ListInfo, Listener, Litter, Lookup, Problem, Signature, Snapshot, Store, Subscription, Txn, TxnPair,
};
pub use error::StoreError;
