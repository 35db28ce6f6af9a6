//! A list of which only the tasks are read that a command has to do with, for processes that make one change or look once and end.
//!
//! What a command names is read, with what it is tied to, in the round trip that locks the list; whatever else is asked for is read then, in
//! the same transaction. While the row is locked nothing changes, so all of it is the list at one moment. A look without a lock that is asked
//! for anything else reads the whole list.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use taskyard::core::rules::agents::naming::name_of;
use taskyard::core::{Event, Image, Lease, Revision, Task, TaskId};
use taskyard::store::kit::{Kept, ListState, StagedTxn, StateSnapshot, key_of, number_of};
use taskyard::store::{Lookup, NewLease, Signature, Snapshot, StoreError, Txn, UnreadableTask};

use super::call::look_around;
use super::changes::storable;
use super::known_list::KnownList;
use super::reading::{exists, read};
use super::ties::{COLUMNS, is_connected, read_tasks};
use super::writer::{PostgresWriter, Transaction};
use crate::connecting::Statement;
use crate::database::Database;

const DOING: &str = "read tasks";

/// A transaction on a list of which only some tasks have been read.
#[derive(Debug)]
pub(super) struct OnDemandTxn {
    staged: RefCell<StagedTxn<PostgresWriter>>,
    read: RefCell<Read>,
    transaction: Arc<Transaction>,
    database: Arc<Database>,
    list: i64,
    /// The highest number that a task of the list ever had.
    journaled: f64,
}

/// What has been read.
#[derive(Debug)]
struct Read {
    /// Tasks that are there or known not to be.
    tasks: BTreeSet<TaskId>,
    /// Tasks of which all that are tied to them were read.
    tied: BTreeSet<TaskId>,
    is_whole: bool,
}

impl OnDemandTxn {
    /// Begins with a writer, and with these tasks, of which all that are tied to them were read.
    pub(super) fn new(writer: PostgresWriter, state: Arc<ListState>, named: &[TaskId]) -> Self {
        let (transaction, database) = (Arc::clone(&writer.transaction), Arc::clone(&writer.database));
        let (list, is_whole, rules, journaled) =
            (writer.found.id, !writer.found.has_ties, writer.rules, state.journaled);
        let tied: BTreeSet<TaskId> = named.iter().map(key_of).collect();
        let tasks = state.tasks.keys().chain(&tied).cloned().collect();
        let read = RefCell::new(Read { tasks, tied, is_whole });
        let staged = RefCell::new(StagedTxn::new(writer, state, rules));
        Self { staged, read, transaction, database, list, journaled }
    }

    /// Reads those of the list's tasks for which a condition holds.
    fn read_where(&self, condition: &str, names: Vec<String>) -> Result<(), StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM @.tasks t WHERE t.list = $1 AND ({condition})");
        self.ask(self.database.statement(&sql).number(self.list).texts(names)).map(drop)
    }

    fn ask(&self, statement: Statement) -> Result<Vec<Arc<Kept>>, StoreError> {
        let asked = self.transaction.ask(&[statement]).and_then(|rows| read_tasks(&rows[0]));
        let tasks = asked.map_err(|failure| failure.into_store_error(self.database.shown(), DOING))?;
        self.read.borrow_mut().tasks.extend(tasks.iter().map(|kept| kept.id.clone()));
        self.staged.borrow_mut().learn(tasks.iter().cloned());
        Ok(tasks)
    }

    /// Reads a task, unless it was read.
    fn read(&self, id: &TaskId) -> Result<(), StoreError> {
        let key = key_of(id);
        let is_read = self.read.borrow().is_whole || self.read.borrow().tasks.contains(&key);
        // No task ever had a higher number.
        if is_read || number_of(&key) > self.journaled {
            return Ok(());
        }
        let sql = format!("SELECT {COLUMNS} FROM @.tasks t WHERE t.list = $1 AND t.task = $2");
        self.ask(self.database.statement(&sql).number(self.list).text(storable(key.as_str())))?;
        self.read.borrow_mut().tasks.insert(key);
        Ok(())
    }

    /// Reads all that are tied to tasks, unless they were read.
    fn read_tied(&self, targets: impl IntoIterator<Item = TaskId>) -> Result<(), StoreError> {
        let missing: Vec<TaskId> = {
            let read = self.read.borrow();
            targets.into_iter().filter(|id| !read.is_whole && !read.tied.contains(id)).collect()
        };
        if missing.is_empty() {
            return Ok(());
        }
        let tied = "t.task = ANY(ARRAY(SELECT s.task FROM @.ties s WHERE s.list = $1 AND s.target = ANY($2)))";
        self.read_where(tied, missing.iter().map(|id| storable(id.as_str())).collect())?;
        self.read.borrow_mut().tied.extend(missing);
        Ok(())
    }

    /// Reads the whole list, unless it was read.
    fn read_all(&self) -> Result<(), StoreError> {
        if !self.read.borrow().is_whole {
            let sql = format!("SELECT {COLUMNS} FROM @.tasks t WHERE t.list = $1");
            self.ask(self.database.statement(&sql).number(self.list))?;
            self.read.borrow_mut().is_whole = true;
        }
        Ok(())
    }

    /// Returns the parts of tasks that have been read, with what is staged.
    fn parts_of(&self, tasks: &BTreeSet<TaskId>) -> Result<BTreeSet<TaskId>, StoreError> {
        let all = self.staged.borrow().tasks()?;
        let is_part = |task: &&Task| task.parent().is_some_and(|parent| parent != task.id && tasks.contains(&parent));
        Ok(all.iter().filter(is_part).map(|task| task.id.clone()).collect())
    }
}

