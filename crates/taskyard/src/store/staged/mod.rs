//! A list as it was read, and what a transaction has staged over it: for stores that read a whole list at once.

mod kept;
mod snapshot;
mod staging;

pub(super) use kept::{Home, Kept, State, key_of, number_of};
pub(super) use snapshot::StateSnapshot;
pub(super) use staging::Staging;
