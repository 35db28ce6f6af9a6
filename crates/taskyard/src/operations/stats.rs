//! Counting a list.

use taskyard_core::rules::statistics::{Stats, tally};

use super::reading::Reading;
use crate::{Error, Yard};

impl Yard {
    /// Counts the list.
    pub fn stats(&self) -> Result<Stats, Error> {
        let Reading { tasks, problems, revision, .. } = self.look()?;
        Ok(tally(&tasks, problems.len(), revision))
    }
}
