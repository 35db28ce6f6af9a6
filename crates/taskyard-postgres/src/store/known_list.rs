//! What this process knows of a list, and the ties between its tasks.

use std::collections::{BTreeSet, HashMap};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskyard::core::live::LiveList;
use taskyard::core::{AttemptId, Entry, ListId, Rules, Task, TaskId, Timestamp};
use taskyard::store::LiveView;
use taskyard::store::kit::{Commit, Home, Kept, ListState, key_of};
use tokio_postgres::Row;

use crate::connecting::{Column, Failure, Statement, TakesNoConnection};
use crate::database::Database;
use crate::server_clock::Epoch;
use crate::store::change_rows::{image, storable};
use crate::store::new_commits::{Extent, RecentCommits, UnconfirmedChanges};

/// When this many lists are known, those that no caller has open are dropped.
const MOST: usize = 256;

static NEXT_THREAD: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The number of this thread.
    static THREAD: u64 = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
}

/// A list as this process knows it, shared by all its readers and writers.
#[derive(Debug)]
pub(super) struct KnownList {
    pub(super) list: ListId,
    /// The queue of this process's threads that want to write to it.
    pub(super) queue: WritersQueue,
    known: Mutex<Known>,
    /// The number of the thread that has locked `known`; 0 if none.
    locked_by: AtomicU64,
    /// When a caller last requested it.
    asked: Mutex<Instant>,
    /// The number of followers in this process. While there are any, the newest commits are kept in memory.
    followers: AtomicUsize,
    /// Whether a notification said that the database may have newer changes.
    has_gap: AtomicBool,
    /// Held by the follower that closes the gap; the others wait for what it reads.
    closing_gap: Mutex<()>,
    /// The number of the call in which it was last confirmed to be current.
    confirmed_in: AtomicU64,
}

/// A list at a revision, and what identifies the history it was read from.
#[derive(Debug)]
pub(super) struct Known {
    /// The list's number in the database; `None` until it is found there.
    pub(super) id: Option<i64>,
    pub(super) state: Arc<ListState>,
    /// The commit of the newest revision; `None` before the first.
    pub(super) head: Option<AttemptId>,
    /// The number of lease changes included.
    pub(super) lease_version: i64,
    /// The epoch in which all this was read; `None` if it is not valid any more.
    pub(super) epoch: Option<Epoch>,
    /// The task graph, once a caller has asked for it. Kept up to date with the list.
    live: Option<LiveList>,
    /// The newest commits, while the list is followed.
    pub(super) recent: RecentCommits,
    /// The channels that announce commits; `None` until the list is found.
    pub(super) channels: Option<Channels>,
    /// Whether the ties of its tasks are in the database.
    pub(super) has_ties: bool,
    /// Changes that were announced but not read; `None` if everything was read.
    heard: Option<UnconfirmedChanges>,
}

/// The channels that announce commits to a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Channels {
    /// Known to the roles that may read the list. Announces that something happened, but not what.
    pub(super) readers: String,
    /// Known to the roles that may write to the list; `None` for other roles. Announces the contents of commits.
    pub(super) writers: Option<String>,
}

/// A list as a query found it.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The list's number in the database.
    pub(super) id: i64,
    pub(super) state: Arc<ListState>,
    /// The commit of the newest revision; `None` before the first.
    pub(super) head: Option<AttemptId>,
    /// The number of lease changes included.
    pub(super) lease_version: i64,
    pub(super) epoch: Epoch,
    /// Whether the ties of its tasks are in the database.
    pub(super) has_ties: bool,
    /// The channels that announce commits.
    pub(super) channels: Channels,
}

/// The lock on what is known of a list. A thread that locks it twice, or that waits for a connection while holding
/// it, would deadlock; both panic instead.
#[derive(Debug)]
pub(super) struct KnownGuard<'a> {
    locked_by: &'a AtomicU64,
    known: MutexGuard<'a, Known>,
    _no_connection: TakesNoConnection,
}

impl Deref for KnownGuard<'_> {
    type Target = Known;

    fn deref(&self) -> &Known {
        &self.known
    }
}

impl DerefMut for KnownGuard<'_> {
    fn deref_mut(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl Drop for KnownGuard<'_> {
    fn drop(&mut self) {
        self.locked_by.store(0, Ordering::Relaxed);
    }
}

/// A locked list whose task graph is being queried.
struct Standing<'a>(KnownGuard<'a>);

impl Deref for Standing<'_> {
    type Target = LiveList;

    fn deref(&self) -> &LiveList {
        self.0.live.as_ref().expect("it was made before it was handed out")
    }
}

