//! Taking a list out of service because it moves to another store.

use std::fmt::{self, Debug};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use serde::{Deserialize, Serialize};
use taskyard_core::{AttemptId, Lease, ListId, Revision, Timestamp};

use super::StoreError;

/// Where a list is moving or has moved to, as recorded by the store that it leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Departure {
    /// Identifies the move; the destination store records it as well.
    pub token: String,
    /// The name of the list.
    pub list: String,
    /// The address of the destination store, without a password.
    pub to: String,
    /// The machine and data directory of the process that moves the list. Only there can the move be finished.
    pub mover: String,
    /// When the move was begun, in milliseconds since the Unix epoch.
    pub at: i64,
    /// Whether the list has arrived; if not, the move is in progress, or its process died.
    pub has_left: bool,
}

impl Departure {
    /// Returns the error for every command on a list that has moved or is being moved.
    pub fn refusal(&self) -> StoreError {
        StoreError::Moved { list: self.list.clone(), to: self.to.clone(), has_left: self.has_left }
    }

    /// Returns the record of a move that begins now.
    pub(crate) fn begun(list: &ListId, to: String, mover: String, at: Timestamp) -> Self {
        Self { token: new_token(), list: list.as_str().to_owned(), to, mover, at: at.0, has_left: false }
    }

    /// Parses a record; `None` if it is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Serializes the record.
    pub fn print(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns a unique token for a move.
pub fn new_token() -> String {
    new_attempt().to_string()
}

/// A list that arrives with its history.
#[derive(Clone, Copy)]
pub struct ArrivingList<'a> {
    /// Its journal, as a separate file ([`super::PortableJournal`]).
    pub journal: &'a Path,
    /// The highest number ever removed from it.
    pub mark: f64,
    /// The token of the move; `None` if the list is restored from a backup.
    pub token: Option<&'a str>,
    /// Called with the last revision written so far, if writing the history takes several steps.
    pub progress: &'a dyn Fn(Revision),
}

impl Debug for ArrivingList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ArrivingList");
        shown.field("journal", &self.journal).field("mark", &self.mark).field("token", &self.token);
        shown.finish_non_exhaustive()
    }
}

/// The result of closing a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The list is closed at the revision that was copied.
    At(Revision),
    /// The list has changed since it was copied, and is still open.
    Changed,
    /// Agents hold leases on its tasks, and the list is still open.
    Leased(Vec<Lease>),
}

/// Moving lists from and to a store, in addition to the [`super::Store`] operations.
///
/// A closed list answers every reader and writer of every process with [`StoreError::Moved`]. A store never reopens one
/// by itself: only the moving process knows whether the list has arrived.
pub trait ListMoving: Debug + Send + Sync {
    /// Returns where a list is moving or has moved to; `None` if it is here.
    fn departure(&self, list: &ListId) -> Result<Option<Departure>, StoreError>;

    /// Closes a list while no other writer has it. `copy` copies the list and returns the newest revision of the copy.
    /// If a step fails, the list is open, unless [`ListMoving::departure`] says otherwise.
    fn close(
        &self,
        list: &ListId,
        departure: &Departure,
        copy: &mut dyn FnMut() -> Result<Revision, StoreError>,
    ) -> Result<Closed, StoreError>;

    /// Reopens a closed list, if this move closed it and it has not left yet; otherwise does nothing.
    fn reopen(&self, list: &ListId, token: &str) -> Result<(), StoreError>;

    /// Records that a closed list has arrived, and removes its tasks here, but keeps its journal. Tasks that another
    /// program has changed since the list was closed are kept, and their file names returned. Can be repeated.
    fn leave(&self, list: &ListId, token: &str) -> Result<Vec<String>, StoreError>;

    /// Returns whether a list has arrived here through the move with this token.
    fn has_arrived(&self, list: &ListId, token: &str) -> Result<bool, StoreError>;
}

/// Returns a unique id for an attempt. The keys of a [`RandomState`] come from the operating system's source of
/// randomness, and no two are alike.
pub(super) fn new_attempt() -> AttemptId {
    let [high, low] = [(); 2].map(|()| u128::from(RandomState::new().build_hasher().finish()));
    AttemptId(high << 64 | low)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::new_attempt;

    #[test]
    fn no_two_attempts_have_one_name() {
        let threads: Vec<_> =
            (0..4).map(|_| thread::spawn(|| (0..500).map(|_| new_attempt()).collect::<Vec<_>>())).collect();
        let names: HashSet<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(names.len(), 2_000);
    }
}
