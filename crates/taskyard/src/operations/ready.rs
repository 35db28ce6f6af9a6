//! What can start now.

use taskyard_core::rules::readiness::{Ranked, rank};

use super::reading::Reading;
use crate::{Error, Yard};

impl Yard {
    /// Returns what can start now, best first: by priority, then by the chain behind it, then by number.
    pub fn ready(&self, limit: Option<usize>) -> Result<Vec<Ranked>, Error> {
        let Reading { tasks, missing, .. } = self.look()?;
        if missing.is_empty() {
            return Ok(rank(&tasks, limit));
        }
        let mut ranked = rank(&tasks, None);
        ranked.retain(|ranked| !missing.contains_key(&ranked.task.id));
        ranked.truncate(limit.unwrap_or(usize::MAX));
        Ok(ranked)
    }
}
