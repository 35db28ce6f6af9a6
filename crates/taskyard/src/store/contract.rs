//! The contract between the operations and the stores.

use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use taskyard_core::rules::numbering::{Numbers, next_ids};
use taskyard_core::{
    AgentName, Entry, Event, Holder, Image, Lease, ListId, Moment, Op, Remark, Revision, Rules, Task, TaskId, Timestamp,
};

use super::{JournalDamage, Listener, Litter, Lookup, Problem, StoreError, Subscription};

/// Keeps task lists, and the journal of each.
///
/// **Callers** may rely on this: [`Store::read`] takes no lock and never waits for a writer; what a snapshot shows of our own
/// commits is whole commits. [`Store::write`] waits for its turn; between its return and the commit no other `Txn` of any
/// process of ours exists on that list. A commit happens entirely or not at all, whatever dies; once it has returned it
/// survives the death of the process and of the machine.
///
/// **Implementers** may answer [`StoreError::Conflict`] from a commit when somebody else changed what the transaction read:
/// nothing has happened then, and the caller starts over. They may keep lists that hold things no task can be read from;
/// those are [`Problem`]s, and are never overwritten by a commit.
pub trait Store: Debug + Send + Sync {
    /// Returns every list there is, by name.
    fn lists(&self) -> Result<Vec<ListInfo>, StoreError>;

