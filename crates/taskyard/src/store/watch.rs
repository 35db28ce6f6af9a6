//! Being told that a store may hold more than was seen.

use std::fmt::Debug;
use std::time::Duration;

use taskyard_core::{Entry, Revision};

use super::{HistoryQuery, StoreError};

/// How often a follower looks where the store cannot tell that something moved.
pub(crate) const UNTOLD: Duration = Duration::from_secs(1);

/// Watches something for one follower, until it is dropped.
pub trait Watch: Send {
    /// Sees to it that what moves from now on is told, too often rather than not at all. Returns after how long the follower looks
    /// again without having been told; none where everything will be told.
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError>;
}

/// Watches one list for one follower, until it is dropped. Keeping up, it also records what other programs did to the list.
pub trait ListWatch: Watch {
    /// Returns a part of the journal as it is, without looking at anything else.
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;

    /// Tells whether the last call of [`Self::entries`] found another history than the one the follower has read: a database went back to
    /// an earlier state. Returns the newest revision of that history, from which the follower goes on; the call returned no entries then.
    fn other_history(&mut self) -> Option<Revision> {
        None
    }
}

/// Watches where the store cannot tell that something moved.
#[derive(Debug)]
pub(crate) struct Untold;

impl Watch for Untold {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(UNTOLD))
    }
}

/// Keeps a listener listening; dropping it ends that.
pub struct Subscription(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Subscription {
    /// Takes what ends the listening.
    pub fn new(end: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl Debug for Subscription {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Subscription")
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}
