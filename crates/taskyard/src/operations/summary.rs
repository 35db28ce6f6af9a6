//! A list in a few numbers, for whoever looks at it several times a second.

use taskyard_core::rules::looking::summarizing::{Summary, summarize};

use crate::{Error, Yard};

impl Yard {
    /// Returns the list in a few numbers. Nothing else is looked at, and what other programs did may stay unrecorded.
    pub fn summary(&self) -> Result<Summary, Error> {
        let outlines = self.store().care().and_then(|care| care.outlines(self.list_id()));
        let tasks = match outlines {
            Some(outlines) => outlines,
            None => self.store().read(self.list_id())?.unpack()?.tasks,
        };
        Ok(summarize(&tasks, self.rules()))
    }
}
