//! Tasks that an agent claimed in the name of another: the agent that claimed a task through the tools completes it
//! through them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard::core::{AgentName, TaskId};

/// How many claims are remembered; the oldest are forgotten first.
const CLAIMS: usize = 4_096;

/// Who claimed which task for whom, for as long as a server runs.
#[derive(Debug, Default)]
pub struct ClaimedFor {
    claims: Mutex<Claims>,
}

#[derive(Debug, Default)]
struct Claims {
    owners: HashMap<(AgentName, TaskId), AgentName>,
    order: VecDeque<(AgentName, TaskId)>,
}

impl ClaimedFor {
    /// Remembers that an agent claimed a task for an owner.
    pub(super) fn remember(&self, agent: &AgentName, task: &TaskId, owner: &AgentName) {
        let mut claims = self.claims();
        let claim = (agent.clone(), task.clone());
        if claims.owners.insert(claim.clone(), owner.clone()).is_none() {
            claims.order.push_back(claim);
        }
        if claims.order.len() > CLAIMS
            && let Some(oldest) = claims.order.pop_front()
        {
            claims.owners.remove(&oldest);
        }
    }

    /// Returns for whom an agent claimed a task, where it did.
    pub(super) fn owner(&self, agent: &AgentName, task: &TaskId) -> Option<AgentName> {
        self.claims().owners.get(&(agent.clone(), task.clone())).cloned()
    }

    /// Forgets a task that is done.
    pub(super) fn forget(&self, agent: &AgentName, task: &TaskId) {
        let (mut claims, claim) = (self.claims(), (agent.clone(), task.clone()));
        if claims.owners.remove(&claim).is_some() {
            claims.order.retain(|known| *known != claim);
        }
    }

    fn claims(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
