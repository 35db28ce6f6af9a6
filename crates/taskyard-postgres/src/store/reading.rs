//! Looking at a list without a lock.

use std::cell::RefCell;
use std::sync::Arc;

use taskyard::core::{Lease, Revision, Rules, Task, TaskId};
use taskyard::store::kit::{ListState, StateSnapshot};
use taskyard::store::{LiveView, Lookup, Snapshot, StoreError, UnreadableTask};
use tokio_postgres::Row;

use super::catching_up::{Asked, Reader, STANDING, Taken, forget, learn_heartbeats, must_be_here, questions, take_in};
use super::known_list::KnownList;
use crate::connecting::{Failure, Statement};
use crate::database::Database;

/// A list at one moment, and the same list as this process keeps it in memory.
#[derive(Debug)]
pub(super) struct PostgresSnapshot {
    then: StateSnapshot,
    now: Arc<KnownList>,
    database: Arc<Database>,
    rules: Rules,
}

impl PostgresSnapshot {
    /// Looks at a list.
    pub(super) fn take(database: &Arc<Database>, list: Arc<KnownList>, rules: Rules) -> Result<Self, StoreError> {
        let then = StateSnapshot { state: read(database, &list)? };
        Ok(Self { then, now: list, database: Arc::clone(database), rules })
    }

    /// Returns a list as it was last seen; `None` if it was not, or nothing seen of it counts any more.
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
        // The look told what time it is.
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

/// Tells whether a list exists, without reading it. A list stays, once it has come.
pub(super) fn exists(database: &Database, list: &KnownList) -> Result<bool, StoreError> {
    let (doing, directory) = ("look for a list", list.list.directory());
    if list.known().state.exists || database.number.has_found(directory) {
        return Ok(true);
    }
    let rows = database.read(doing, || vec![existence(database, directory)])?;
    let found = rows.map_or(Ok(false), |rows| is_there(&rows[0]));
    found.map_err(|failure| failure.into_store_error(database.shown(), doing))
}

/// Returns what asks whether a list exists.
pub(super) fn existence(database: &Database, directory: &str) -> Statement {
    database.statement("SELECT revision > 0, moved FROM @.lists WHERE directory = $1").text(directory)
}

/// Reads the answer; fails if the list has moved to another store.
pub(super) fn is_there(rows: &[Row]) -> Result<bool, Failure> {
    let Some(row) = rows.first() else { return Ok(false) };
    must_be_here(row, 1)?;
    Ok(row.try_get(0)?)
}

/// Reads a list without a lock; one that does not exist is empty. In a call that has read it a moment ago, it is as it was then.
pub(super) fn read(database: &Database, list: &KnownList) -> Result<Arc<ListState>, StoreError> {
    let is_current = database.number.confirmed_call().is_some_and(|call| list.is_confirmed_in(call));
    // A statement of its own: what is known is not locked while the database is asked.
    let found = list.known().found();
    match found.filter(|_| is_current) {
        Some(found) => Ok(found.state),
        None => read_now(database, list),
    }
}

/// Does the same, and asks the database in any case.
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
            // Asked for again, so that it is of the new epoch.
            Taken::OtherHistory(lost) => {
                is_read_anew = true;
                if let Some(lost) = lost {
                    database.try_begin_epoch(&stamp, &lost);
                }
            }
        }
    }
}