impl KnownList {
    fn new(list: ListId, shown: &str) -> Self {
        let home = Home::Images(PathBuf::from(shown).join(list.directory()));
        let known = Mutex::new(Known::nothing(home));
        Self {
            list,
            queue: WritersQueue::default(),
            known,
            locked_by: AtomicU64::new(0),
            asked: Mutex::new(Instant::now()),
            followers: AtomicUsize::new(0),
            has_gap: AtomicBool::new(false),
            closing_gap: Mutex::default(),
            confirmed_in: AtomicU64::new(0),
        }
    }

    /// Adds a follower. Its first read queries the database, since it has not read anything yet.
    pub(super) fn add_follower(&self) {
        self.followers.fetch_add(1, Ordering::SeqCst);
        self.note_gap();
    }

    pub(super) fn remove_follower(&self) {
        self.followers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns whether this process follows the list.
    pub(super) fn is_followed(&self) -> bool {
        self.followers.load(Ordering::SeqCst) > 0
    }

    /// Records that the database may have newer changes.
    pub(super) fn note_gap(&self) {
        self.has_gap.store(true, Ordering::SeqCst);
    }

    /// Reads newer changes if the database may have some. Other followers wait in the meantime.
    pub(super) fn close_gap<E>(&self, read: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let _closing = self.closing_gap.lock().unwrap_or_else(PoisonError::into_inner);
        // Reset before reading, so that a notification during the read causes another one.
        if !self.has_gap.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        read().inspect_err(|_| self.note_gap())
    }

    /// Records the call that found the list to be current.
    pub(super) fn confirm_in(&self, call: Option<u64>) {
        self.confirmed_in.store(call.unwrap_or(0), Ordering::SeqCst);
    }

    /// Returns whether this call has found the list to be current. Only that call may rely on it.
    pub(super) fn is_confirmed_in(&self, call: u64) -> bool {
        self.confirmed_in.load(Ordering::SeqCst) == call
    }

    /// Locks what is known. While holding the guard, this thread must not query the database or lock it again.
    pub(super) fn known(&self) -> KnownGuard<'_> {
        let this_thread = THREAD.with(|number| *number);
        // Only this thread ever writes its own number, so a stale value can only be another thread's.
        let is_ours = self.locked_by.load(Ordering::Relaxed) == this_thread;
        assert!(!is_ours, "a thread that has list `{}` in memory locked must not lock it again", self.list);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.locked_by.store(this_thread, Ordering::Relaxed);
        KnownGuard { locked_by: &self.locked_by, known, _no_connection: TakesNoConnection::new() }
    }

