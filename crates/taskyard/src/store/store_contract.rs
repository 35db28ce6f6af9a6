//! The contract that every store implements: reading, transactions, watching, and the clock for leases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Debug;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::dialect::native::Unreadable;
use taskyard_core::live::LiveList;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{
    AgentName, AttemptId, Entry, Event, Holder, Image, Lease, ListId, Moment, Op, Remark, Revision, Task, TaskId,
    Timestamp,
};

use super::moving::new_attempt;
use super::{
    FileCare, HistoryPages, HistoryQuery, HistorySource, LastEntry, ListMoving, Moved, Occupant, SharedCare, StoreError,
};
use crate::system;

/// A collection of task lists, each with a journal.
///
/// **Callers** may rely on the following. [`Store::read`] takes no lock and never waits for a writer; a snapshot shows
/// our own commits only as a whole. [`Store::write`] waits for its turn; between its return and the commit, no other
/// Taskyard process has a `Txn` on that list. A commit happens entirely or not at all, even if a process dies; once it
/// has returned, it survives a crash of the process and of the machine.
///
/// **Implementers** may return [`StoreError::Conflict`] from a commit if another writer changed what the transaction
/// read: nothing has happened, and the caller starts over. If a commit returns [`StoreError::Unavailable`], the caller
/// cannot tell whether it happened: it opens the list again and looks up its attempt in the journal. Once a commit
/// exists, the only error returned is [`StoreError::Unfinished`], which is never returned before. Failing to look is
/// also an error and never means "does not exist". A list may contain entries that cannot be read as tasks; these are
/// [`UnreadableTask`]s, and a commit never overwrites them.
pub trait Store: Debug + Send + Sync {
    /// Returns the current time of the clock that lease times are based on.
    fn now(&self) -> Result<Moment, StoreError>;

    /// Returns all lists, sorted by name.
    fn lists(&self) -> Result<Vec<ListInfo>, StoreError>;

    /// Returns at most `most` lists, sorted by name, starting after `behind`. A store may be able to do this faster
    /// than listing all.
    fn some_lists(&self, behind: Option<&ListId>, most: usize) -> Result<Vec<ListInfo>, StoreError> {
        let mut lists = self.lists()?;
        lists.retain(|info| behind.is_none_or(|behind| info.list > *behind));
        lists.truncate(most);
        Ok(lists)
    }

    /// Reads a list without taking a lock. A list that does not exist reads as empty.
    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError>;