impl Snapshot for OnDemandTxn {
    fn exists(&self) -> Result<bool, StoreError> {
        self.staged.borrow().exists()
    }

    fn revision(&self) -> Revision {
        self.staged.borrow().revision()
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        self.read(id)?;
        self.staged.borrow().find(id)
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        self.read_all()?;
        self.staged.borrow().tasks()
    }

    fn waiting_for_or_parts(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        let parent = self.find(blocker)?.task().and_then(|task| task.parent());
        self.read_tied([blocker.clone()].into_iter().chain(parent.clone()))?;
        let waiting = self.staged.borrow().waiting_for(blocker)?;
        // Their parts, the parts of those, and so on.
        let mut above: BTreeSet<TaskId> = waiting.into_iter().map(|task| task.id).chain([blocker.clone()]).collect();
        above.extend(parent);
        let mut seen = above.clone();
        while !above.is_empty() {
            self.read_tied(above.iter().cloned())?;
            above = self.parts_of(&above)?.into_iter().filter(|part| seen.insert(part.clone())).collect();
        }
        self.staged.borrow().waiting_for_or_parts(blocker)
    }

    fn open_tasks_of(&self, owners: &[&str]) -> Result<Vec<Task>, StoreError> {
        let names: Vec<&str> = owners.iter().map(|owner| name_of(owner)).collect();
        // Such a name is in the text of its tasks as it is, unless some characters are written as their numbers.
        let is_plain_character = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
        let is_plain = |name: &&str| !name.is_empty() && name.chars().all(is_plain_character);
        if !names.iter().all(is_plain) {
            return self.tasks();
        }
        if !self.read.borrow().is_whole {
            // No index leads there. The server looks through the list, which takes less time than to send it.
            let owned = r"t.image IS NULL OR strpos(t.image, '\u') > 0 OR t.image LIKE ANY($2)";
            self.read_where(owned, names.iter().map(|name| format!("%{name}%")).collect())?;
        }
        self.staged.borrow().tasks()
    }

    fn connected(&self, tasks: &[TaskId]) -> Result<Vec<Task>, StoreError> {
        if !self.read.borrow().is_whole {
            let names = tasks.iter().map(|id| storable(key_of(id).as_str())).collect();
            self.read_where(&is_connected("$1"), names)?;
        }
        self.staged.borrow().tasks()
    }

    fn staged(&self) -> Vec<TaskId> {
        self.staged.borrow().staged()
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        self.read_all()?;
        self.staged.borrow().problems()
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.staged.borrow().leases()
    }
}