    /// Returns the list as currently known, with its task graph at a time of the server's clock.
    pub(super) fn live(&self, rules: Rules, now: Timestamp) -> LiveView<'_> {
        let mut known = self.known();
        known.judge(rules, now);
        let revision = known.state.revision;
        LiveView::new(Standing(known), revision)
    }

    /// Like [`live`](Self::live), for the holder of the row lock; returns `None` if what is in memory is no longer
    /// what it found.
    pub(super) fn live_as(&self, found: &Found, rules: Rules, now: Timestamp) -> Option<LiveView<'_>> {
        let mut known = self.known();
        let is_same = known.state.revision == found.state.revision
            && known.head == found.head
            && known.epoch.as_ref().is_some_and(|epoch| epoch.is(&found.epoch));
        is_same.then(|| {
            known.judge(rules, now);
            LiveView::new(Standing(known), found.state.revision)
        })
    }

    fn asked(&self) -> MutexGuard<'_, Instant> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn nothing(home: Home) -> Self {
        let state = Arc::new(ListState { home, ..ListState::default() });
        let recent = RecentCommits::default();
        let (id, head, epoch, live, channels, heard) = Default::default();
        Self { id, state, head, lease_version: 0, epoch, live, recent, channels, has_ties: false, heard }
    }

    /// Returns a list that was read completely.
    pub(super) fn read(found: Found) -> Self {
        let Found { id, state, head, lease_version, epoch, has_ties, channels } = found;
        let (recent, id, epoch) = (RecentCommits::after(state.revision, head), Some(id), Some(epoch));
        let (live, channels, heard) = (None, Some(channels), None);
        Self { id, state, head, lease_version, epoch, live, recent, channels, has_ties, heard }
    }

    /// Returns the extent of what is known, including announced changes.
    pub(super) fn extent(&self) -> Extent {
        Extent { revision: self.state.revision, head: self.head, lease_version: self.lease_version }
    }

    /// Returns the extent of what was read.
    pub(super) fn extent_read(&self) -> Extent {
        self.heard.as_ref().map_or_else(|| self.extent(), |heard| heard.read)
    }

    /// Returns the changes that were announced but not read.
    pub(super) fn heard(&self) -> Option<&UnconfirmedChanges> {
        self.heard.as_ref()
    }

    /// Applies an announced commit; `lease_version` is the count of lease changes after it. Returns false without
    /// changing anything if the commit must be read instead.
    pub(super) fn hear(&mut self, commit: Commit, lease_version: i64, is_followed: bool) -> bool {
        let read = self.extent();
        let heard = self.heard.get_or_insert_with(|| UnconfirmedChanges::after(read, &self.state));
        if !heard.has_room_for(commit.entries.len()) {
            return false;
        }
        heard.note(&commit, lease_version, &self.state);
        self.change(commit.entries.iter().map(|entry| &entry.task), |state| state.apply(&commit));
        self.lease_version = lease_version;
        if let Some(first) = commit.entries.first() {
            self.head = first.attempt;
            self.note_recent(commit.entries, is_followed);
        }
        true
    }

    /// Records that all announced changes were found in the database.
    pub(super) fn note_heard_is_read(&mut self) {
        self.heard = None;
    }

    /// Takes back changes that were announced but not read.
    pub(super) fn unhear(&mut self) {
        let Some(heard) = self.heard.take() else { return };
        let (read, tasks) = (heard.read, heard.tasks());
        tracing::warn!(
            revision = self.state.revision.0,
            "a notification told of a commit that the database does not have"
        );
        self.change(&tasks, |state| heard.take_back(state));
        (self.head, self.lease_version) = (read.head, read.lease_version);
        self.recent.skip_to(read.revision, read.head);
    }

    /// Invalidates what is known, so that the list is read again. Until then, callers see its last state.
    pub(super) fn distrust(&mut self) {
        self.epoch = None;
    }

    pub(super) fn forget(&mut self) {
        *self = Self::nothing(self.state.home.clone());
    }

    /// Returns the list, or `None` if it has not been found or is not valid.
    pub(super) fn found(&self) -> Option<Found> {
        let (state, epoch, channels) = (Arc::clone(&self.state), self.epoch.clone()?, self.channels.clone()?);
        let Self { head, lease_version, has_ties, .. } = *self;
        Some(Found { id: self.id?, state, head, lease_version, epoch, has_ties, channels })
    }

    /// Changes the list. `tasks` are those that the change may affect.
    pub(super) fn change<'a, T>(
        &mut self,
        tasks: impl IntoIterator<Item = &'a TaskId>,
        change: impl FnOnce(&mut ListState) -> T,
    ) -> T {
        // A reader that uses the current state keeps its copy.
        let changed = change(Arc::make_mut(&mut self.state));
        if let Some(live) = &mut self.live {
            for id in tasks {
                match self.state.tasks.get(id).map(|kept| (&kept.task, &kept.image)) {
                    Some((Ok(task), image)) => live.put_read(task, image.clone()),
                    Some((Err(_), _)) | None => live.remove(id),
                }
            }
        }
        changed
    }

    /// Keeps an applied commit for followers.
    pub(super) fn note_recent(&mut self, entries: Vec<Entry>, is_followed: bool) {
        match is_followed {
            true => self.recent.push(entries),
            false => self.recent.skip_to(self.state.revision, self.head),
        }
    }

    /// Builds the task graph if it is not known yet.
    fn judge(&mut self, rules: Rules, now: Timestamp) {
        let state = &self.state;
        let live = self.live.get_or_insert_with(|| {
            let mut live = LiveList::new(rules);
            for kept in state.tasks.values() {
                if let Ok(task) = &kept.task {
                    live.put_read(task, kept.image.clone());
                }
            }
            live
        });
        live.judge(now);
    }
}

/// All lists that this process has used.
#[derive(Debug)]
pub(super) struct KnownLists {
    by_directory: Mutex<HashMap<String, Arc<KnownList>>>,
    looked_through: Mutex<Instant>,
    keeps: Duration,
}

impl KnownLists {
    /// Returns an empty cache that drops lists which no caller has requested for `keeps`.
    pub(super) fn that_keeps(keeps: Duration) -> Self {
        Self { by_directory: Mutex::default(), looked_through: Mutex::new(Instant::now()), keeps }
    }

