//! A list in a few numbers, for a caller that looks at it several times a second.

use taskyard_core::rules::looking::summarizing::{Summary, summarize};

use crate::{Error, Yard};

impl Yard {
    /// Returns the list in a few numbers. Nothing else is looked at, and what other programs did may stay unrecorded.
    pub fn summary(&self) -> Result<Summary, Error> {
        let found = self.store().care().and_then(|care| care.summary(self.list_id(), self.rules()));
        match found {
            Some(summary) => Ok(summary),
            None => Ok(summarize(&self.store().read(self.list_id())?.unpack()?.tasks, self.rules())),
        }
    }
}
