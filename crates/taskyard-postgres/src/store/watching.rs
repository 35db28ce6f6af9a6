//! Following a list: a notification tells that something moved, the journal tells what.

use std::sync::Arc;
use std::time::Duration;

use taskyard::core::{Entry, ListId};
use taskyard::store::{HistoryQuery, ListWatch, Moved, StoreError, Watch};

use super::history::history_of;
use crate::database::Database;
use crate::listening::Following;

/// Watches one list.
pub(crate) struct PostgresListWatch {
    database: Arc<Database>,
    list: ListId,
    following: Following,
}

/// Watches which lists there are.
pub(crate) struct PostgresNamesWatch(Following);

impl PostgresListWatch {
    /// Calls `moved` whenever the journal of a list may have grown.
    pub(crate) fn begin(database: &Arc<Database>, list: &ListId, moved: Moved) -> Self {
        let following = database.listening.follow(&database.schema.channel("list", list.directory()), moved);
        Self { database: Arc::clone(database), list: list.clone(), following }
    }
}

impl PostgresNamesWatch {
    /// Calls `moved` whenever a list may have come.
    pub(crate) fn begin(database: &Database, moved: Moved) -> Self {
        Self(database.listening.follow(&database.schema.channel("names", ""), moved))
    }
}

impl Watch for PostgresListWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(self.following.interval()))
    }
}

impl ListWatch for PostgresListWatch {
    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        history_of(&self.database, &self.list, query)
    }
}

impl Watch for PostgresNamesWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, StoreError> {
        Ok(Some(self.0.interval()))
    }
}