    /// Returns the lists whose place is gone while our memory of them is there, each with that place, by name.
    fn lists_without_a_place(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError> {
        Ok(Vec::new())
    }

    /// Looks at a list without a lock. A list that does not exist reads as an empty one.
    fn read(&self, list: &ListId) -> Result<Box<dyn Snapshot + '_>, StoreError>;

    /// Returns the readable tasks of a list nobody of ours may ever have worked on, and remembers nothing of the look: for looking
    /// through many lists.
    fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError> {
        self.read(list)?.tasks()
    }

    /// Opens a transaction, waiting for other writers. Dropped without a commit, nothing has happened.
    fn write(&self, list: &ListId) -> Result<Box<dyn Txn + '_>, StoreError>;

    /// Opens a transaction where nobody else is at it; none otherwise, without waiting.
    fn try_write(&self, list: &ListId) -> Result<Option<Box<dyn Txn + '_>>, StoreError>;

    /// Opens a transaction over two lists at once, for what moves from one to the other. It commits on both or on neither.
    fn write_both(&self, from: &ListId, into: &ListId) -> Result<Box<dyn TxnPair + '_>, StoreError>;

    /// Returns the journal, oldest entry first.
    fn history(&self, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError>;

    /// Calls the listener once for every commit after `since`, past ones first, in order, without gaps or repeats, until the
    /// subscription is dropped. Changes by other programs are commits too.
    fn watch(&self, list: &ListId, since: Revision, to: Listener) -> Result<Subscription, StoreError>;

    /// Tells what was last seen of a list from what will be seen later, where the store knows that without looking; it takes a few
    /// microseconds and waits for nobody. Two equal sightings mean that nobody has changed a task in between.
    fn sighting(&self, list: &ListId) -> Option<Sighting> {
        let _ = list;
        None
    }

    /// Returns when a look that is on record last found tasks in a list of which none is left; none where no look is.
    fn last_look(&self, list: &ListId) -> Option<Timestamp> {
        let _ = list;
        None
    }

    /// Gives leases the ends they carry here, each only while it is still there with the same token. It waits for no
    /// transaction and is no commit.
    fn renew(&self, list: &ListId, leases: &[Lease]) -> Result<(), StoreError>;

    /// Returns the tasks in the words of the list's own files, where those are a document; nothing otherwise.
    fn elements(&self, _list: &ListId) -> Result<Vec<Value>, StoreError> {
        Ok(Vec::new())
    }

    /// Looks the list's journal over from end to end, and returns what is wrong with it. A store that has none on disk finds nothing.
    fn examine_journal(&self, _list: &ListId) -> Result<Option<JournalDamage>, StoreError> {
        Ok(None)
    }

    /// Puts a whole journal in the place of a damaged one: the old one is kept aside, and what can be read of it is in the new one,
    /// which goes on above it. The tasks stay as they are.
    fn mend_journal(&self, _list: &ListId) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns the journals that turned out to be damaged while this store was used, and what is wrong with each. Tasks were read
    /// without them.
    fn damaged_journals(&self) -> Vec<(ListId, JournalDamage)> {
        Vec::new()
    }

    /// Returns what lies about in the list's place and serves nobody: abandoned locks, temporary files, a broken mark.
    fn litter(&self, list: &ListId) -> Result<Vec<Litter>, StoreError>;

    /// Removes that litter, as far as it is still the same, and returns what was removed.
    fn sweep(&self, list: &ListId, litter: &[Litter]) -> Result<Vec<Litter>, StoreError>;
}

/// What a store has seen of a list, as [`Store::sighting`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting(pub(crate) u64);

/// A list at one moment.
pub trait Snapshot: Debug {
    /// Tells whether the list exists.
    fn exists(&self) -> bool;

    /// Returns the newest revision this snapshot shows.
    fn revision(&self) -> Revision;

    /// Looks one task up.
    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError>;

    /// Returns every readable task, by rising number; those that have none in the order the store keeps them in, or by name.
    fn tasks(&self) -> Result<Vec<Task>, StoreError>;

    /// Returns the tasks that wait for this one, by rising number: those whose `blocked_by` names it, whether it knows of
    /// them or not. A store may find them in less time than it takes to look at all.
    fn waiting_for(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        let mut tasks = self.tasks()?;
        tasks.retain(|task| task.blocked_by.contains(blocker));
        Ok(tasks)
    }

    /// Returns the name of the file that a task is in, or would be.
    fn file_name(&self, id: &TaskId) -> String {
        format!("{}.json", id.file_stem())
    }

    /// Returns what lies among the tasks and is none, by name.
    fn problems(&self) -> Result<Vec<Problem>, StoreError>;

    /// Returns the exact contents of something that no task can be read from, where they can be had.
    fn broken(&self, _id: &TaskId) -> Result<Option<Image>, StoreError> {
        Ok(None)
    }

    /// Returns every lease there is, by task, whether or not it still counts.
    fn leases(&self) -> Result<Vec<Lease>, StoreError>;

    /// Tells whether a task waits also for tasks that do not exist.
    fn counts_missing(&self) -> bool {
        false
    }

    /// Tells whether all tasks of the list are in one file.
    fn is_one_file(&self) -> bool {
        false
    }

    /// Tells whether new tasks get the next number, so that one that is too large is in the way.
    fn gives_numbers(&self) -> bool {
        true
    }

    /// Returns everything at once and ends the looking: for a large list, cheaper than asking for each.
    fn unpack(self: Box<Self>) -> Result<Unpacked, StoreError> {
        let (tasks, problems, leases) = (self.tasks()?, self.problems()?, self.leases()?);
        Ok(Unpacked { tasks, problems, leases, revision: self.revision(), exists: self.exists() })
    }
}

/// Everything a snapshot shows.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// Every readable task, by rising number.
    pub tasks: Vec<Task>,
    /// What lies among the tasks and is none, by name.
    pub problems: Vec<Problem>,
    /// Every lease, whether or not it still counts.
    pub leases: Vec<Lease>,
    /// The newest revision.
    pub revision: Revision,
    /// Whether the list exists.
    pub exists: bool,
}

/// A list while it is being changed. Reads see what was already put.
pub trait Txn: Snapshot {
    /// Returns what is known of the numbers this list has used.
    fn numbers(&self) -> Result<Numbers, StoreError>;

    /// Returns an id for a new task: the next number, where the store has no ids of another kind.
    fn new_id(&self, rules: Rules) -> Result<TaskId, StoreError> {
        self.new_ids(1, rules)?.pop().ok_or(StoreError::NoNumberLeft)
    }

