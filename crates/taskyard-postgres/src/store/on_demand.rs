//! Transactions and snapshots that read only the tasks a command needs, in one round trip.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use taskyard::core::rules::agents::name_of;
use taskyard::core::{Event, Image, Lease, ListId, Revision, Task, TaskId};
use taskyard::store::kit::{Kept, ListState, StagedTxn, StateSnapshot, key_of, number_of};
use taskyard::store::{
    ExpectedReads, HistoryQuery, Lookup, NewLease, Signature, Snapshot, StoreCall, StoreError, Txn, UnreadableTask,
};
use tokio_postgres::Row;

use super::catching_up::{Asked, Reader, STANDING, Taken, learn_heartbeats, questions, read_part, take_in};
use super::history::{entries, question};
use super::known_list::KnownList;
use super::writer::{PostgresWriter, Transaction};
use crate::connecting::{Failure, Statement};
use crate::database::Database;
use crate::one_call::{Along, CallGuard, FewTasks};
use crate::seldom::{LEAD_MAIL, TEAMS, read_bodies};
use crate::server_clock::Stamp;
use crate::store::change_rows::storable;
use crate::store::known_list::{COLUMNS, is_connected, question_around, read_tasks};
use crate::store::watching::{existence, exists, is_there, read};

const DOING: &str = "read tasks";

/// A transaction that has read only some of the list's tasks.
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

#[derive(Debug)]
struct Read {
    /// Tasks that were read or are known not to exist.
    tasks: BTreeSet<TaskId>,
    /// Tasks whose ties were followed: all tasks tied to them were read.
    tied: BTreeSet<TaskId>,
    is_whole: bool,
}

impl OnDemandTxn {
    /// Begins with a writer and the tasks `named`; all tasks tied to those were read.
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

    /// Reads the list's tasks that match a condition.
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

    /// Reads a task, unless already read.
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

    /// Reads all tasks tied to these, unless already read.
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

    /// Reads the whole list, unless already read.
    fn read_all(&self) -> Result<(), StoreError> {
        if !self.read.borrow().is_whole {
            let sql = format!("SELECT {COLUMNS} FROM @.tasks t WHERE t.list = $1");
            self.ask(self.database.statement(&sql).number(self.list))?;
            self.read.borrow_mut().is_whole = true;
        }
        Ok(())
    }