    fn by_directory(&self) -> MutexGuard<'_, HashMap<String, Arc<KnownList>>> {
        self.by_directory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, list: &ListId, shown: &str) -> Arc<KnownList> {
        let mut lists = self.by_directory();
        let is_full = lists.len() >= MOST && !lists.contains_key(list.directory());
        if is_full || self.is_time_to_look_through() {
            // A caller that uses one of them again reads it from the database.
            lists.retain(|_, known| Arc::strong_count(known) > 1 || (!is_full && known.asked().elapsed() < self.keeps));
        }
        let new = || Arc::new(KnownList::new(list.clone(), shown));
        let known = Arc::clone(lists.entry(list.directory().to_owned()).or_insert_with(new));
        *known.asked() = Instant::now();
        known
    }

    /// Returns the lists that are in memory.
    pub(super) fn kept(&self) -> Vec<ListId> {
        self.by_directory()
            .values()
            .filter(|known| known.known().id.is_some())
            .map(|known| known.list.clone())
            .collect()
    }

    fn is_time_to_look_through(&self) -> bool {
        let mut looked_through = self.looked_through.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = looked_through.elapsed() >= self.keeps / 4;
        if is_time {
            *looked_through = Instant::now();
        }
        is_time
    }
}

/// The columns of a task, in the order they are read.
pub(super) const COLUMNS: &str = "t.task, t.image, t.raw";

/// Returns the query for tasks, the tasks they are tied to (dependents, blockers, parents and subtasks), and the
/// tasks that these name. Returns all tasks if the list's ties are not recorded.
pub(super) fn question_around(database: &Database, directory: &str, tasks: &[TaskId]) -> Statement {
    let sql = format!(
        "WITH this AS (SELECT id, has_ties FROM @.lists WHERE directory = $1),
        near AS (
            SELECT unnest($2) AS task
            UNION SELECT s.task FROM @.ties s WHERE s.list = (SELECT id FROM this) AND s.target = ANY($2)
            UNION SELECT s.target FROM @.ties s WHERE s.list = (SELECT id FROM this) AND s.task = ANY($2)),
        far AS (
            SELECT task FROM near UNION SELECT s.target FROM @.ties s
            WHERE s.list = (SELECT id FROM this) AND s.task = ANY(ARRAY(SELECT task FROM near)))
        SELECT {COLUMNS} FROM @.tasks t WHERE (SELECT has_ties FROM this)
            AND t.list = (SELECT id FROM this) AND t.task = ANY(ARRAY(SELECT task FROM far))
        UNION ALL
        SELECT {COLUMNS} FROM @.tasks t WHERE NOT (SELECT has_ties FROM this) AND t.list = (SELECT id FROM this)"
    );
    let names = tasks.iter().map(|task| storable(key_of(task).as_str())).collect();
    database.statement(&sql).text(directory).texts(names)
}

/// Returns the condition that a task is named in `$2`, or connected to such a task by the ties of the list with this
/// number.
pub(super) fn is_connected(list: &str) -> String {
    format!(
        "t.task = ANY(ARRAY(WITH RECURSIVE connected AS (
            SELECT unnest($2) AS task
            UNION
            SELECT n.task FROM connected c CROSS JOIN LATERAL (
                SELECT s.task FROM @.ties s WHERE s.list = {list} AND s.target = c.task
                UNION ALL SELECT s.target FROM @.ties s WHERE s.list = {list} AND s.task = c.task) n)
        SELECT task FROM connected))"
    )
}

/// Changes of ties. Each is a pair of the task that is named and the task that names it.
#[derive(Debug, Default)]
pub(super) struct ChangedTies {
    added: Vec<(String, String)>,
    removed: Vec<(String, String)>,
}

impl ChangedTies {
    /// Adds the changes of one task's ties.
    pub(super) fn note(&mut self, id: &TaskId, before: Option<&Task>, after: Option<&Task>) {
        let (before, after) = (before.map(targets).unwrap_or_default(), after.map(targets).unwrap_or_default());
        let tie = |target: &String| (target.clone(), storable(id.as_str()));
        self.added.extend(after.difference(&before).map(tie));
        self.removed.extend(before.difference(&after).map(tie));
    }

    /// Returns the statements that write them.
    pub(super) fn statements(self, database: &Database, list: i64) -> Vec<Statement> {
        let added = "INSERT INTO @.ties (list, target, task) SELECT $1, new.* FROM ROWS AS new ON CONFLICT DO NOTHING";
        let removed = "DELETE FROM @.ties t USING ROWS AS old (target, task)
            WHERE t.list = $1 AND t.target = old.target AND t.task = old.task";
        let all = [(removed, self.removed), (added, self.added)];
        let statement = |(sql, ties): (&str, Vec<(String, String)>)| {
            let (targets, tasks) = ties.into_iter().unzip();
            let columns = vec![Column::Texts(targets), Column::Texts(tasks)];
            database.statement(sql).number(list).rows(columns)
        };
        all.into_iter().filter(|(_, ties)| !ties.is_empty()).map(statement).collect()
    }
}

