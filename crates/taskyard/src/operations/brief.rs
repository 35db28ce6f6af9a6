//! Summing a list up for an agent that begins to work.

use taskyard_core::rules::claims::briefing::{Brief, brief};

use super::reading::Reading;
use crate::{Error, Yard};

impl Yard {
    /// Returns what an agent that begins to work needs to know of the list.
    pub fn brief(&self) -> Result<Brief, Error> {
        let Reading { tasks, gone, .. } = self.look()?;
        Ok(Brief { gone, ..brief(&tasks, self.now()?.wall, self.rules()) })
    }
}
