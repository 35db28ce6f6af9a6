//! The contract between the operations and the stores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use taskyard_core::{
    AgentName, AttemptId, Entry, Event, Holder, Image, Lease, ListId, Moment, Op, Remark, Revision, Task, TaskId,
    Timestamp,
};

use super::moving::new_attempt;
use super::waiting::wait_for_turn;
use super::{
    FileCare, HistoryPages, HistoryQuery, HistorySource, LastEntry, ListMoving, ListWatch, LiveView, Lookup, Moved,
    Occupant, SharedCare, StoreError, UnreadableTask, Untold, Watch,
};

/// Keeps task lists, and the journal of each.
///
/// **Callers** may rely on this: [`Store::read`] takes no lock and never waits for a writer; what a snapshot shows of our own
/// commits is whole commits. [`Store::write`] waits for its turn; between its return and the commit no other `Txn` of any
/// process of ours exists on that list. A commit happens entirely or not at all, whatever dies; once it has returned it
/// survives the death of the process and of the machine.
///
/// **Implementers** may answer [`StoreError::Conflict`] from a commit when another writer changed what the transaction read: nothing has
/// happened then, and the caller starts over. Where they answer [`StoreError::Unavailable`] from a commit no caller can tell whether it
/// happened: the caller opens the list again and asks the journal for its attempt. Once a commit exists, the only error they answer is
/// [`StoreError::Unfinished`], and they never answer it before; "cannot look" is an error, too, and never "is not there". They may keep lists that hold things no task can be read
/// from; those are [`UnreadableTask`]s, and are never overwritten by a commit.
pub trait Store: Debug + Send + Sync {
    /// Returns the moment it is by the clock that leases are given and end by.
    fn now(&self) -> Result<Moment, StoreError>;

    /// Returns every list there is, by name.
    fn lists(&self) -> Result<Vec<ListInfo>, StoreError>;

    /// Returns so many lists at most, by name, those behind another. A store may find them in less time than it takes to look at all.
    fn some_lists(&self, behind: Option<&ListId>, most: usize) -> Result<Vec<ListInfo>, StoreError> {
        let mut lists = self.lists()?;
        lists.retain(|info| behind.is_none_or(|behind| info.list > *behind));
        lists.truncate(most);
        Ok(lists)
    }

    /// Looks at a list without a lock. A list that does not exist reads as an empty one.
    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError>;

