//! Reading a list without a lock, and following it.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use taskyard::core::{AttemptId, Entry, Lease, Revision, Rules, Task, TaskId};
use taskyard::store::kit::{ListState, StateSnapshot};
use taskyard::store::{HistoryQuery, ListWatch, LiveView, Lookup, Moved, Snapshot, StoreError, UnreadableTask, Watch};
use tokio_postgres::Row;

use super::catching_up::{Asked, Reader, STANDING, Taken, forget, learn_heartbeats, must_be_here, questions, take_in};
use super::commit_notice;
use super::history::{bound, entries, question};
use super::known_list::KnownList;
use crate::connecting::{Failure, Statement};
use crate::database::{Answers, Database};
use crate::listening::{Follower, Following, ListHead, Poll, Polled};
use crate::seldom::SeldomFollower;
use crate::server_clock::{Epoch, Lost};
use crate::store::change_rows::revision;
use crate::versions::Kind;

const DOING: &str = "read the journal";

pub(crate) struct PostgresListWatch {
    database: Arc<Database>,
    list: Arc<KnownList>,
    moved: Moved,
    /// Follows the list's channel, once that is known.
    commits: Option<(String, Following)>,
    /// Until then, follows new lists.
    names: Option<Following>,
    position: Arc<Mutex<Position>>,
}

/// Handles notifications about commits to a list.
struct ListFollower {
    list: Arc<KnownList>,
    database: Weak<Database>,
    moved: Moved,
    /// How far the watch has read.
    position: Arc<Mutex<Position>>,
    /// Whether notifications contain the commits, rather than only announce them.
    is_told_what: bool,
}

impl Follower for ListFollower {
    fn hear(&self, payload: &str) {
        let (heard, alive) = match self.is_told_what {
            true => commit_notice::hear(&self.list, payload),
            false => (commit_notice::NoticeResult::Gap, Vec::new()),
        };
        if let Some(database) = self.database.upgrade() {
            database.heartbeats.learn_alive(alive, &database.clock.now_in_transaction());
        }
        if heard == commit_notice::NoticeResult::Gap {
            self.list.note_gap();
        }
        (self.moved)();
    }

    fn list(&self) -> Option<i64> {
        self.list.known().id
    }

    fn compare(&self, polled: &Polled) -> bool {
        let known = self.list.known();
        let is_epoch = known.epoch.as_ref().is_some_and(|epoch| epoch.id() == polled.epoch);
        let found = known.id.and_then(|id| polled.lists.get(&id));
        let is_current = found.is_some_and(|ListHead { revision, attempt, lease_version, has_moved }| {
            (known.state.revision, known.head) == (*revision, *attempt)
                && known.lease_version == *lease_version
                && !has_moved
        });
        // Another thread may have read or made a commit that was not announced.
        let position = self.position.lock().unwrap_or_else(PoisonError::into_inner);
        let read = position.read.as_ref().map(|read| (read.revision, read.attempt));
        let is_read = read == Some((known.state.revision, known.head));
        // Nothing was announced before the first read.
        let was_missed = !is_epoch || !is_current;
        let is_doubtful = was_missed && read.is_some();
        drop((position, known));
        if was_missed {
            self.list.note_gap();
        }
        if was_missed || !is_read {
            (self.moved)();
        }
        is_doubtful
    }
}

#[derive(Default)]
struct Position {
    /// The last commit read; `None` before the first read.
    read: Option<ReadCommit>,
    /// The newest revision, if the last read found another history.
    other_history: Option<Revision>,
}

/// A commit that a follower has read.
struct ReadCommit {
    revision: Revision,
    attempt: Option<AttemptId>,
    epoch: Epoch,
    /// Whether it was only announced: the database may never have contained it.
    was_heard: bool,
}

/// Watches the names of lists.
pub(crate) struct PostgresNamesWatch {
    _following: Following,
}

impl PostgresListWatch {
    /// Calls `moved` whenever the list's journal may have grown.
    pub(crate) fn begin(database: &Arc<Database>, list: Arc<KnownList>, moved: Moved) -> Self {
        list.add_follower();
        let (database, position) = (Arc::clone(database), Arc::default());
        Self { database, list, moved, commits: None, names: None, position }
    }

