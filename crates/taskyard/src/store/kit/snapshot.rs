//! A list as it was when a reader looked.

use std::sync::Arc;

use taskyard_core::{Lease, Revision, Task, TaskId};

use super::state::ListState;
use crate::store::{Lookup, Snapshot, StoreError, UnreadableTask};

/// A list at one moment, all of it read.
#[derive(Debug)]
pub struct StateSnapshot {
    /// The list as it was.
    pub state: Arc<ListState>,
}

impl Snapshot for StateSnapshot {
    fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.state.exists)
    }

    fn revision(&self) -> Revision {
        self.state.revision
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        Ok(self.state.tasks.get(&self.state.name_of(id)).map_or(Lookup::Missing, |kept| kept.lookup(&self.state.home)))
    }

    fn counts_missing(&self) -> bool {
        self.state.counts_missing
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        let mut tasks: Vec<Task> =
            self.state.tasks.values().filter_map(|kept| kept.task.as_ref().ok().cloned()).collect();
        if !self.state.places.is_empty() {
            tasks.sort_by_key(|task| self.state.place_of(&task.id));
        }
        Ok(tasks)
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        Ok(self.state.leases.values().cloned().collect())
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        Ok(self.state.tasks.values().filter_map(|kept| kept.as_problem(&self.state.home)).collect())
    }
}
