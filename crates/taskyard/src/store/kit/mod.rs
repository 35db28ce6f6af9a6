//! Building blocks for stores. A store keeps a journal of commits for each list; with the kit, a write has four steps:
//!
//! 1. **lock**: wait until no other process writes to the list;
//! 2. **catch up**: bring this process's [`ListState`] to the newest revision by calling [`ListState::apply`] for every
//!    [`Commit`] it has not applied;
//! 3. **stage**: hand out a [`StagedTxn`] over that state; it implements everything a transaction can do;
//! 4. **commit**: in [`Writer::commit`], turn the staged changes into a [`Commit`] with [`Staging::into_commit`] and
//!    write it atomically.
//!
//! Readers get a [`StateSnapshot`] of a state caught up without the lock. [`select`] answers queries on commits in
//! memory, and [`watch`] follows a journal on disk. How a list is locked and how a commit is written is up to the
//! store. The kit touches neither files nor the clock. Begin reading with `txn.rs`.

mod commit;
mod staging;
mod txn;

pub use commit::{Commit, Home, Kept, ListState, StateSnapshot, key_of, number_of, select};
pub use staging::Staging;
pub(super) use staging::free_numbers;
pub(crate) use staging::{Change, StagedLeases, entries_of, first_token};
pub use txn::{StagedPair, StagedTxn, Writer};

pub use crate::store::waiting::{Followed, watch};
