//! What every verb that only looks begins with.

use std::collections::HashSet;

use taskyard_core::{Revision, Task, TaskId};

use crate::store::{Problem, Unpacked};
use crate::{Error, Yard};

/// A list as it was read.
pub(super) struct Reading {
    /// The tasks, by number. Where a file cannot be read at this moment, its last known state stands in its place.
    pub(super) tasks: Vec<Task>,
    pub(super) problems: Vec<Problem>,
    pub(super) revision: Revision,
    pub(super) exists: bool,
}

impl Yard {
    /// Reads the whole list.
    pub(super) fn look(&self) -> Result<Reading, Error> {
        let Unpacked { mut tasks, problems, revision, exists } = self.store().read(self.list_id())?.unpack()?;
        // To the client a file it cannot read is not there.
        if !self.rules().is_client() && problems.iter().any(|problem| problem.last_known.is_some()) {
            let there: HashSet<TaskId> = tasks.iter().map(|task| task.id.clone()).collect();
            let last_known = problems.iter().filter_map(|problem| problem.last_known.as_deref());
            tasks.extend(last_known.filter(|task| !there.contains(&task.id)).cloned());
            tasks.sort_by(|one, two| one.id.cmp(&two.id));
        }
        Ok(Reading { tasks, problems, revision, exists })
    }
}