    /// Returns a list as this process last saw it, without any I/O, or `None` if the store does not keep this list in
    /// memory. Use it before opening a transaction, which reevaluates the decision, or while following the list, which
    /// keeps the view current.
    fn recollect(&self, _list: &ListId) -> Option<Box<dyn Snapshot + '_>> {
        None
    }

    /// Begins an agent's call on this thread: a short series of related reads and changes. The store may answer each
    /// read from one point in time since the call began, and needs to query its backend only once. Returns `None` if
    /// the store does not use this, or if a call is already in progress.
    fn begin_call(&self, _expected: ExpectedReads) -> Option<Box<dyn StoreCall>> {
        None
    }

    /// Returns whether transactions in this thread's call load tasks on demand. If so, reading the whole list
    /// beforehand costs more than waiting for the lock it might avoid.
    fn reads_on_demand(&self, _list: &ListId) -> bool {
        false
    }

    /// Reads, without a lock, at least one task and the tasks linked to it: its blockers, parent, subtasks and
    /// dependents. Returns `None` if the store would have to read the whole list.
    fn read_around(&self, _list: &ListId, _task: &TaskId) -> Result<Option<Unpacked>, StoreError> {
        Ok(None)
    }

    /// Returns whether a list exists. A store may know this without reading the list.
    fn has(&self, list: &ListId) -> Result<bool, StoreError> {
        self.read(list)?.exists()
    }

    /// Opens a transaction, waiting for other writers. Dropping it without a commit discards everything.
    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError>;

    /// Like [`Store::write`], but fails with [`StoreError::Busy`] after waiting for `patience`.
    fn write_within(&self, list: &ListId, patience: Duration) -> Result<Box<dyn Txn + '_>, StoreError> {
        let by = || Occupant::Elsewhere { who: "another process".to_owned() };
        wait_for_turn(patience, || self.try_write(list), |waited| StoreError::Busy { by: by(), waited })
    }

    /// Opens a transaction, or returns `None` without waiting if another writer has one.
    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError>;

    /// Opens a transaction over two lists, for moving tasks between them. It commits on both or on neither.
    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError>;

    /// Returns the journal, oldest entry first. To read a large part of it, use pages ([`HistoryPages`]).
    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;

    /// Returns the last journal entry about each task, sorted by task and without the task's contents. A store may be
    /// able to do this faster than reading the journal.
    fn last_entries(&self, list: &ListId) -> Result<Vec<LastEntry>, StoreError> {
        let mut last = BTreeMap::new();
        for page in HistoryPages::of(self, list, HistoryQuery::default())? {
            last.extend(page?.iter().map(LastEntry::of).map(|entry| (entry.task.clone(), entry)));
        }
        Ok(last.into_values().collect())
    }

    /// Prepares to call `moved` whenever the journal of a list may have grown; watching starts with [`Watch::keep_up`].
    /// Changes by other programs are also commits.
    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError>;

    /// Returns the names of all lists.
    fn list_names(&self) -> Result<BTreeSet<ListId>, StoreError> {
        Ok(self.lists()?.into_iter().map(|info| info.list).collect())
    }

    /// Prepares to call `moved` whenever a list may have been created or removed; watching starts with
    /// [`Watch::keep_up`]. A store without such notifications is polled.
    fn watch_names(&self, _moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        Ok(Box::new(Untold))
    }

    /// Extends leases to the given expiry times, each only if it still exists with the same token. Does not wait for
    /// transactions and is not a commit.
    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError>;

    /// Returns the store's optional capabilities. A store that wraps another returns those of the inner store.
    fn capabilities(&self) -> Capabilities<'_>;

    /// Returns the operations that only file-backed stores have; `None` for other stores.
    fn care(&self) -> Option<&dyn FileCare> {
        self.capabilities().files
    }

    /// Returns the operations that only stores shared by several machines have; `None` for other stores.
    fn shared_care(&self) -> Option<&dyn SharedCare> {
        self.capabilities().shared
    }

    /// Returns the operations for moving whole lists between stores; `None` if this store cannot send or receive lists
    /// with their history.
    fn moving(&self) -> Option<&dyn ListMoving> {
        self.capabilities().moving
    }
}

/// Optional capabilities of a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capabilities<'a> {
    /// Operations of file-backed stores.
    pub files: Option<&'a dyn FileCare>,
    /// Operations of stores shared by several machines.
    pub shared: Option<&'a dyn SharedCare>,
    /// Operations for moving whole lists to other stores.
    pub moving: Option<&'a dyn ListMoving>,
}

/// What a call is expected to read first. A store may prefetch it along with the first query.
#[derive(Clone, Debug, Default)]
pub struct ExpectedReads {
    /// The list.
    pub list: Option<ListId>,
    /// The tasks the call is about, if there are few: a store may then read only these and the tasks linked to them.
    pub tasks: Option<Vec<TaskId>>,
    /// Whether the call opens a transaction and reads the list only inside it.
    pub is_change: bool,
    /// Queries on the list's journal.
    pub journal: Vec<HistoryQuery>,
}

/// A call in progress. Dropping it ends the call.
pub trait StoreCall: Debug {
    /// Verifies, at the end of the call, that what the store answered from memory was valid at some moment during the
    /// call. Returns false if it was not: the call has then changed nothing, its result is void, and the caller repeats
    /// it.
    fn confirm(&self) -> Result<bool, StoreError>;
}

/// A list at one point in time.
pub trait Snapshot: Debug {
    /// Returns whether the list exists. Fails if this cannot be determined.
    fn exists(&self) -> Result<bool, StoreError>;

    /// Returns the newest revision visible in this snapshot.
    fn revision(&self) -> Revision;

    /// Looks up one task.
    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError>;

    /// Returns every readable task in ascending numeric order; tasks without a number come in the store's own order, or
    /// by name.
    fn tasks(&self) -> Result<Vec<Task>, StoreError>;

    /// Returns the tasks blocked by this one, in ascending order: those whose `blocked_by` names it, whether or not its
    /// `blocks` lists them.
    fn waiting_for(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        let mut tasks = self.waiting_for_or_parts(blocker)?;
        tasks.retain(|task| task.blocked_by.contains(blocker));
        Ok(tasks)
    }

    /// Returns, in ascending order, the tasks blocked by this one together with subtasks: at least its own subtasks,
    /// those of its dependents, those of its parent, and the subtasks of all these. A store may be able to do this
    /// faster than reading the whole list.
    fn waiting_for_or_parts(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        let mut tasks = self.tasks()?;
        tasks.retain(|task| task.blocked_by.contains(blocker) || task.parent().is_some());
        Ok(tasks)
    }