    /// Listens on the list's channel, or for the list to be created.
    fn listen(&mut self) {
        // Roles that may write to the list receive the commits themselves; no other role can send on that channel.
        let channels = self.list.known().channels.clone();
        let is_told_what = channels.as_ref().is_some_and(|channels| channels.writers.is_some());
        let channel = channels.map(|channels| channels.writers.unwrap_or(channels.readers));
        let asks: Weak<dyn Poll> = Arc::downgrade(&self.database) as Weak<dyn Poll>;
        match channel {
            Some(channel) if self.commits.as_ref().is_none_or(|(followed, _)| *followed != channel) => {
                let (list, database) = (Arc::clone(&self.list), Arc::downgrade(&self.database));
                let (moved, position) = (Arc::clone(&self.moved), Arc::clone(&self.position));
                let follower = ListFollower { list, database, moved, position, is_told_what };
                let following = self.database.listening.follow(&channel, Arc::new(follower), asks);
                self.commits = Some((channel, following));
                self.names = None;
            }
            None if self.names.is_none() => {
                let (list, moved) = (Arc::clone(&self.list), Arc::clone(&self.moved));
                let moved: Moved = Arc::new(move || {
                    list.note_gap();
                    moved();
                });
                let channel = names_channel(&self.database);
                self.names = Some(SeldomFollower::follow(&self.database, Kind::Names, &channel, moved));
            }
            Some(_) | None => {}
        }
    }

    /// Returns the entries after a commit read before, from memory, or `None` if the database must be asked.
    fn recent(&self, query: &HistoryQuery) -> Option<Vec<Entry>> {
        let is_next = HistoryQuery { since: query.since, oldest: query.oldest, ..HistoryQuery::default() } == *query;
        if !is_next || self.position().read.is_none() {
            return None;
        }
        if self.list.close_gap(|| read_now(&self.database, &self.list).map(drop)).is_err() {
            // The journal may still be readable; otherwise reading it reports the error.
            return None;
        }
        let known = self.list.known();
        let mut position = self.position();
        let is_epoch = |read: &ReadCommit| known.epoch.as_ref().is_some_and(|epoch| epoch.is(&read.epoch));
        let read = position.read.as_mut().filter(|read| read.revision == query.since && is_epoch(read))?;
        let mut entries = known.recent.since((read.revision, read.attempt))?;
        if let Some(most) = query.oldest {
            keep_commits(&mut entries, most);
        }
        if let Some(last) = entries.last() {
            let first_of_last = entries.iter().find(|entry| entry.revision == last.revision);
            (read.revision, read.attempt) = (last.revision, first_of_last.and_then(|entry| entry.attempt));
            read.was_heard = last.revision > known.extent_read().revision;
        }
        Some(entries)
    }

    fn position(&self) -> MutexGuard<'_, Position> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the database with what was read before, and returns the entries that follow.
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
        // A follower that continues for another one knows only the revision.
        let is_less = newest < since;
        let is_other = |before: &ReadCommit| since > thinned && at_since != before.attempt;
        let is_other_epoch = before.as_ref().is_some_and(|before| !before.epoch.is(&stamp.epoch));
        let lost = before.filter(|before| !is_other_epoch && (is_less || is_other(before)));
        if is_less || is_other_epoch || lost.is_some() {
            if let Some(ReadCommit { revision: known, .. }) = lost.filter(|lost| !lost.was_heard) {
                let list = self.list.list.directory().to_owned();
                self.database.try_begin_epoch(stamp, &Lost { list, known, found: newest });
            }
            position.other_history = Some(newest);
            return Ok(Vec::new());
        }
        let entries = entries(&rows[2])?;
        let read = entries.last().map_or(since, |entry| entry.revision);
        let first_of_last = entries.iter().find(|entry| entry.revision == read);
        let attempt = first_of_last.map_or(at_since, |entry| entry.attempt);
        position.read = Some(ReadCommit { revision: read, attempt, epoch: stamp.epoch.clone(), was_heard: false });
        Ok(entries)
    }
}

impl PostgresNamesWatch {
    /// Calls `moved` whenever a list may have been created.
    pub(crate) fn begin(database: &Arc<Database>, moved: Moved) -> Self {
        Self { _following: SeldomFollower::follow(database, Kind::Names, &names_channel(database), moved) }
    }
}

fn names_channel(database: &Database) -> String {
    database.schema.channel("names", "")
}

/// Keeps the entries of the first `most` commits.
fn keep_commits(entries: &mut Vec<Entry>, most: usize) {
    let mut revisions: Vec<Revision> = entries.iter().map(|entry| entry.revision).collect();
    revisions.dedup();
    if let Some(beyond) = revisions.get(most) {
        entries.retain(|entry| entry.revision < *beyond);
    }
}

impl Drop for PostgresListWatch {
    fn drop(&mut self) {
        self.list.remove_follower();
    }
}

impl Watch for PostgresListWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        self.listen();
        if self.list.known().channels.is_none() {
            read_now(&self.database, &self.list)?;
            self.listen();
        }
        // The process polls for all followers and calls them.
        Ok(None)
    }
}

impl ListWatch for PostgresListWatch {
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        if let Some(entries) = self.recent(query) {
            return Ok(entries);
        }
        let directory = self.list.list.directory();
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
        Ok(None)
    }
}

/// A snapshot of a list, and the list as kept in memory.
#[derive(Debug)]
pub(super) struct PostgresSnapshot {
    then: StateSnapshot,
    now: Arc<KnownList>,
    database: Arc<Database>,
    rules: Rules,
}