    /// Returns the subtasks of `tasks` among those read, including staged changes.
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
        // Their subtasks, the subtasks of those, and so on.
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
        // Such a name occurs literally in the text of its tasks, unless some characters are written as escapes.
        let is_plain_character = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
        let is_plain = |name: &&str| !name.is_empty() && name.chars().all(is_plain_character);
        if !names.iter().all(is_plain) {
            return self.tasks();
        }
        if !self.read.borrow().is_whole {
            // No index covers this. A scan on the server takes less time than sending the list.
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
        // New numbers continue after the highest that a task of the list ever had.
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

/// A snapshot, without a lock, for a call that concerns only a few tasks of a list.
#[derive(Debug)]
pub(super) struct OnDemandSnapshot {
    database: Arc<Database>,
    list: Arc<KnownList>,
    /// The few tasks, and those connected to them once they were asked for.
    few: BTreeSet<TaskId>,
    around: OnceCell<StateSnapshot>,
    /// The whole list, once something else was asked for. Takes precedence from then on.
    whole: OnceCell<StateSnapshot>,
}

impl OnDemandSnapshot {
    /// Begins the snapshot. Reads nothing yet.
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

    /// Returns what was read, which includes at least the tasks around the few.
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

/// How many of the additional queries are not about the list.
const OF_TEAMS: usize = 2;

/// The current call of this thread. Ends on drop.
#[derive(Debug)]
pub(super) struct PostgresCall {
    database: Arc<Database>,
    _call: CallGuard,
}

impl PostgresCall {
    /// Begins a call, or returns `None` if this thread is already in one. If a list is expected to be read, its query
    /// and the others that nearly every call needs are sent with the first query, whichever that is.
    pub(super) fn begin(
        database: &Arc<Database>,
        expected: ExpectedReads,
        list: impl FnOnce(&ListId) -> Arc<KnownList>,
    ) -> Option<Self> {
        let ExpectedReads { list: of_list, tasks, is_change, journal } = expected;
        let list = of_list.as_ref().map(list);
        let few = of_list.zip(tasks).map(|(list, tasks)| FewTasks { directory: list.directory().to_owned(), tasks });
        let along = match (list, &few) {
            (Some(list), Some(_)) if is_change => Some(along(database, OfList::Existence(list))),
            (Some(list), Some(few)) => Some(along(database, OfList::Around(list, few.clone(), journal))),
            (Some(list), None) => Some(along(database, OfList::Everything(list, journal))),
            (None, _) => None,
        };
        let call = database.number.begin_call(along, few)?;
        Some(Self { database: Arc::clone(database), _call: call })
    }
}

impl StoreCall for PostgresCall {
    fn confirm(&self) -> Result<bool, StoreError> {
        self.database.confirm_call()
    }
}

/// What to ask of a list along with the teams.
#[derive(Clone)]
enum OfList {
    /// Whether it exists; its tasks are read under the lock.
    Existence(Arc<KnownList>),
    /// A few tasks, those tied to them, and parts of the journal.
    Around(Arc<KnownList>, FewTasks, Vec<HistoryQuery>),
    /// The whole list and parts of the journal.
    Everything(Arc<KnownList>, Vec<HistoryQuery>),
}

impl OfList {
    fn questions(&self, database: &Database) -> Vec<Statement> {
        let (mut all, list, journal) = match self {
            Self::Existence(list) => return vec![existence(database, list.list.directory())],
            Self::Around(list, few, journal) => (Vec::from(questions_around(database, list, few)), list, journal),
            Self::Everything(list, journal) => {
                let directory = list.list.directory();
                let [tasks, leases] = questions(database, directory, &Asked::Everything);
                (vec![row_of(database, directory), tasks, leases], list, journal)
            }
        };
        all.extend(journal.iter().map(|query| question(database, list.list.directory(), query)));
        all
    }

    /// Records the answers. An answer that cannot be read is queried again later, which then reports the error.
    fn take_in(self, database: &Database, rows: &[Vec<Row>], stamp: &Stamp) {
        let (list, journal, is_read) = match self {
            Self::Existence(list) => {
                if let Ok(true) = is_there(&rows[0]) {
                    database.number.note_existing(list.list.directory());
                }
                return;
            }
            Self::Around(list, _, journal) => {
                let around = read_around(database, &list, rows, stamp);
                let is_read = around.is_ok();
                if let Ok(around) = around {
                    if around.exists {
                        database.number.note_existing(list.list.directory());
                    }
                    database.number.keep_around(around);
                }
                (list, journal, is_read)
            }
            Self::Everything(list, journal) => {
                let contents = [&rows[0][..], &rows[1][..], &rows[2][..]];
                let is_there = learn_heartbeats(database, &rows[..3]).is_ok() && !rows[0].is_empty();
                let taken = is_there.then(|| take_in(&list, &Asked::Everything, stamp, contents, Reader::Looks));
                let is_read = matches!(taken, Some(Ok(Taken::In(_))));
                if is_read {
                    list.confirm_in(database.number.confirmed_call());
                }
                (list, journal, is_read)
            }
        };
        for (query, rows) in journal.into_iter().zip(&rows[3..]).filter(|_| is_read) {
            if let Ok(entries) = entries(rows) {
                database.number.keep_journal(list.list.directory(), query, entries);
            }
        }
    }
}

/// Returns the queries for the teams, for mail, and for part of a list.
fn along(database: &Arc<Database>, of_list: OfList) -> Along {
    let ask = {
        let (database, of_list) = (Arc::clone(database), of_list.clone());
        move || -> Vec<Statement> {
            let mut all = vec![database.all_teams(), database.lead_mail()];
            all.extend(of_list.questions(&database));
            all
        }
    };
    let database = Arc::clone(database);
    let answer = move |rows: &[Vec<Row>], stamp: &Stamp| {
        database.remember(TEAMS, "", stamp, read_bodies(&rows[0]));
        database.remember(LEAD_MAIL, "", stamp, !rows[1].is_empty());
        of_list.take_in(&database, &rows[OF_TEAMS..], stamp);
    };
    Along { questions: Box::new(ask), answer: Box::new(answer) }
}

fn row_of(database: &Database, directory: &str) -> Statement {
    database.statement(&format!("SELECT {STANDING} FROM @.lists WHERE directory = $1")).text(directory)
}

/// Returns the queries for a few tasks of a list and those tied to them.
fn questions_around(database: &Database, list: &KnownList, few: &FewTasks) -> [Statement; 3] {
    let directory = list.list.directory();
    let [_, leases] = questions(database, directory, &Asked::Everything);
    [row_of(database, directory), question_around(database, directory, &few.tasks), leases]
}

/// Reads the results. A list that does not exist is empty.
fn read_around(
    database: &Database,
    list: &KnownList,
    rows: &[Vec<Row>],
    stamp: &Stamp,
) -> Result<Arc<ListState>, Failure> {
    if rows[0].is_empty() {
        return Ok(Arc::default());
    }
    learn_heartbeats(database, &rows[..3])?;
    Ok(read_part(list, stamp, [&rows[0], &rows[1], &rows[2]])?.state)
}

/// Returns the few tasks that this thread's call concerns, with those tied to them, or `None` if the call concerns
/// others as well.
pub(super) fn look_around(database: &Database, list: &KnownList) -> Result<Option<Arc<ListState>>, StoreError> {
    let directory = list.list.directory();
    let Some(tasks) = database.number.few_tasks(directory) else { return Ok(None) };
    if let Some(around) = database.number.take_around() {
        return Ok(Some(around));
    }
    let (doing, few) = ("read tasks", FewTasks { directory: directory.to_owned(), tasks });
    let asked = database.read_stamped(doing, || questions_around(database, list, &few).into_iter().collect())?;
    let Some((rows, stamp)) = asked else { return Ok(Some(Arc::default())) };
    // The first query of a call includes the same question, which is answered here.
    drop(database.number.take_around());
    let around = read_around(database, list, &rows, &stamp);
    around.map(Some).map_err(|failure| failure.into_store_error(database.shown(), doing))
}
