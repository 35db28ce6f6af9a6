//! The kit for stores: what every store needs and none should write again.
//!
//! A store keeps, for each list, a journal of commits. With the kit it is four steps and nothing else:
//!
//! 1. **lock**: wait until no other process writes to the list;
//! 2. **catch up**: bring the [`ListState`] that this process has of the list to the newest revision, by [`ListState::apply`] of every
//!    [`Commit`] that it has not seen;
//! 3. **stage**: hand out a [`StagedTxn`] over that state, which does everything that a transaction can do;
//! 4. **commit**: in [`Writer::commit`], turn what was staged into a [`Commit`] by [`Staging::into_commit`] and write it down, whole.
//!
//! Readers get a [`StateSnapshot`] of a state that was caught up without the lock; [`select`] answers questions about commits that
//! are in memory, and [`watch`] follows a journal on disk. How a list is locked and how a commit is written down is the store's own
//! business. The kit touches no file and no clock.

mod commit;
mod staging;
mod state;
mod txn;

pub use super::following::{Followed, watch};
pub(crate) use commit::entries_of;
pub use commit::{Commit, select};
pub use staging::Staging;
pub(super) use staging::free_numbers;
pub(crate) use staging::{Change, StagedLeases, first_token};
pub use state::{Home, Kept, ListState, StateSnapshot, key_of, number_of};
pub use txn::{StagedPair, StagedTxn, Writer};
