//! Following a list: a notification tells that something moved, the journal tells what.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taskyard::core::{AttemptId, Entry, ListId, Revision};
use taskyard::store::{HistoryQuery, ListWatch, Moved, StoreError, Watch};

use super::catching_up::must_be_here;
use super::changes::revision;
use super::history::{bound, entries, question};
use crate::connecting::Failure;
use crate::database::{Answers, Database};
use crate::epoch::{Epoch, Lost};
use crate::listening::Following;

const DOING: &str = "read the journal";

/// Watches one list.
pub(crate) struct PostgresListWatch {
    database: Arc<Database>,
    list: ListId,
    following: Following,
    position: Mutex<Position>,
}

/// How far the follower has read.
#[derive(Default)]
struct Position {
    /// The last commit it read; `None` before the first look.
    read: Option<ReadCommit>,
    /// The newest revision, if the last look found another history.
    other_history: Option<Revision>,
}

/// A commit that a follower has read.
struct ReadCommit {
    revision: Revision,
    attempt: Option<AttemptId>,
    epoch: Epoch,
}

/// Watches which lists there are.
pub(crate) struct PostgresNamesWatch(Following);

impl PostgresListWatch {
    /// Calls `moved` whenever the journal of a list may have grown.
    pub(crate) fn begin(database: &Arc<Database>, list: &ListId, moved: Moved) -> Self {
        let following = database.listening.follow(&database.schema.channel("list", list.directory()), moved);
        Self { database: Arc::clone(database), list: list.clone(), following, position: Mutex::default() }
    }

    fn position(&self) -> MutexGuard<'_, Position> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the database with what was read, and returns the entries that follow.
    fn take_in(&self, since: Revision, (rows, stamp): &Answers) -> Result<Vec<Entry>, Failure> {
        let (newest, thinned) = match rows[0].first() {
            Some(row) => {
                must_be_here(row, 2)?;
                (revision(row.try_get(0)?), revision(row.try_get(1)?))
            }
            None => (Revision(0), Revision(0)),
        };
        let at_since = rows[1].first().map_or(Ok(None), |row| row.try_get::<_, Option<&str>>(0))?;
        let at_since: Option<AttemptId> = at_since.and_then(|attempt| attempt.parse().ok());
        let mut position = self.position();
        let before = position.read.take().filter(|before| before.revision == since);
        // A follower that goes on where another one stopped knows no more than the revision.
        let is_less = newest < since;
        let is_other = |before: &ReadCommit| since > thinned && at_since != before.attempt;
        let is_other_epoch = before.as_ref().is_some_and(|before| !before.epoch.is(&stamp.epoch));
        let lost = before.filter(|before| !is_other_epoch && (is_less || is_other(before)));
        if is_less || is_other_epoch || lost.is_some() {
            if let Some(ReadCommit { revision: known, .. }) = lost {
                let list = self.list.directory().to_owned();
                self.database.try_begin_epoch(stamp, &Lost { list, known, found: newest });
            }
            position.other_history = Some(newest);
            return Ok(Vec::new());
        }
        let entries = entries(&rows[2])?;
        let read = entries.last().map_or(since, |entry| entry.revision);
        let first_of_last = entries.iter().find(|entry| entry.revision == read);
        let attempt = first_of_last.map_or(at_since, |entry| entry.attempt);
        position.read = Some(ReadCommit { revision: read, attempt, epoch: stamp.epoch.clone() });
        Ok(entries)
    }
}

impl PostgresNamesWatch {
    /// Calls `moved` whenever a list may have come.
    pub(crate) fn begin(database: &Database, moved: Moved) -> Self {
        Self(database.listening.follow(&database.schema.channel("names", ""), moved))
    }
}

impl Watch for PostgresListWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(self.following.interval()))
    }
}

impl ListWatch for PostgresListWatch {
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        let directory = self.list.directory();
        let answers = self.database.read_stamped(DOING, || {
            let head = "SELECT revision, thinned, moved FROM @.lists WHERE directory = $1";
            let at_since = "SELECT attempt FROM @.changes
                WHERE list = (SELECT id FROM @.lists WHERE directory = $1) AND revision = $2 AND place = 0";
            let of_list = |sql: &str| self.database.statement(sql).text(directory);
            vec![
                of_list(head),
                of_list(at_since).number(bound(query.since)),
                question(&self.database, directory, query),
            ]
        })?;
        let Some(answers) = answers else { return Ok(Vec::new()) };
        let taken = self.take_in(query.since, &answers);
        taken.map_err(|failure| failure.into_store_error(self.database.shown(), DOING))
    }

    fn other_history(&mut self) -> Option<Revision> {
        self.position().other_history.take()
    }
}

impl Watch for PostgresNamesWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(self.0.interval()))
    }
}
