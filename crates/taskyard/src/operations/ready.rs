//! What can start now.

use taskyard_core::rules::claims::readiness::{Ranked, rank};
use taskyard_core::rules::history::vanishing::Gone;

use super::reading::Reading;
use crate::{Error, Yard};

/// What can start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The tasks, best first: by priority, what is overdue first, then by the chain behind each, then by number.
    pub ranked: Vec<Ranked>,
    /// What is gone, where no task file is left though no agent deleted the tasks.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns what can start now.
    pub fn ready(&self, limit: Option<usize>) -> Result<Ready, Error> {
        let Reading { tasks, missing, gone, .. } = self.look()?;
        let now = self.now()?.wall;
        if missing.is_empty() {
            return Ok(Ready { ranked: rank(&tasks, limit, now, self.rules()), gone });
        }
        let mut ranked = rank(&tasks, None, now, self.rules());
        ranked.retain(|ranked| !missing.contains_key(&ranked.task.id));
        ranked.truncate(limit.unwrap_or(usize::MAX));
        Ok(Ready { ranked, gone })
    }
}
