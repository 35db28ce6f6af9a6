//! Counting a list.

use taskyard_core::rules::statistics::{Stats, tally};

use super::reading::Reading;
use crate::{Error, Yard};

impl Yard {
    /// Counts the list.
    pub fn stats(&self) -> Result<Stats, Error> {
        let Reading { tasks, problems, revision, gone, .. } = self.look()?;
        Ok(Stats { gone, ..tally(&tasks, problems.len(), revision, self.rules()) })
    }
}