    /// Returns at least the open tasks of these owners, ignoring any team part in their names. A store may be able to
    /// do this faster than reading the whole list.
    fn open_tasks_of(&self, _owners: &[&str]) -> Result<Vec<Task>, StoreError> {
        self.tasks()
    }

    /// Returns at least these tasks and all tasks connected to them, directly or indirectly, by dependencies or parent
    /// links. A store may be able to do this faster than reading the whole list.
    fn connected(&self, _tasks: &[TaskId]) -> Result<Vec<Task>, StoreError> {
        self.tasks()
    }

    /// Returns the in-memory list, if the store keeps one; queries on it do not slow down as the list grows. It does
    /// not include staged changes: see [`Snapshot::staged`].
    fn live(&self) -> Result<Option<LiveView<'_>>, StoreError> {
        Ok(None)
    }

    /// Returns the tasks that this transaction has staged to change, create or remove. A store with [`Snapshot::live`]
    /// must implement this.
    fn staged(&self) -> Vec<TaskId> {
        Vec::new()
    }

    /// Returns the entries among the tasks that cannot be read as tasks, sorted by name.
    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError>;

    /// Returns all leases, sorted by task, including expired ones.
    fn leases(&self) -> Result<Vec<Lease>, StoreError>;

    /// Returns whether a dependency on a task that does not exist blocks.
    fn counts_missing(&self) -> bool {
        false
    }

    /// Returns whether everything this snapshot shows is recorded in the journal, so that a journal reader need not
    /// read the list again. A store that cannot tell returns false.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Consumes the snapshot and returns all of its contents. For a large list this is cheaper than the individual
    /// methods.
    fn unpack(self: Box<Self>) -> Result<Unpacked, StoreError> {
        let (tasks, problems, leases) = (self.tasks()?, self.problems()?, self.leases()?);
        let (revision, exists) = (self.revision(), self.exists()?);
        let recorded = self.is_recorded().then_some(revision);
        Ok(Unpacked { tasks, problems, leases, revision, exists, recorded })
    }
}

/// The full contents of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Unpacked {
    /// Every readable task, in ascending order.
    pub tasks: Vec<Task>,
    /// Entries that cannot be read as tasks, sorted by name.
    pub problems: Vec<UnreadableTask>,
    /// All leases, including expired ones.
    pub leases: Vec<Lease>,
    /// The newest revision.
    pub revision: Revision,
    /// Whether the list exists.
    pub exists: bool,
    /// The revision up to which the journal records everything shown; `None` if something may not be recorded yet
    /// ([`Snapshot::is_recorded`]).
    pub recorded: Option<Revision>,
}

/// A write transaction on a list. Reads include what was already staged.
pub trait Txn: Snapshot {
    /// Returns `count` unused ids for new tasks: the next numbers, unless the store has ids of another kind.
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError>;

    /// Returns an id for one new task.
    fn new_id(&self) -> Result<TaskId, StoreError> {
        self.new_ids(1)?.pop().ok_or(StoreError::NoNumberLeft)
    }