    /// Returns a list as this process last saw it, without asking anybody; `None` if the store keeps no lists in memory, or not this one.
    /// It is for callers that go on to open a transaction, which judges anew, and for callers that follow the list: what they follow is
    /// kept up to date.
    fn recollect(&self, _list: &ListId) -> Option<Box<dyn Snapshot + '_>> {
        None
    }

    /// Begins a call of an agent on this thread: a few questions and changes that belong together and take a moment. The store may answer
    /// each question by what was so at one moment since the call began, and need not be asked twice. `None` if it has no use for
    /// knowing, or a call has begun.
    fn begin_call(&self, _expected: ExpectedReads) -> Option<Box<dyn StoreCall>> {
        None
    }

    /// Tells whether transactions of this thread's call read tasks when they are asked for. Then a look at the whole list beforehand costs
    /// more than the wait for a lock that it may save.
    fn reads_on_demand(&self, _list: &ListId) -> bool {
        false
    }

    /// Looks without a lock at one task and at least what it is tied to: its blockers, its parent, its parts, and the tasks that wait for
    /// it. `None` if the store has to read the whole list for that.
    fn read_around(&self, _list: &ListId, _task: &TaskId) -> Result<Option<Unpacked>, StoreError> {
        Ok(None)
    }

    /// Tells whether a list exists. A store may know that without looking at the list.
    fn has(&self, list: &ListId) -> Result<bool, StoreError> {
        self.read(list)?.exists()
    }

    /// Opens a transaction, waiting for other writers. Dropped without a commit, nothing has happened.
    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError>;

    /// Opens a transaction as [`Store::write`] does, and waits no longer than this: then it fails with [`StoreError::Busy`].
    fn write_within(&self, list: &ListId, patience: Duration) -> Result<Box<dyn Txn + '_>, StoreError> {
        let by = || Occupant::Elsewhere { who: "another process".to_owned() };
        wait_for_turn(patience, || self.try_write(list), |waited| StoreError::Busy { by: by(), waited })
    }

    /// Opens a transaction where no other writer has one; none otherwise, without waiting.
    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError>;

    /// Opens a transaction over two lists at once, for what moves from one to the other. It commits on both or on neither.
    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError>;

    /// Returns the journal, oldest entry first. To read much of it, read it in pages ([`HistoryPages`]).
    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;

    /// Returns the last entry about each task that the journal tells of, by task, without what the task was. A store may find them in
    /// less time than it takes to read the journal.
    fn last_entries(&self, list: &ListId) -> Result<Vec<LastEntry>, StoreError> {
        let mut last = BTreeMap::new();
        for page in HistoryPages::of(self, list, HistoryQuery::default())? {
            last.extend(page?.iter().map(LastEntry::of).map(|entry| (entry.task.clone(), entry)));
        }
        Ok(last.into_values().collect())
    }

    /// Prepares to call `moved` whenever the journal of a list may have grown; nothing is watched before [`Watch::keep_up`]. Changes by
    /// other programs are commits too.
    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn ListWatch>, StoreError>;

    /// Returns the names of all lists there are.
    fn list_names(&self) -> Result<BTreeSet<ListId>, StoreError> {
        Ok(self.lists()?.into_iter().map(|info| info.list).collect())
    }

    /// Prepares to call `moved` whenever a list may have come or gone; nothing is watched before [`Watch::keep_up`]. A store that cannot
    /// tell that is looked at now and then.
    fn watch_names(&self, _moved: Moved) -> Result<Box<dyn Watch>, StoreError> {
        Ok(Box::new(Untold))
    }

    /// Gives leases the ends they carry here, each only while it is still there with the same token. It waits for no
    /// transaction and is no commit.
    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError>;

    /// Returns what this store can do that not every store can. A store that wraps another one returns that one's.
    fn capabilities(&self) -> Capabilities<'_>;

    /// Returns what this store knows besides because its lists are files; `None` if they are not.
    fn care(&self) -> Option<&dyn FileCare> {
        self.capabilities().files
    }

    /// Returns what this store knows besides because many machines share it; `None` if they do not.
    fn shared_care(&self) -> Option<&dyn SharedCare> {
        self.capabilities().shared
    }

    /// Returns what moves whole lists to other stores and knows of those that came; `None` if no list can leave this store or come to it
    /// with its history.
    fn moving(&self) -> Option<&dyn ListMoving> {
        self.capabilities().moving
    }
}

/// What a store can do that not every store can.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capabilities<'a> {
    /// What it knows because its lists are files.
    pub files: Option<&'a dyn FileCare>,
    /// What it knows because many machines share it.
    pub shared: Option<&'a dyn SharedCare>,
    /// What moves whole lists to other stores.
    pub moving: Option<&'a dyn ListMoving>,
}

/// What a call is most likely to read first. A store may ask for it along with the first question.
#[derive(Clone, Debug, Default)]
pub struct ExpectedReads {
    /// The list.
    pub list: Option<ListId>,
    /// The tasks of it that the call has to do with, if those are few: a store may then read them and what they are tied to, and not the
    /// whole list.
    pub tasks: Option<Vec<TaskId>>,
    /// Whether the call opens a transaction, and reads the list only there.
    pub is_change: bool,
    /// Parts of its journal.
    pub journal: Vec<HistoryQuery>,
}

/// A call that has begun. It ends when this is dropped.
pub trait StoreCall: Debug {
    /// Makes sure, at the end of the call, that what the store answered from memory held at a moment within the call. Returns false if it did
    /// not: then the call has changed nothing, its outcome does not count, and the caller makes it again.
    fn confirm(&self) -> Result<bool, StoreError>;
}

/// A list at one moment.
pub trait Snapshot: Debug {
    /// Tells whether the list exists. Fails if that cannot be found out.
    fn exists(&self) -> Result<bool, StoreError>;

    /// Returns the newest revision this snapshot shows.
    fn revision(&self) -> Revision;

    /// Looks one task up.
    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError>;

