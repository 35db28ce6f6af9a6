//! The one writer of a list, from the moment its row is locked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard::core::{ListId, Rules};
use taskyard::store::kit::ListState;
use taskyard::store::{Occupant, StoreError};
use tokio_postgres::Row;

use super::catching_up::{Asked, STANDING, questions, take_in};
use super::known_list::{Found, KnownList};
use super::reading::read;
use super::turn::WritersTurn;
use crate::connecting::{ANSWER_TIME, Failure, FailureKind, Held, LOCK_WAIT, Statement};
use crate::database::{Database, NotAsked};

const DOING: &str = "open a list";

/// A transaction of the database that is open. Dropped without a commit, it is rolled back.
#[derive(Debug)]
pub(super) struct Transaction {
    database: Arc<Database>,
    held: Mutex<Option<Held>>,
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
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(mut held) = self.take() {
            self.database.roll_back(&mut held);
        }
    }
}

/// The one writer of a list.
#[derive(Debug)]
pub(super) struct PostgresWriter {
    pub(super) database: Arc<Database>,
    pub(super) transaction: Arc<Transaction>,
    /// Given back after the transaction has ended.
    pub(super) turn: WritersTurn,
    /// The list's number.
    pub(super) id: i64,
    /// The count of lease changes that it has seen.
    pub(super) lease_version: i64,
    pub(super) rules: Rules,
}

/// A writer, and the list as it found it.
pub(super) type Opened = (PostgresWriter, Arc<ListState>);

/// Whether to wait for other writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Until they are done.
    Wait,
    /// Not at all.
    DoNotWait,
}

/// Becomes the writer of a list, within a transaction that is open already or in a new one. None where another writer is at it and the
/// caller does not wait.
pub(super) fn open(
    database: &Arc<Database>,
    list: &Arc<KnownList>,
    within: Option<&Arc<Transaction>>,
    waiting: Waiting,
    rules: Rules,
) -> Result<Option<Opened>, StoreError> {
    let longest = if waiting == Waiting::Wait { LOCK_WAIT } else { std::time::Duration::ZERO };
    let Some(turn) = WritersTurn::wait(list, longest) else {
        return match waiting {
            Waiting::DoNotWait => Ok(None),
            Waiting::Wait => {
                let by = Occupant::Elsewhere { who: "another thread".to_owned() };
                Err(StoreError::Busy { by, waited: LOCK_WAIT })
            }
        };
    };
    if list.known().id.is_none() {
        // What takes long is read before a writer has to wait for us.
        read(database, list)?;
    }
    let opened = match open_once(database, list, within, waiting) {
        Err(NotAsked::NoYard) => {
            database.migrate(DOING)?;
            open_once(database, list, within, waiting)
        }
        opened => opened,
    };
    match opened {
        Ok((transaction, Found { id, state, lease_version })) => {
            let database = Arc::clone(database);
            Ok(Some((PostgresWriter { database, transaction, turn, id, lease_version, rules }, state)))
        }
        Err(NotAsked::Failed(failure)) if failure.kind() == FailureKind::Locked && waiting == Waiting::DoNotWait => {
            Ok(None)
        }
        Err(other) => Err(database.error(other, DOING)),
    }
}

fn open_once(
    database: &Arc<Database>,
    list: &KnownList,
    within: Option<&Arc<Transaction>>,
    waiting: Waiting,
) -> Result<(Arc<Transaction>, Found), NotAsked> {
    let asked = Asked::beyond(&list.known());
    let directory = list.list.directory();
    let statements = || {
        let mut all = vec![lock(database, directory, waiting)];
        all.extend(questions(database, directory, asked));
        all
    };
    let (transaction, rows) = match within {
        Some(transaction) => (Arc::clone(transaction), transaction.ask(&statements())?),
        None => {
            let (held, rows) = database.begin(statements)?;
            (Arc::new(Transaction { database: Arc::clone(database), held: Mutex::new(Some(held)) }), rows)
        }
    };
    if let Some(standing) = rows[0].first()
        && let Some(found) = take_in(list, asked, standing, &rows[1], &rows[2])?
    {
        return Ok((transaction, found));
    }
    // The list is new, or is not the one that was known.
    let mut all = Vec::new();
    if rows[0].is_empty() {
        all.extend(making(database, &list.list, waiting));
    }
    all.push(lock(database, directory, waiting));
    all.extend(questions(database, directory, Asked::Everything));
    let rows = transaction.ask(&all)?;
    let [standing, contents, leases] = &rows[rows.len() - 3..] else { return Err(NotAsked::NoYard) };
    let standing = standing.first().ok_or_else(|| Failure::new(FailureKind::Wrong, "the list is not there"))?;
    let found = take_in(list, Asked::Everything, standing, contents, leases)?;
    Ok((transaction, found.ok_or_else(|| Failure::new(FailureKind::Clash, "the list changes all the time"))?))
}

/// Returns what locks the row of a list and says how the list stands.
pub(super) fn lock(database: &Database, directory: &str, waiting: Waiting) -> Statement {
    let how = if waiting == Waiting::Wait { "" } else { "NOWAIT" };
    database.statement(&format!("SELECT {STANDING} FROM @.lists WHERE directory = $1 FOR UPDATE {how}")).text(directory)
}

/// Returns what makes a list, unless another process does so at the same moment.
fn making(database: &Database, list: &ListId, waiting: Waiting) -> Vec<Statement> {
    let mut all = Vec::new();
    if waiting == Waiting::DoNotWait {
        all.push(Statement::script("SET LOCAL lock_timeout = 50"));
    }
    let row = "INSERT INTO @.lists (directory, name) VALUES ($1, $2) ON CONFLICT (directory) DO NOTHING";
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