    /// Returns whether nothing exists under a task's id, including staged changes.
    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        Ok(matches!(self.find(id)?, Lookup::Missing))
    }

    /// Returns whether another program has written to a task read by this transaction since Taskyard last recorded that
    /// task.
    fn has_met_outside_writes(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Stages a task, replacing an existing one with that id if there is one. Under client rules, each call corresponds
    /// to one write by the client.
    fn put(&mut self, task: Task) -> Result<(), StoreError>;

    /// Stages the exact contents of a task's file, replacing the current contents; used by undo.
    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError>;

    /// Stages a new task. Never replaces anything: if something exists under its id, stages nothing and returns
    /// [`StoreError::Taken`]. If something appears there before the commit, the commit fails with
    /// [`StoreError::Conflict`].
    fn put_new(&mut self, task: Task) -> Result<(), StoreError> {
        match self.is_free(&task.id)? {
            true => self.put(task),
            false => Err(StoreError::Taken { task: task.id }),
        }
    }

    /// Stages the exact file contents of a new task, with the same guarantees as [`Txn::put_new`]; used by restore.
    fn put_new_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        match self.is_free(id)? {
            true => self.put_image(id, image),
            false => Err(StoreError::Taken { task: id.clone() }),
        }
    }

    /// Stages a replacement for an unreadable file that has exactly these contents, or its removal if `_by` is `None`.
    /// The journal keeps the old contents. Only explicit repair commands use this. Returns false and stages nothing if
    /// the contents differ.
    fn replace_broken(&mut self, _id: &TaskId, _broken: &Image, _by: Option<Image>) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Stages the removal of a task. Its number is never reused.
    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError>;

    /// Stages an entry without contents for a task that does not exist: it records that the agent wants the task to
    /// stay deleted, or withdraws that record. Stages nothing if something exists under that id.
    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError>;

    /// Locks the whole list against other programs until the transaction ends, if the store has such a lock. For
    /// callers whose decision depends on the entire list; call it before reading anything. Other Taskyard processes are
    /// already excluded by the transaction itself.
    fn lock_list(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Stages the removal of every task; under client rules, also of every file that looks like one.
    fn clear(&mut self) -> Result<(), StoreError>;

    /// Stages a new lease on a task, replacing any existing one, with a token greater than all earlier tokens. The
    /// lease starts now and expires after its `ttl`, both by the store's clock.
    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError>;

    /// Stages a change to an existing lease.
    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError>;

    /// Stages the end of a task's lease. A lease also ends with any commit, by any agent, that completes its task,
    /// removes it or assigns it to another agent.
    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError>;

    /// Applies everything staged, atomically, and returns the commit as subscribers receive it. If only leases were
    /// staged, nothing is journaled and it returns `None`. Every error except [`StoreError::Unfinished`] and
    /// [`StoreError::Unavailable`] means that nothing has happened.
    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError>;
}

/// A transaction over two lists, for moving tasks between them.
pub trait TxnPair: Debug {
    /// Returns the list that tasks are moved from.
    fn source(&mut self) -> &mut dyn Txn;

    /// Returns the list that tasks are moved to.
    fn target(&mut self) -> &mut dyn Txn;

    /// Applies everything staged to both lists, atomically, and returns the events of the source and the target. If the
    /// source is renamed to the target ([`Op::Rename`]), its history is placed before the commit in the target's
    /// journal, which must have no history, or only history that the source has as well.
    fn commit(self: Box<Self>, signature: &Signature) -> Result<[Option<Event>; 2], StoreError>;
}

/// Parameters of a new lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLease {
    /// The task to lease.
    pub task: TaskId,
    /// The agent that receives the lease.
    pub agent: AgentName,
    /// Time to live without renewal; `None` for no time limit.
    pub ttl: Option<Duration>,
    /// The process or session whose end also ends the lease.
    pub holder: Option<Holder>,
}

/// The author and metadata of a commit.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The acting agent.
    pub actor: AgentName,
    /// The operation recorded in the journal.
    pub op: Op,
    /// The revisions that this commit undoes.
    pub undoes: Vec<Revision>,
    /// Additional information for other agents.
    pub remark: Remark,
    /// Identifies this commit attempt, so that it can be found if the commit's result was lost.
    pub attempt: AttemptId,
}

impl Signature {
    /// Returns the signature for a plain change, with a new attempt id.
    pub fn new(actor: AgentName, op: Op) -> Self {
        Self { actor, op, undoes: Vec::new(), remark: Remark::default(), attempt: new_attempt() }
    }
}

/// Summary of one list in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListInfo {
    /// The name used to open it.
    pub list: ListId,
    /// The path of the list, if it is kept in files.
    pub path: Option<PathBuf>,
    /// Number of pending, in-progress and completed tasks, in this order, without internal tasks.
    pub counts: [usize; 3],
    /// When it last changed.
    pub changed: Option<Timestamp>,
}

impl<S: Store + ?Sized> HistorySource for S {
    fn entries(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.history(list, query)
    }

    fn newest(&self, list: &ListId) -> Result<Revision, StoreError> {
        Ok(self.read(list)?.revision())
    }
}

/// The result of looking up a task id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The task and its exact stored form.
    Found(Box<Task>, Image),
    /// Nothing exists under this id.
    Missing,
    /// An entry that cannot be read as a task.
    Unreadable(UnreadableTask),
}

impl Lookup {
    /// Returns the task, if one was found.
    pub fn task(self) -> Option<Task> {
        match self {
            Self::Found(task, _) => Some(*task),
            Self::Missing | Self::Unreadable(_) => None,
        }
    }
}

