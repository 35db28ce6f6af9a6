//! Taking a list out of service where it is, because it moves to another store.

use std::fmt::{self, Debug};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use serde::{Deserialize, Serialize};
use taskyard_core::{AttemptId, Lease, ListId, Revision, Timestamp};

use super::StoreError;

/// Where a list goes or has gone, as the store that it leaves remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Departure {
    /// What tells this move from every other one: the store that the list comes to keeps it.
    pub token: String,
    /// The name of the list.
    pub list: String,
    /// The address of the store that it goes to, without a password.
    pub to: String,
    /// The process that moves it runs on this machine, with this data directory. Only there can the move be finished.
    pub mover: String,
    /// When the move was begun.
    pub at: i64,
    /// Whether the list has arrived; otherwise it is on its way, or its mover died.
    pub has_left: bool,
}

impl Departure {
    /// Returns the error of every command on a list that has gone or is going.
    pub fn refusal(&self) -> StoreError {
        StoreError::Moved { list: self.list.clone(), to: self.to.clone(), has_left: self.has_left }
    }

    /// Returns the note of a move that begins at this moment.
    pub(crate) fn begun(list: &ListId, to: String, mover: String, at: Timestamp) -> Self {
        Self { token: new_token(), list: list.as_str().to_owned(), to, mover, at: at.0, has_left: false }
    }

    /// Reads a note; `None` if it is none of ours.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Writes the note down.
    pub fn print(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns a token that no other move has.
pub fn new_token() -> String {
    new_attempt().to_string()
}

/// A list that comes from elsewhere with its history.
#[derive(Clone, Copy)]
pub struct ArrivingList<'a> {
    /// Its journal, a file of its own ([`super::PortableJournal`]).
    pub journal: &'a Path,
    /// The highest number that was ever removed from it.
    pub mark: f64,
    /// The token of the move that brings it; `None` if it comes back from a backup.
    pub token: Option<&'a str>,
    /// Is told up to which revision the history has been written, if that takes several steps.
    pub progress: &'a dyn Fn(Revision),
}

impl Debug for ArrivingList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ArrivingList");
        shown.field("journal", &self.journal).field("mark", &self.mark).field("token", &self.token);
        shown.finish_non_exhaustive()
    }
}

/// What came of closing a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It is closed at the revision that was copied.
    At(Revision),
    /// It has changed since it was copied, and is open as before.
    Changed,
    /// Agents work on its tasks, and it is open as before.
    Leased(Vec<Lease>),
}

/// The moving of lists away from a store, beside the [`super::Store`] that keeps them, and what the store that one came to knows of it.
///
/// A closed list answers every reader and writer of every process with [`StoreError::Moved`]. A store never opens one by itself: only
/// the mover knows whether the list has arrived.
pub trait ListMoving: Debug + Send + Sync {
    /// Returns where a list goes or has gone; `None` if it is here.
    fn departure(&self, list: &ListId) -> Result<Option<Departure>, StoreError>;

    /// Closes a list while no other writer has it. `copy` copies it and returns the newest revision of the copy. If a step fails, the list
    /// is open, or [`ListMoving::departure`] says that it is not.
    fn close(
        &self,
        list: &ListId,
        departure: &Departure,
        copy: &mut dyn FnMut() -> Result<Revision, StoreError>,
    ) -> Result<Closed, StoreError>;

    /// Opens a closed list again, if this is the move that closed it and it has not left: nothing has happened.
    fn reopen(&self, list: &ListId, token: &str) -> Result<(), StoreError>;

    /// Notes that a closed list has arrived, and removes its tasks here; its journal stays. What another program has changed since the list
    /// was closed is left, and returned by name. It may be repeated.
    fn leave(&self, list: &ListId, token: &str) -> Result<Vec<String>, StoreError>;

    /// Tells whether a list came here with the move of this token.
    fn has_arrived(&self, list: &ListId, token: &str) -> Result<bool, StoreError>;
}

/// Returns the name of a new attempt. The keys of a [`RandomState`] come from the system's source of randomness, and no two are
/// alike.
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