    /// Returns every readable task, by rising number; those that have none in the order the store keeps them in, or by name.
    fn tasks(&self) -> Result<Vec<Task>, StoreError>;

    /// Returns the tasks that wait for this one, by rising number: those whose `blocked_by` names it, whether it knows of
    /// them or not.
    fn waiting_for(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        let mut tasks = self.waiting_for_or_parts(blocker)?;
        tasks.retain(|task| task.blocked_by.contains(blocker));
        Ok(tasks)
    }

    /// Returns the tasks that wait for this one and parts of tasks, by rising number: at least its own, those of the tasks that wait for
    /// it, those of the task it is a part of, and their parts. A store may find them in less time than it takes to look at all.
    fn waiting_for_or_parts(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        let mut tasks = self.tasks()?;
        tasks.retain(|task| task.blocked_by.contains(blocker) || task.parent().is_some());
        Ok(tasks)
    }

    /// Returns at least the open tasks of these owners, whatever teams their names say. A store may find them in less time than it takes to
    /// look at all.
    fn open_tasks_of(&self, _owners: &[&str]) -> Result<Vec<Task>, StoreError> {
        self.tasks()
    }

    /// Returns at least these tasks and all that dependencies and parts connect with them, over however many others. A store may find them
    /// in less time than it takes to look at all.
    fn connected(&self, _tasks: &[TaskId]) -> Result<Vec<Task>, StoreError> {
        self.tasks()
    }

    /// Returns the list in memory, where the store keeps it so: what is asked of it does not take longer because the list is long. What
    /// is staged is not in it: see [`Snapshot::staged`].
    fn live(&self) -> Result<Option<LiveView<'_>>, StoreError> {
        Ok(None)
    }

    /// Returns the tasks that this transaction has staged to be changed, made or removed. A store with [`Snapshot::live`] says so.
    fn staged(&self) -> Vec<TaskId> {
        Vec::new()
    }

    /// Returns what lies among the tasks and is none, by name.
    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError>;

    /// Returns every lease there is, by task, whether or not it still counts.
    fn leases(&self) -> Result<Vec<Lease>, StoreError>;

    /// Tells whether a task waits also for tasks that do not exist.
    fn counts_missing(&self) -> bool {
        false
    }

    /// Tells whether everything that was seen is in the journal by now, so that a reader of the journal need not look
    /// at the list again. A store that cannot tell says no.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Returns everything at once and ends the looking: for a large list, cheaper than asking for each.
    fn unpack(self: Box<Self>) -> Result<Unpacked, StoreError> {
        let (tasks, problems, leases) = (self.tasks()?, self.problems()?, self.leases()?);
        Ok(Unpacked { tasks, problems, leases, revision: self.revision(), exists: self.exists()? })
    }
}

/// Everything a snapshot shows.
#[derive(Clone, Debug, Default)]
pub struct Unpacked {
    /// Every readable task, by rising number.
    pub tasks: Vec<Task>,
    /// What lies among the tasks and is none, by name.
    pub problems: Vec<UnreadableTask>,
    /// Every lease, whether or not it still counts.
    pub leases: Vec<Lease>,
    /// The newest revision.
    pub revision: Revision,
    /// Whether the list exists.
    pub exists: bool,
}

/// A list while it is being changed. Reads see what was already put.
pub trait Txn: Snapshot {
    /// Returns ids for new tasks, as many as are asked for: the next numbers, where the store has no ids of another kind. Nothing
    /// stands under any of them.
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError>;

    /// Returns an id for one new task.
    fn new_id(&self) -> Result<TaskId, StoreError> {
        self.new_ids(1)?.pop().ok_or(StoreError::NoNumberLeft)
    }