/// Returns the tasks that a task names: its blockers, its dependents and its parent.
fn targets(task: &Task) -> BTreeSet<String> {
    let edges = task.blocked_by.iter().chain(&task.blocks).cloned();
    edges.chain(task.parent()).map(|id| storable(id.as_str())).collect()
}

pub(super) fn read_tasks(rows: &[Row]) -> Result<Vec<Arc<Kept>>, Failure> {
    let mut tasks = Vec::with_capacity(rows.len());
    for row in rows {
        let id = TaskId::stored(row.try_get::<_, &str>(0)?);
        tasks.extend(image(row, 1)?.map(|image| Kept::new(id, image)));
    }
    Ok(tasks)
}

/// The queue of this process's threads that want to write to a list.
#[derive(Debug, Default)]
pub(super) struct WritersQueue {
    pub(super) is_taken: Mutex<bool>,
    pub(super) free: Condvar,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use taskyard::core::ListId;

    use super::{KnownList, KnownLists, MOST};

    fn list(lists: &KnownLists, name: &str) -> Arc<KnownList> {
        lists.get(&ListId::new(name).unwrap(), "shown")
    }

    #[test]
    fn gap_is_closed_once_and_stays_if_reading_failed() {
        let known = list(&KnownLists::that_keeps(Duration::MAX), "L");
        let mut reads = 0;
        let mut close = |result: Result<(), ()>| {
            let mut was_read = false;
            let closed = known.close_gap(|| {
                was_read = true;
                result
            });
            reads += usize::from(was_read);
            (closed, reads)
        };
        assert_eq!(close(Ok(())), (Ok(()), 0), "nothing is newer");
        known.add_follower();
        assert_eq!(close(Err(())), (Err(()), 1));
        assert_eq!(close(Ok(())), (Ok(()), 2));
        assert_eq!(close(Ok(())), (Ok(()), 2));
    }

    #[test]
    fn list_that_a_caller_has_open_is_never_forgotten() {
        let lists = KnownLists::that_keeps(Duration::ZERO);
        let open = list(&lists, "open");
        let closed = Arc::downgrade(&list(&lists, "closed"));
        assert!(Arc::ptr_eq(&open, &list(&lists, "open")));
        assert!(closed.upgrade().is_none());
    }

    #[test]
    fn memory_for_lists_nobody_has_open_is_limited() {
        let lists = KnownLists::that_keeps(Duration::MAX);
        for number in 0..=MOST {
            list(&lists, &format!("list-{number}"));
        }
        assert!(lists.by_directory().len() <= MOST);
    }

    #[test]
    #[should_panic(expected = "must not lock it again")]
    fn thread_that_locks_a_list_twice_panics() {
        let known = list(&KnownLists::that_keeps(Duration::MAX), "L");
        let _first = known.known();
        drop(known.known());
    }
}

#[cfg(test)]
mod ties_tests {
    use taskyard::core::{Task, TaskId};

    use super::ChangedTies;

    fn task(blocked_by: &[u64], blocks: &[u64]) -> Task {
        let mut task = Task::new(TaskId::number(1), "A");
        task.blocked_by = blocked_by.iter().map(|number| TaskId::number(*number)).collect();
        task.blocks = blocks.iter().map(|number| TaskId::number(*number)).collect();
        task
    }

    fn changed(before: Option<&Task>, after: Option<&Task>) -> [String; 2] {
        let mut ties = ChangedTies::default();
        ties.note(&TaskId::number(1), before, after);
        assert!(ties.added.iter().chain(&ties.removed).all(|(_, task)| task == "1"));
        [ties.added, ties.removed].map(|ties| ties.into_iter().map(|(target, _)| target).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn only_ties_that_changed_are_written() {
        let (before, after) = (task(&[2, 3], &[4]), task(&[3, 5], &[4, 2]));
        assert_eq!(changed(Some(&before), Some(&after)), ["5", ""]);
        assert_eq!(changed(Some(&after), Some(&task(&[], &[4]))), ["", "2 3 5"]);
        assert_eq!(changed(None, Some(&before)), ["2 3 4", ""]);
        assert_eq!(changed(Some(&before), None), ["", "2 3 4"]);
    }
}
