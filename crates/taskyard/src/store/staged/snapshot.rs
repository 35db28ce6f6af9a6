//! A list as it was when somebody looked.

use std::sync::Arc;

use taskyard_core::{Image, Lease, Revision, Task, TaskId};

use super::kept::{Home, State};
use crate::store::{Lookup, Problem, Snapshot, StoreError};

/// A list at one moment, all of it read.
#[derive(Debug)]
pub(in crate::store) struct StateSnapshot {
    pub(in crate::store) state: Arc<State>,
}

impl Snapshot for StateSnapshot {
    fn exists(&self) -> bool {
        self.state.exists
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

    fn is_one_file(&self) -> bool {
        matches!(self.state.home, Home::File(_))
    }

    fn gives_numbers(&self) -> bool {
        matches!(self.state.home, Home::Memory(_))
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

    fn problems(&self) -> Result<Vec<Problem>, StoreError> {
        Ok(self.state.tasks.values().filter_map(|kept| kept.as_problem(&self.state.home)).collect())
    }
    fn file_name(&self, id: &TaskId) -> String {
        let path = self.state.home.path_of(id);
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn broken(&self, id: &TaskId) -> Result<Option<Image>, StoreError> {
        let kept = self.state.tasks.get(&self.state.name_of(id));
        Ok(kept.and_then(|kept| kept.broken(&self.state.home)))
    }
}