    /// Tells whether nothing at all stands under a task's name, with what is staged.
    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        Ok(matches!(self.find(id)?, Lookup::Missing))
    }

    /// Tells whether another program has written, since a process of ours last recorded it, to a task that was read here.
    fn has_met_outside_writes(&self) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Stages a task: over the one of that id, or new, where the caller does not care which. In client rules every call is one write of the
    /// client.
    fn put(&mut self, task: Task) -> Result<(), StoreError>;

    /// Stages the exact contents of a task's file, as an undo brings them back over the ones there.
    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError>;

    /// Stages a task that is new. What stands under its name, whatever it is, is never replaced: then nothing is staged, and the
    /// answer is [`StoreError::Taken`]. What comes there before the commit makes it end with [`StoreError::Conflict`].
    fn put_new(&mut self, task: Task) -> Result<(), StoreError> {
        match self.is_free(&task.id)? {
            true => self.put(task),
            false => Err(StoreError::Taken { task: task.id }),
        }
    }

    /// Stages the exact contents of the file of a task that is new, as a restore brings it back, and under the same promise.
    fn put_new_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        match self.is_free(id)? {
            true => self.put_image(id, image),
            false => Err(StoreError::Taken { task: id.clone() }),
        }
    }

    /// Stages what takes the place of exactly these contents, from which no task can be read; without an image they go. The journal keeps
    /// them. Only a command that was asked to mend does this; where something else stands there, nothing is staged and the answer is no.
    fn replace_broken(&mut self, _id: &TaskId, _broken: &Image, _by: Option<Image>) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Stages the removal of a task. Its number is never given out again.
    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError>;

    /// Stages an entry without contents of a task that is not there and stays so: the acting agent means it to be gone,
    /// or takes back that it was meant. Where something stands under that name nothing is staged.
    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError>;

    /// Keeps other programs out of the list as a whole until the transaction ends, where they know a lock for that. Of use to a caller that
    /// decides by everything in the list; it calls this before it reads anything. The turn alone keeps out those of ours.
    fn lock_list(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Stages the removal of every task; in client rules also of every file that looks like one.
    fn clear(&mut self) -> Result<(), StoreError>;

    /// Stages a new lease on a task, in the place of any other, with a token greater than every one before. It is taken now, and
    /// ends by time when its `ttl` is over, both by the store's clock.
    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError>;

    /// Stages a change of a lease that is there.
    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError>;

    /// Stages the end of a task's lease. A lease also ends with the commit that completes its task, removes it, or gives it to another
    /// agent, whichever agent commits.
    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError>;

    /// Makes everything staged happen, all of it or nothing, and returns the commit as its listeners learn of it. With
    /// nothing staged but leases, nothing is journaled and the answer is none. Every error but [`StoreError::Unfinished`] and
    /// [`StoreError::Unavailable`] means that nothing has happened.
    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError>;
}

/// Two lists while things move between them.
pub trait TxnPair: Debug {
    /// Returns the list that things leave.
    fn source(&mut self) -> &mut dyn Txn;

    /// Returns the list that things come to.
    fn target(&mut self) -> &mut dyn Txn;

    /// Makes everything staged happen on both lists, all of it or nothing; the events of the first and the second list. If the first list is
    /// renamed to the second ([`Op::Rename`]), its history comes before the commit in the journal of the second, which then has no history,
    /// or one that the first has as well.
    fn commit(self: Box<Self>, signature: &Signature) -> Result<[Option<Event>; 2], StoreError>;
}

/// A lease to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLease {
    /// The task it is on.
    pub task: TaskId,
    /// The agent that gets it.
    pub agent: AgentName,
    /// How long it lives without a sign of life.
    pub ttl: Option<Duration>,
    /// What it lives with.
    pub holder: Option<Holder>,
}

/// Who makes a commit, and what it is called in the journal.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The acting agent.
    pub actor: AgentName,
    /// What the commit does, as the journal calls it.
    pub op: Op,
    /// The revisions an undo takes back.
    pub undoes: Vec<Revision>,
    /// What it means for other agents.
    pub remark: Remark,
    /// What tells this attempt at a commit from every other one, should its answer be lost.
    pub attempt: AttemptId,
}

impl Signature {
    /// Returns the signature of a plain change, and of a new attempt.
    pub fn new(actor: AgentName, op: Op) -> Self {
        Self { actor, op, undoes: Vec::new(), remark: Remark::default(), attempt: new_attempt() }
    }
}

/// One list of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListInfo {
    /// The name by which it is opened.
    pub list: ListId,
    /// Where it is kept, where that is a place.
    pub path: Option<PathBuf>,
    /// How many tasks it holds in each state: pending, in progress, completed. Internal ones are not counted.
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
