//! What can start now.

use taskyard_core::rules::claims::readiness::{Ranked, rank};
use taskyard_core::rules::history::vanishing::Gone;
use taskyard_core::{Lease, Task};

use super::reading::Reading;
use crate::{Error, Yard};

/// What can start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The tasks, best first: by priority, what is overdue first, then by the chain behind each, then by number.
    pub ranked: Vec<Ranked>,
    /// Tasks in progress for a session that has ended. `claim` takes them over.
    pub stale: Vec<Task>,
    /// What is gone, where no task file is left though no agent deleted the tasks.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns what can start now.
    pub fn ready(&self, limit: Option<usize>) -> Result<Ready, Error> {
        let Reading { tasks, leases, missing, gone, .. } = self.look()?;
        let leases: Vec<Lease> = leases.into_iter().map(|(lease, _)| lease).collect();
        let stale = self.of_ended_sessions(&tasks, &leases)?;
        let stale = stale.into_iter().map(|abandoned| abandoned.task).collect();
        let now = self.now()?.wall;
        if missing.is_empty() {
            return Ok(Ready { ranked: rank(&tasks, limit, now, self.rules()), stale, gone });
        }
        let mut ranked = rank(&tasks, None, now, self.rules());
        ranked.retain(|ranked| !missing.contains_key(&ranked.task.id));
        ranked.truncate(limit.unwrap_or(usize::MAX));
        Ok(Ready { ranked, stale, gone })
    }
}
