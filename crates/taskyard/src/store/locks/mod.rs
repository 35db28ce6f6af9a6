//! The client's lock protocol, and how our own writers take turns within it. `docs/design/locks.md` says how and why.
//!
//! Ours are the queue, the turn and its record. The client's are `client_lock.rs`, `client_locking.rs`, `dead_locks.rs` and
//! `stuck_lock.rs`. Lists and the single files of teams are locked in the same way.

pub(in crate::store) mod client_lock;
pub(in crate::store) mod client_locking;
pub(in crate::store) mod dead_locks;
pub(in crate::store) mod fingerprint;
pub(in crate::store) mod guarded;
pub(in crate::store) mod held_locks;
pub(in crate::store) mod list_paths;
pub(in crate::store) mod queue;
pub(in crate::store) mod stuck_lock;
pub(in crate::store) mod turn;
pub(in crate::store) mod turn_record;

pub(crate) use guarded::{Found, Guarded, Print, Replaced, read_unlocked};
pub use held_locks::release_held_locks;
pub(crate) use stuck_lock::{end_lock_of, stuck_lock_of};
