//! A list as it was when somebody looked.

use std::sync::Arc;

use taskyard_core::{Lease, ListId, Revision, Task, TaskId};

use super::kept::{State, key_of};
use crate::store::{Lookup, Problem, Snapshot, StoreError};

#[derive(Debug)]
pub(super) struct MemorySnapshot {
    pub(super) list: ListId,
    pub(super) state: Arc<State>,
}

impl Snapshot for MemorySnapshot {
    fn exists(&self) -> bool {
        self.state.exists
    }

    fn revision(&self) -> Revision {
        self.state.revision
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        Ok(self.state.tasks.get(&key_of(id)).map_or(Lookup::Missing, |kept| kept.lookup(&self.list)))
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        Ok(self.state.tasks.values().filter_map(|kept| kept.task.as_ref().ok().cloned()).collect())
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        Ok(self.state.leases.values().cloned().collect())
    }

    fn problems(&self) -> Result<Vec<Problem>, StoreError> {
        Ok(self.state.tasks.values().filter_map(|kept| kept.as_problem(&self.list)).collect())
    }
}