    /// Returns ids for many new tasks that come at once, as many as are asked for. Nothing stands under any of them.
    fn new_ids(&self, count: usize, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        let mut ids = Vec::with_capacity(count);
        for id in next_ids(self.numbers()?, rules) {
            if ids.len() == count {
                break;
            }
            // The last of all numbers does not count, and in client rules no hidden file does: they may be taken.
            if self.is_free(&id)? {
                ids.push(id);
            }
        }
        if ids.len() < count { Err(StoreError::NoNumberLeft) } else { Ok(ids) }
    }

    /// Tells whether nothing at all stands under a task's name, with what is staged.
    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        Ok(matches!(self.find(id)?, Lookup::Missing))
    }

    /// Stages a task: over the one of that id, or new where nobody has to know whether it is. In client rules every call is one
    /// write of the client.
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

    /// Stages what takes the place of exactly these contents, from which no task can be read; without an image they go. The journal
    /// keeps them. Only somebody who was asked does this; where something else stands there, nothing is staged and the answer is no.
    fn replace_broken(&mut self, _id: &TaskId, _broken: &Image, _by: Option<Image>) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Stages the removal of a task. Its number is never given out again.
    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError>;

    /// Stages an entry without contents of a task that is not there and stays so: whoever acts means it to be gone, or takes
    /// back that it was meant. Where something stands under that name nothing is staged.
    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError>;

    /// Stages the removal of every task; in client rules also of every file that looks like one.
    fn clear(&mut self) -> Result<(), StoreError>;

    /// Stages a new lease on a task, in the place of any other, with a token greater than every one before.
    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError>;

    /// Stages a change of a lease that is there.
    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError>;

    /// Stages the end of a task's lease. A lease also ends with the commit that completes its task, removes it, or gives it
    /// to somebody else, whoever makes it.
    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError>;

    /// Makes everything staged happen, all of it or nothing, and returns the commit as its listeners learn of it. With
    /// nothing staged but leases, nothing is journaled and the answer is none.
    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError>;
}

/// Two lists while things move between them.
pub trait TxnPair: Debug {
    /// Returns the list that things leave.
    fn source(&mut self) -> &mut dyn Txn;

    /// Returns the list that things come to.
    fn target(&mut self) -> &mut dyn Txn;

    /// Makes everything staged happen on both lists, all of it or nothing; the events of the first and the second list.
    fn commit(self: Box<Self>, signature: &Signature) -> Result<[Option<Event>; 2], StoreError>;
}

/// A lease to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLease {
    /// The task.
    pub task: TaskId,
    /// Who gets it.
    pub agent: AgentName,
    /// When.
    pub taken: Timestamp,
    /// How long it lives without a sign of life.
    pub ttl: Option<Duration>,
    /// When it ends by time.
    pub ends: Option<Moment>,
    /// What it lives with.
    pub holder: Option<Holder>,
}

/// Who makes a commit, and what it is called in the journal.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Who acts.
    pub actor: AgentName,
    /// The verb.
    pub op: Op,
    /// The revisions an undo takes back.
    pub undoes: Vec<Revision>,
    /// What it means for others.
    pub remark: Remark,
}

impl Signature {
    /// Returns the signature of a plain change.
    pub fn new(actor: AgentName, op: Op) -> Self {
        Self { actor, op, undoes: Vec::new(), remark: Remark::default() }
    }
}

/// One list of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListInfo {
    /// Its name.
    pub list: ListId,
    /// Where it is kept, where that is a place.
    pub path: Option<PathBuf>,
    /// How many tasks it holds in each state: pending, in progress, completed. Internal ones are not counted.
    pub counts: [usize; 3],
    /// When it last changed.
    pub changed: Option<Timestamp>,
}

/// Which part of the journal is wanted.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Only entries of this task.
    pub task: Option<TaskId>,
    /// Only entries after this revision.
    pub since: Revision,
    /// Only entries up to this revision.
    pub until: Option<Revision>,
    /// At most so many revisions, the newest.
    pub newest: Option<usize>,
}