impl Txn for OnDemandTxn {
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError> {
        // They go on above every number that a task of the list ever had.
        self.staged.borrow().new_ids(count)
    }

    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        self.read(id)?;
        self.staged.borrow().is_free(id)
    }

    fn put(&mut self, task: Task) -> Result<(), StoreError> {
        self.read(&task.id)?;
        self.staged.get_mut().put(task)
    }

    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        self.read(id)?;
        self.staged.get_mut().put_image(id, image)
    }

    fn replace_broken(&mut self, id: &TaskId, broken: &Image, by: Option<Image>) -> Result<bool, StoreError> {
        self.read(id)?;
        self.staged.get_mut().replace_broken(id, broken, by)
    }

    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.read(id)?;
        self.staged.get_mut().remove(id)
    }

    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.read(id)?;
        self.staged.get_mut().note_absent(id)
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.read_all()?;
        self.staged.get_mut().clear()
    }

    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError> {
        self.read(&lease.task)?;
        self.staged.get_mut().grant(lease)
    }

    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.staged.get_mut().set_lease(lease)
    }

    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError> {
        self.staged.get_mut().end_lease(task)
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError> {
        Box::new(self.staged.into_inner()).commit(signature)
    }
}

/// A look, without a lock, at a list of which a call has to do with few tasks.
#[derive(Debug)]
pub(super) struct OnDemandSnapshot {
    database: Arc<Database>,
    list: Arc<KnownList>,
    /// The few, and what is around them once it was asked for.
    few: BTreeSet<TaskId>,
    around: OnceCell<StateSnapshot>,
    /// All of it, once something else was asked for. From then on it counts.
    whole: OnceCell<StateSnapshot>,
}

impl OnDemandSnapshot {
    /// Begins to look. Nothing is read yet.
    pub(super) fn begin(database: &Arc<Database>, list: Arc<KnownList>, few: &[TaskId]) -> Self {
        let (few, [around, whole]) = (few.iter().map(key_of).collect(), [const { OnceCell::new() }; 2]);
        Self { database: Arc::clone(database), list, few, around, whole }
    }

    fn whole(&self) -> Result<&StateSnapshot, StoreError> {
        if self.whole.get().is_none() {
            let state = read(&self.database, &self.list)?;
            let _ = self.whole.set(StateSnapshot { state });
        }
        Ok(self.whole.get().expect("it was just read"))
    }

    /// Returns what was read, and at least what is around the few.
    fn around(&self) -> Result<&StateSnapshot, StoreError> {
        if self.whole.get().is_none() && self.around.get().is_none() {
            let Some(state) = look_around(&self.database, &self.list)? else { return self.whole() };
            let _ = self.around.set(StateSnapshot { state });
        }
        self.whole.get().or(self.around.get()).map_or_else(|| self.whole(), Ok)
    }
}

impl Snapshot for OnDemandSnapshot {
    fn exists(&self) -> Result<bool, StoreError> {
        match self.whole.get().or(self.around.get()) {
            Some(read) => read.exists(),
            None => exists(&self.database, &self.list),
        }
    }

    fn revision(&self) -> Revision {
        self.around().map_or_else(|_| Revision::default(), Snapshot::revision)
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        if self.few.contains(&key_of(id)) { self.around()?.find(id) } else { self.whole()?.find(id) }
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        self.whole()?.tasks()
    }

    fn connected(&self, tasks: &[TaskId]) -> Result<Vec<Task>, StoreError> {
        if let Some(whole) = self.whole.get() {
            return whole.tasks();
        }
        let this = "(SELECT id FROM @.lists WHERE directory = $1 AND has_ties)";
        let near = is_connected(this);
        let sql = format!(
            "SELECT {COLUMNS} FROM @.tasks t WHERE t.list = {this} AND ({near})
            UNION ALL SELECT {COLUMNS} FROM @.tasks t
            WHERE t.list = (SELECT id FROM @.lists WHERE directory = $1 AND NOT has_ties)"
        );
        let names: Vec<String> = tasks.iter().map(|id| storable(key_of(id).as_str())).collect();
        let rows = self.database.read(DOING, || {
            vec![self.database.statement(&sql).text(self.list.list.directory()).texts(names.clone())]
        })?;
        let read = read_tasks(rows.as_ref().map_or(&[][..], |rows| &rows[0]));
        let read = read.map_err(|failure| failure.into_store_error(self.database.shown(), DOING))?;
        Ok(read.iter().filter_map(|kept| kept.task.as_ref().ok().cloned()).collect())
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        self.whole()?.problems()
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.around()?.leases()
    }

    fn is_recorded(&self) -> bool {
        true
    }
}
