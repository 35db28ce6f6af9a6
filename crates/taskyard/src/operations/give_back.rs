//! Giving a task back with a word about why.

use taskyard_core::TaskId;
use taskyard_core::rules::changes::notes::with_note;
use taskyard_core::rules::claims::attempts::with_failed_attempt;

use super::Released;
use crate::{Error, Outcome, Yard};

impl Yard {
    /// Gives back a task at which an attempt failed: the reason is noted and the attempt counted, in the same commit.
    pub fn give_back_failed(&self, id: &TaskId, reason: &str) -> Result<Outcome<Released>, Error> {
        let note = self.new_note(reason)?;
        self.release_changed(id, |task| *task = with_failed_attempt(&with_note(task, &note)))
    }

    /// Gives back a task that was interrupted: the reason is noted, and no attempt is counted.
    pub fn give_back_interrupted(&self, id: &TaskId, reason: &str) -> Result<Outcome<Released>, Error> {
        let note = self.new_note(reason)?;
        self.release_changed(id, |task| *task = with_note(task, &note))
    }
}
