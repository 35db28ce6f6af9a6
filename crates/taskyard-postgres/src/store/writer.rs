//! The writer of a list: locking its row, and taking turns with this process's other threads.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskyard::core::{ListId, Rules, TaskId};
use taskyard::store::kit::ListState;
use taskyard::store::{Occupant, StoreError, note_lock_wait};
use tokio_postgres::Row;

use super::catching_up::{Asked, Reader, STANDING, Taken, forget, learn_heartbeats, questions, read_part, take_in};
use super::known_list::{Found, KnownList};
use super::lease_rows;
use crate::connecting::{ANSWER_TIME, Failure, FailureKind, Held, LOCK_WAIT, Statement};
use crate::database::{Database, NotAsked};
use crate::server_clock::Stamp;
use crate::store::known_list::question_around;
use crate::store::watching::read_now;

const DOING: &str = "open a list";

/// The column after those of [`STANDING`]: the wait for the lock, in microseconds.
const WAITED: usize = 13;

/// An open transaction. Rolled back on drop unless committed.
#[derive(Debug)]
pub(super) struct Transaction {
    database: Arc<Database>,
    held: Mutex<Option<Held>>,
    /// The stamp from when it began.
    stamp: Stamp,
}

impl Transaction {
    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs statements within the transaction.
    pub(super) fn ask(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Failure> {
        let over = || Failure::new(FailureKind::Lost, "the transaction is over");
        self.held().as_mut().ok_or_else(over)?.ask(statements, ANSWER_TIME)
    }

    /// Takes the connection. The caller must then end the transaction.
    pub(super) fn take(&self) -> Option<Held> {
        self.held().take()
    }

    /// Rolls back, unless the connection was taken.
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

/// The only writer of a list.
#[derive(Debug)]
pub(super) struct PostgresWriter {
    pub(super) database: Arc<Database>,
    pub(super) transaction: Arc<Transaction>,
    /// Released after the transaction has ended.
    pub(super) turn: WritersTurn,
    /// The list as found under the lock.
    pub(super) found: Found,
    pub(super) rules: Rules,
}

/// A writer, and the state it found.
pub(super) type Opened = (PostgresWriter, Arc<ListState>);

/// Whether to wait for other writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Wait until they are done.
    Wait,
    /// Wait for at most this long.
    AtMost(Duration),
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

/// Waits for the turn among this process's threads. Returns `None` if another one writes to the list and the caller
/// does not wait.
pub(super) fn wait_for_turn(list: &Arc<KnownList>, waiting: Waiting) -> Result<Option<WritersTurn>, StoreError> {
    let patience = waiting.patience();
    match WritersTurn::wait(list, patience) {
        None if waiting != Waiting::DoNotWait => {
            Err(StoreError::Busy { by: Occupant::Elsewhere { who: "another thread".to_owned() }, waited: patience })
        }
        turn => Ok(turn),
    }
}

/// Opens a list for writing, reading only these tasks and those tied to them. Returns the turn if that is impossible:
/// the list is new, or another server took over.
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

/// Opens a list for writing, within an open transaction or a new one. Returns `None` if another process writes to it
/// and the caller does not wait.
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
        // Do the slow reading before locking out other writers.
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
        // The operation restarts from the current state.
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

/// Returns the error for a list that could not be opened for writing.
fn not_opened(database: &Database, list: &KnownList, waiting: Waiting, why: NotAsked) -> StoreError {
    match why {
        NotAsked::Failed(failure) if failure.kind() == FailureKind::Locked => {
            let who = database.holder_of(list.list.directory()).unwrap_or_else(|| "another client".to_owned());
            StoreError::Busy { by: Occupant::Elsewhere { who }, waited: waiting.patience() }
        }
        other => database.error(other, DOING),
    }
}

fn note_wait(row: &Row) -> Result<(), Failure> {
    note_lock_wait(Duration::from_micros(row.try_get::<_, i64>(WAITED)?.unsigned_abs()));
    Ok(())
}

/// Locks the list and catches up. The list is `None` if the database has another history than the one known.
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
            // What the commit locks later gets the usual timeout. Zero would mean no limit at all.
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

/// Returns the statement that locks a list's row and returns it, with the time the lock took.
pub(super) fn lock(database: &Database, directory: &str, waiting: Waiting) -> Statement {
    let how = if waiting == Waiting::DoNotWait { "NOWAIT" } else { "" };
    // The clock is read after the row is locked.
    let sql = format!(
        "WITH locked AS MATERIALIZED (SELECT {STANDING} FROM @.lists WHERE directory = $1 FOR UPDATE {how})
        SELECT locked.*, (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000000)::bigint FROM locked"
    );
    database.statement(&sql).text(directory)
}

/// Returns the statements that create a list, unless another process creates it at the same time.
pub(crate) fn making(database: &Database, list: &ListId, waiting: Waiting) -> Vec<Statement> {
    let mut all = Vec::new();
    if waiting == Waiting::DoNotWait {
        all.push(Statement::script("SET LOCAL lock_timeout = 50"));
    }
    // `ON CONFLICT` names no column: a role may create a list that it could not see before.
    let row = "INSERT INTO @.lists (directory, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    all.push(database.statement(row).text(list.directory()).text(crate::store::change_rows::storable(list.as_str())));
    let clock = "INSERT INTO @.lease_clocks (list) SELECT id FROM @.lists WHERE directory = $1 ON CONFLICT DO NOTHING";
    all.push(database.statement(clock).text(list.directory()));
    all
}

impl PostgresWriter {
    pub(super) fn list(&self) -> &Arc<KnownList> {
        self.turn.list()
    }
}

/// The right to write to the list within this process. Released on drop.
#[derive(Debug)]
pub(super) struct WritersTurn(Arc<KnownList>);

impl WritersTurn {
    /// Waits until no other thread of this process writes to the list, or returns `None` after `longest`.
    pub(super) fn wait(list: &Arc<KnownList>, longest: Duration) -> Option<Self> {
        let started = Instant::now();
        let queue = &list.queue;
        let mut is_taken = queue.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *is_taken {
            let left = longest.checked_sub(started.elapsed())?;
            is_taken = queue.free.wait_timeout(is_taken, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *is_taken = true;
        note_lock_wait(started.elapsed());
        Some(Self(Arc::clone(list)))
    }

    pub(super) fn list(&self) -> &Arc<KnownList> {
        &self.0
    }
}

impl Drop for WritersTurn {
    fn drop(&mut self) {
        *self.0.queue.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.queue.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use taskyard::core::ListId;

    use super::WritersTurn;
    use crate::store::known_list::KnownLists;

    #[test]
    fn only_one_writer_of_a_process_has_its_turn() {
        let list = KnownLists::that_keeps(Duration::MAX).get(&ListId::new("L").unwrap(), "shown");
        let first = WritersTurn::wait(&list, Duration::ZERO).expect("nobody writes");
        assert!(WritersTurn::wait(&list, Duration::ZERO).is_none());
        let second = thread::spawn({
            let list = list.clone();
            move || WritersTurn::wait(&list, Duration::MAX).is_some()
        });
        drop(first);
        assert!(second.join().unwrap());
        assert!(WritersTurn::wait(&list, Duration::ZERO).is_some());
    }
}
