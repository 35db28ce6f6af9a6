//! Looking at a list without a lock.

use std::sync::Arc;

use taskyard::core::{Lease, Revision, Rules, Task, TaskId};
use taskyard::store::kit::{ListState, StateSnapshot};
use taskyard::store::{LiveView, Lookup, Snapshot, StoreError, UnreadableTask};

use super::catching_up::{Asked, STANDING, questions, take_in};
use super::known_list::KnownList;
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

/// Reads a list without a lock; one that does not exist is empty.
pub(super) fn read(database: &Database, list: &KnownList) -> Result<Arc<ListState>, StoreError> {
    let directory = list.list.directory();
    let mut asked = Asked::beyond(&list.known());
    loop {
        let rows = database.read("read a list", || {
            let standing = database.statement(&format!("SELECT {STANDING} FROM @.lists WHERE directory = $1"));
            let mut all = vec![standing.text(directory)];
            all.extend(questions(database, directory, asked));
            all
        })?;
        let standing = rows.as_ref().and_then(|rows| Some((rows[0].first()?, rows)));
        let Some((standing, rows)) = standing else {
            let mut known = list.known();
            known.forget();
            return Ok(Arc::clone(&known.state));
        };
        let taken_in = take_in(list, asked, standing, &rows[1], &rows[2]);
        match taken_in.map_err(|failure| failure.into_store_error(database.shown(), "read a list"))? {
            Some(found) => return Ok(found.state),
            None => asked = Asked::Everything,
        }
    }
}
