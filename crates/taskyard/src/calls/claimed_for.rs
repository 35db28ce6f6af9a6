//! Tasks that an agent claimed in the name of another: the agent that claimed a task through the tools completes it
//! through them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard_core::{AgentName, TaskId};

/// Who claimed which task for whom, for as long as a server runs.
#[derive(Debug, Default)]
pub struct ClaimedFor {
    owners: Mutex<HashMap<(AgentName, TaskId), AgentName>>,
}

impl ClaimedFor {
    /// Remembers that an agent claimed a task for an owner.
    pub(super) fn remember(&self, agent: &AgentName, task: &TaskId, owner: &AgentName) {
        self.owners().insert((agent.clone(), task.clone()), owner.clone());
    }

    /// Returns for whom an agent claimed a task, where it did.
    pub(super) fn owner(&self, agent: &AgentName, task: &TaskId) -> Option<AgentName> {
        self.owners().get(&(agent.clone(), task.clone())).cloned()
    }

    /// Forgets a task that is done.
    pub(super) fn forget(&self, agent: &AgentName, task: &TaskId) {
        self.owners().remove(&(agent.clone(), task.clone()));
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<(AgentName, TaskId), AgentName>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
