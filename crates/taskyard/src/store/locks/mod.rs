//! The client's lock protocol, and how our own writers take turns within it. `docs/design/locks.md` explains both.
//! `queue.rs`, `turn.rs` and `turn_record.rs` are ours; `client_lock.rs`, `client_locking.rs` and `dead_locks.rs` implement the client's
//! protocol, for lists and for the single files of teams. Begin reading with `turn.rs`.

pub(in crate::store) mod client_lock;
pub(in crate::store) mod client_locking;
pub(in crate::store) mod dead_locks;
pub(in crate::store) mod guarded;
pub(in crate::store) mod list_paths;
pub(in crate::store) mod queue;
pub(in crate::store) mod turn;
pub(in crate::store) mod turn_record;

pub use client_lock::{before_first_turn, release_held_locks};
pub(crate) use dead_locks::{end_lock_of, stuck_lock_of};
pub(crate) use guarded::{Found, Guarded, Print, Replaced, read_unlocked};