impl PostgresSnapshot {
    /// Reads the list and returns a snapshot.
    pub(super) fn take(database: &Arc<Database>, list: Arc<KnownList>, rules: Rules) -> Result<Self, StoreError> {
        let then = StateSnapshot { state: read(database, &list)? };
        Ok(Self { then, now: list, database: Arc::clone(database), rules })
    }

    /// Returns a snapshot of what is in memory, or `None` if nothing valid is.
    pub(super) fn recollect(database: &Arc<Database>, list: Arc<KnownList>, rules: Rules) -> Option<Self> {
        let state = list.known().found()?.state;
        Some(Self { then: StateSnapshot { state }, now: list, database: Arc::clone(database), rules })
    }
}

impl Snapshot for PostgresSnapshot {
    fn exists(&self) -> Result<bool, StoreError> {
        self.then.exists()
    }

    fn revision(&self) -> Revision {
        self.then.revision()
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        self.then.find(id)
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        self.then.tasks()
    }

    fn live(&self) -> Result<Option<LiveView<'_>>, StoreError> {
        // Reading the snapshot also observed the server's clock.
        Ok(Some(self.now.live(self.rules, self.database.clock.now_in_transaction().wall)))
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        self.then.problems()
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.then.leases()
    }

    fn is_recorded(&self) -> bool {
        true
    }
}

/// Returns whether a list exists, without reading it. Lists are never removed once created.
pub(super) fn exists(database: &Database, list: &KnownList) -> Result<bool, StoreError> {
    let (doing, directory) = ("look for a list", list.list.directory());
    if list.known().state.exists || database.number.has_found(directory) {
        return Ok(true);
    }
    let rows = database.read(doing, || vec![existence(database, directory)])?;
    let found = rows.map_or(Ok(false), |rows| is_there(&rows[0]));
    found.map_err(|failure| failure.into_store_error(database.shown(), doing))
}

/// Returns the query for whether a list exists.
pub(super) fn existence(database: &Database, directory: &str) -> Statement {
    database.statement("SELECT revision > 0, moved FROM @.lists WHERE directory = $1").text(directory)
}

/// Reads the result. Fails if the list has moved to another store.
pub(super) fn is_there(rows: &[Row]) -> Result<bool, Failure> {
    let Some(row) = rows.first() else { return Ok(false) };
    must_be_here(row, 1)?;
    Ok(row.try_get(0)?)
}

/// Reads a list without a lock. One that does not exist is empty. A call that has confirmed the list recently gets
/// the same state again.
pub(super) fn read(database: &Database, list: &KnownList) -> Result<Arc<ListState>, StoreError> {
    let is_current = database.number.confirmed_call().is_some_and(|call| list.is_confirmed_in(call));
    // A separate statement, so that the lock is not held while the database is queried.
    let found = list.known().found();
    match found.filter(|_| is_current) {
        Some(found) => Ok(found.state),
        None => read_now(database, list),
    }
}

/// Like [`read`], but always queries the database.
pub(super) fn read_now(database: &Database, list: &KnownList) -> Result<Arc<ListState>, StoreError> {
    let directory = list.list.directory();
    let (doing, mut is_read_anew) = ("read a list", false);
    loop {
        let asked = RefCell::new(Asked::Everything);
        let answers = database.read_stamped(doing, || {
            if !is_read_anew {
                *asked.borrow_mut() = Asked::beyond(&list.known());
            }
            let standing = database.statement(&format!("SELECT {STANDING} FROM @.lists WHERE directory = $1"));
            let mut all = vec![standing.text(directory)];
            all.extend(questions(database, directory, &asked.borrow()));
            all.extend(database.overdue_heartbeats());
            all
        })?;
        let asked = asked.into_inner();
        let Some((rows, stamp)) = answers else {
            list.known().forget();
            return Ok(Arc::clone(&list.known().state));
        };
        if rows[0].is_empty() {
            if let Some(lost) = forget(list, &asked) {
                database.try_begin_epoch(&stamp, &lost);
            }
            return Ok(Arc::clone(&list.known().state));
        }
        let learnt = learn_heartbeats(database, &rows);
        let taken = learnt.and_then(|()| take_in(list, &asked, &stamp, [&rows[0], &rows[1], &rows[2]], Reader::Looks));
        match taken.map_err(|failure| failure.into_store_error(database.shown(), doing))? {
            Taken::In(found) => {
                list.confirm_in(database.number.confirmed_call());
                return Ok(found.state);
            }
            Taken::TooMuch => is_read_anew = true,
            // Query again, so that the answer belongs to the new epoch.
            Taken::OtherHistory(lost) => {
                is_read_anew = true;
                if let Some(lost) = lost {
                    database.try_begin_epoch(&stamp, &lost);
                }
            }
        }
    }
}
