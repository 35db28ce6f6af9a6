//! Finding tasks by words.

use taskyard_core::rules::searching::{self, Hit};

use crate::{Error, Yard};

impl Yard {
    /// Returns the tasks in which every word occurs somewhere, best first; internal ones only where they are wanted.
    pub fn search(&self, words: &str, internal: bool) -> Result<Vec<Hit>, Error> {
        let mut tasks = self.look()?.tasks;
        tasks.retain(|task| internal || !task.is_internal());
        Ok(searching::search(tasks, words))
    }
}