/// An entry in a list that cannot be read as a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableTask {
    /// The id it is stored under.
    pub task: TaskId,
    /// The file that contains it.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: Unreadable,
    /// The last known state of the task, shown instead of it.
    pub last_known: Option<Box<Task>>,
    /// Its exact contents, if it was looked up by id and they could be read.
    pub contents: Option<Image>,
}

impl UnreadableTask {
    /// Returns the file name, with the task id appended if the file holds several tasks.
    pub fn file(&self) -> String {
        let name = self.path.file_name().map_or_else(|| self.path.to_string_lossy(), |name| name.to_string_lossy());
        match self.path.file_stem().is_some_and(|stem| stem.to_string_lossy() == self.task.file_stem()) {
            true => name.into_owned(),
            false => format!("{name} (task {})", self.task),
        }
    }

    /// Returns the line that the client logs for such a file.
    pub fn log_line(&self) -> String {
        let Self { task, why, .. } = self;
        match why.is_of_schema() {
            true => format!("[Tasks] Task {task} failed schema validation: {why}"),
            false => format!("[Tasks] Failed to read task {task}: {why}"),
        }
    }

    /// Returns the refusal for a change that this entry prevents.
    pub(crate) fn into_refusal(self) -> Refusal {
        Refusal::Unreadable { task: self.task, path: self.path, why: self.why }
    }
}

/// The current in-memory list. Holding it blocks changes to the list, so use it briefly.
pub struct LiveView<'a> {
    list: Box<dyn Deref<Target = LiveList> + 'a>,
    revision: Revision,
}

impl<'a> LiveView<'a> {
    /// Wraps a list at this revision.
    pub fn new(list: impl Deref<Target = LiveList> + 'a, revision: Revision) -> Self {
        Self { list: Box::new(list), revision }
    }

    /// Returns the newest revision included.
    pub const fn revision(&self) -> Revision {
        self.revision
    }
}

impl Deref for LiveView<'_> {
    type Target = LiveList;

    fn deref(&self) -> &LiveList {
        &self.list
    }
}

impl fmt::Debug for LiveView<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = self.list.len();
        formatter.debug_struct("LiveView").field("revision", &self.revision).field("tasks", &tasks).finish()
    }
}

/// Interval between attempts while a list is busy.
const A_MOMENT: Duration = Duration::from_millis(5);

/// Retries until there is a turn. After `patience`, fails with the error that `busy` returns for the time waited.
pub(in crate::store) fn wait_for_turn<T>(
    patience: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
    busy: impl FnOnce(Duration) -> StoreError,
) -> Result<T, StoreError> {
    let started = Instant::now();
    loop {
        if let Some(turn) = attempt()? {
            return Ok(turn);
        }
        let waited = started.elapsed();
        if waited >= patience {
            return Err(busy(waited));
        }
        thread::sleep(A_MOMENT.min(patience - waited));
    }
}

/// Polling interval for stores without change notifications.
pub(crate) const UNTOLD: Duration = Duration::from_secs(1);

/// A watch for one follower; dropping it ends the watch.
pub trait Watch: Send {
    /// Ensures that every change from now on triggers a notification; spurious notifications are possible. Returns the
    /// interval at which the follower must also poll, or `None` if every change is notified.
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError>;
}

/// A watch on one list; dropping it ends the watch. [`Watch::keep_up`] also records what other programs did to the
/// list.
pub trait ListWatch: Watch {
    /// Returns a part of the journal without reading anything else.
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;

    /// Returns whether the last call of [`Self::entries`] found a different history than the follower has read, because
    /// a database was reset to an earlier state. If so, returns the newest revision of that history, where the follower
    /// continues; that call returned no entries.
    fn other_history(&mut self) -> Option<Revision> {
        None
    }
}

/// A watch for stores without change notifications; the follower polls.
#[derive(Debug)]
pub(crate) struct Untold;

impl Watch for Untold {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(UNTOLD))
    }
}

/// A listener's registration; dropping it ends the subscription.
pub struct Subscription(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Subscription {
    /// Creates a subscription that calls `end` when dropped.
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

/// The clock used for lease times: this machine's clock, or one that a test controls.
#[derive(Clone)]
pub struct StoreClock(Arc<dyn Fn() -> Moment + Send + Sync>);

impl StoreClock {
    /// Creates a clock from a function that returns the current time.
    pub fn new(now: impl Fn() -> Moment + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the current time.
    pub fn now(&self) -> Moment {
        (self.0)()
    }
}

impl Default for StoreClock {
    fn default() -> Self {
        Self::new(system::moment)
    }
}

impl fmt::Debug for StoreClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreClock")
    }
}
