//! The one writer of a list, from the moment its row is locked.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taskyard::core::{ListId, Rules, TaskId};
use taskyard::store::kit::ListState;
use taskyard::store::{Occupant, StoreError, note_lock_wait};
use tokio_postgres::Row;

use super::catching_up::{Asked, Reader, STANDING, Taken, forget, learn_heartbeats, questions, read_part, take_in};
use super::known_list::{Found, KnownList};
use super::lease_rows;
use super::reading::read_now;
use super::ties::question_around;
use super::turn::WritersTurn;
use crate::connecting::{ANSWER_TIME, Failure, FailureKind, Held, LOCK_WAIT, Statement};
use crate::database::{Database, NotAsked};
use crate::epoch::Stamp;

const DOING: &str = "open a list";

/// The column behind those of [`STANDING`]: how long the lock was waited for, in microseconds.
const WAITED: usize = 13;

/// A transaction of the database that is open. Dropped without a commit, it is rolled back.
#[derive(Debug)]
pub(super) struct Transaction {
    database: Arc<Database>,
    held: Mutex<Option<Held>>,
    /// What the database said when it began.
    stamp: Stamp,
}

impl Transaction {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks something within it.
    pub(super) fn ask(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Failure> {
        let over = || Failure::new(FailureKind::Lost, "the transaction is over");
        self.held().as_mut().ok_or_else(over)?.ask(statements, ANSWER_TIME)
    }

    /// Takes its connection, which from then on is the caller's to end it on.
    pub(super) fn take(&self) -> Option<Held> {
        self.held().take()
    }

    /// Rolls it back, unless its connection was taken.
    fn end(&self) {
        if let Some(mut held) = self.take() {
            self.database.roll_back(&mut held);
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

/// The one writer of a list.
#[derive(Debug)]
pub(super) struct PostgresWriter {
    pub(super) database: Arc<Database>,
    pub(super) transaction: Arc<Transaction>,
    /// Given back after the transaction has ended.
    pub(super) turn: WritersTurn,
    /// The list as it was found under the lock.
    pub(super) found: Found,
    pub(super) rules: Rules,
}

/// A writer, and the list as it found it.
pub(super) type Opened = (PostgresWriter, Arc<ListState>);

/// Whether to wait for other writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Until they are done.
    Wait,
    /// For so long.
    AtMost(Duration),
    /// Not at all.
    DoNotWait,
}

impl Waiting {
    fn patience(self) -> Duration {
        match self {
            Self::Wait => LOCK_WAIT,
            Self::AtMost(patience) => patience,
            Self::DoNotWait => Duration::ZERO,
        }
    }
}

/// Waits for the turn among the threads of this process; `None` if another one writes to the list and the caller does not wait.
pub(super) fn wait_for_turn(list: &Arc<KnownList>, waiting: Waiting) -> Result<Option<WritersTurn>, StoreError> {
    let patience = waiting.patience();
    match WritersTurn::wait(list, patience) {
        None if waiting != Waiting::DoNotWait => {
            Err(StoreError::Busy { by: Occupant::Elsewhere { who: "another thread".to_owned() }, waited: patience })
        }
        turn => Ok(turn),
    }
}

/// Becomes the writer of a list of which only these tasks, and what they are tied to, are read. `None` if that is not possible: the list is
/// new, or another server took over.
pub(super) fn open_part(
    database: &Arc<Database>,
    turn: WritersTurn,
    tasks: &[TaskId],
    waiting: Waiting,
    rules: Rules,
) -> Result<Result<Opened, WritersTurn>, StoreError> {
    let list = Arc::clone(turn.list());
    let directory = list.list.directory();
    let statements = || {
        let [_, leases] = questions(database, directory, &Asked::Everything);
        let mut all = vec![lock(database, directory, waiting), question_around(database, directory, tasks), leases];
        all.extend(database.overdue_heartbeats());
        all
    };
    let opened = database.begin(statements).and_then(|(held, (rows, stamp))| {
        let (database, held) = (Arc::clone(database), Mutex::new(Some(held)));
        let transaction = Arc::new(Transaction { database, held, stamp });
        if rows[0].is_empty() {
            return Ok(None);
        }
        note_wait(&rows[0][0])?;
        learn_heartbeats(&transaction.database, &rows)?;
        let found = read_part(&list, &transaction.stamp, [&rows[0], &rows[1], &rows[2]])?;
        Ok(Some((transaction, found)))
    });
    match opened {
        Ok(Some((transaction, found))) => {
            let (database, state) = (Arc::clone(database), Arc::clone(&found.state));
            Ok(Ok((PostgresWriter { database, transaction, turn, found, rules }, state)))
        }
        Ok(None) | Err(NotAsked::NoYard | NotAsked::Older) => Ok(Err(turn)),
        Err(other) => Err(not_opened(database, &list, waiting, other)),
    }
}

/// Becomes the writer of a list, within a transaction that is open already or in a new one. `None` if another process writes to it and the
/// caller does not wait.
pub(super) fn open(
    database: &Arc<Database>,
    turn: WritersTurn,
    within: Option<&Arc<Transaction>>,
    waiting: Waiting,
    rules: Rules,
) -> Result<Option<Opened>, StoreError> {
    let list = Arc::clone(turn.list());
    let list = &list;
    if list.known().epoch.is_none() {
        // What takes long is read before a writer has to wait for us.
        read_now(database, list)?;
    }
    let opened = match open_once(database, list, within, waiting) {
        Err(NotAsked::NoYard | NotAsked::Older) => {
            database.migrate(DOING)?;
            open_once(database, list, within, waiting)
        }
        opened => opened,
    };
    match opened {
        Ok((transaction, Some(found))) => {
            let (database, state) = (Arc::clone(database), Arc::clone(&found.state));
            Ok(Some((PostgresWriter { database, transaction, turn, found, rules }, state)))
        }
        // The operation starts over from what is there now.
        Ok((_, None)) => {
            database.number.distrust();
            list.confirm_in(None);
            Err(StoreError::Conflict { task: TaskId::number(0) })
        }
        Err(NotAsked::Failed(failure)) if failure.kind() == FailureKind::Locked && waiting == Waiting::DoNotWait => {
            Ok(None)
        }
        Err(other) => Err(not_opened(database, list, waiting, other)),
    }
}

/// Returns why a list cannot be written to.
fn not_opened(database: &Database, list: &KnownList, waiting: Waiting, why: NotAsked) -> StoreError {
    match why {
        NotAsked::Failed(failure) if failure.kind() == FailureKind::Locked => {
            let who = database.holder_of(list.list.directory()).unwrap_or_else(|| "another client".to_owned());
            StoreError::Busy { by: Occupant::Elsewhere { who }, waited: waiting.patience() }
        }
        other => database.error(other, DOING),
    }
}

/// Notes how long a lock was waited for.
fn note_wait(row: &Row) -> Result<(), Failure> {
    note_lock_wait(Duration::from_micros(row.try_get::<_, i64>(WAITED)?.unsigned_abs()));
    Ok(())
}

/// Locks the list and catches up; nothing is found if the database is another than the one that was known.
fn open_once(
    database: &Arc<Database>,
    list: &KnownList,
    within: Option<&Arc<Transaction>>,
    waiting: Waiting,
) -> Result<(Arc<Transaction>, Option<Found>), NotAsked> {
    let directory = list.list.directory();
    let asked = RefCell::new(Asked::Everything);
    let statements = || {
        *asked.borrow_mut() = Asked::beyond(&list.known());
        let mut all = vec![lock(database, directory, waiting)];
        all.extend(questions(database, directory, &asked.borrow()));
        all.extend(database.overdue_heartbeats());
        if let Waiting::AtMost(patience) = waiting {
            // What the commit locks later has the usual time. Zero would be no limit at all.
            let limit = |time: Duration| format!("SET LOCAL lock_timeout = {}", time.as_millis().max(1));
            all.insert(0, Statement::script(limit(patience)));
            all.push(Statement::script(limit(LOCK_WAIT)));
        }
        all
    };
    let (transaction, mut rows) = match within {
        Some(transaction) => (Arc::clone(transaction), transaction.ask(&statements())?),
        None => {
            let (held, (rows, stamp)) = database.begin(statements)?;
            let (database, held) = (Arc::clone(database), Mutex::new(Some(held)));
            (Arc::new(Transaction { database, held, stamp }), rows)
        }
    };
    if matches!(waiting, Waiting::AtMost(_)) {
        rows.remove(0);
    }
    learn_heartbeats(database, &rows)?;
    rows[0].first().map_or(Ok(()), note_wait)?;
    let asked = asked.into_inner();
    let taken = match rows[0].is_empty() {
        true => forget(list, &asked).map_or(Taken::TooMuch, |lost| Taken::OtherHistory(Some(lost))),
        false => take_in(list, &asked, &transaction.stamp, [&rows[0], &rows[1], &rows[2]], Reader::HoldsRow)?,
    };
    match taken {
        Taken::In(found) => {
            list.confirm_in(database.number.confirmed_call());
            return Ok((transaction, Some(found)));
        }
        Taken::TooMuch => {}
        Taken::OtherHistory(lost) => {
            transaction.end();
            if let Some(lost) = lost {
                database.begin_epoch(&transaction.stamp, Some(&lost)).map_err(NotAsked::Store)?;
            }
            return Ok((transaction, None));
        }
    }
    // The list is new, or too far ahead of what is known.
    let mut all = Vec::new();
    if rows[0].is_empty() {
        all.extend(making(database, &list.list, waiting));
    }
    all.push(lock(database, directory, waiting));
    all.extend(questions(database, directory, &Asked::Everything));
    let rows = transaction.ask(&all)?;
    let [standing, contents, leases] = &rows[rows.len() - 3..] else { return Err(NotAsked::NoYard) };
    database.heartbeats.learn(leases, lease_rows::HEARTBEAT, &database.clock.now_in_transaction())?;
    let rows = [&standing[..], &contents[..], &leases[..]];
    match take_in(list, &Asked::Everything, &transaction.stamp, rows, Reader::HoldsRow)? {
        Taken::In(found) => Ok((transaction, Some(found))),
        Taken::TooMuch | Taken::OtherHistory(_) => Ok((transaction, None)),
    }
}

/// Returns what locks the row of a list and says how the list stands, and how long that took.
pub(super) fn lock(database: &Database, directory: &str, waiting: Waiting) -> Statement {
    let how = if waiting == Waiting::DoNotWait { "NOWAIT" } else { "" };
    // The clock is read when the row is locked.
    let sql = format!(
        "WITH locked AS MATERIALIZED (SELECT {STANDING} FROM @.lists WHERE directory = $1 FOR UPDATE {how})
        SELECT locked.*, (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint FROM locked"
    );
    database.statement(&sql).text(directory)
}

/// Returns what makes a list, unless another process does so at the same moment.
pub(crate) fn making(database: &Database, list: &ListId, waiting: Waiting) -> Vec<Statement> {
    let mut all = Vec::new();
    if waiting == Waiting::DoNotWait {
        all.push(Statement::script("SET LOCAL lock_timeout = 50"));
    }
    // No column is named after `CONFLICT`: a role may make a list that it cannot see before it is made.
    let row = "INSERT INTO @.lists (directory, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    all.push(database.statement(row).text(list.directory()).text(super::changes::storable(list.as_str())));
    let clock = "INSERT INTO @.lease_clocks (list) SELECT id FROM @.lists WHERE directory = $1 ON CONFLICT DO NOTHING";
    all.push(database.statement(clock).text(list.directory()));
    all
}

impl PostgresWriter {
    /// Returns the list.
    pub(super) fn list(&self) -> &Arc<KnownList> {
        self.turn.list()
    }
}
