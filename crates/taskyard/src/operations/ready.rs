//! What can start now.

use taskyard_core::rules::readiness::{Ranked, rank};

use crate::{Error, Yard};

impl Yard {
    /// Returns what can start now, best first: by priority, then by the chain behind it, then by number.
    pub fn ready(&self, limit: Option<usize>) -> Result<Vec<Ranked>, Error> {
        Ok(rank(&self.look()?.tasks, limit))
    }
}
