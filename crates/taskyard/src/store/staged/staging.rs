//! What a transaction has staged, over the state it began with.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::dialect::native::{self, Unreadable};
use taskyard_core::rules::numbering::Numbers;
use taskyard_core::{Image, Rules, Task, TaskId};

use super::kept::{Kept, State, number_of};
use crate::store::leases::StagedLeases;

/// A state with changes that have not happened yet.
#[derive(Debug)]
pub(in crate::store) struct Staging {
    pub(in crate::store) base: Arc<State>,
    /// Each changed task as it will be; none where it goes.
    pub(in crate::store) staged: BTreeMap<TaskId, Option<Arc<Kept>>>,
    pub(in crate::store) mark: f64,
    pub(in crate::store) leases: StagedLeases,
}

/// Why something cannot be staged.
#[derive(Debug)]
pub(in crate::store) enum CannotStage {
    /// Something stands there that is no task.
    NoTask(Unreadable),
    /// The task is larger than we write.
    TooLarge(native::TooLarge),
}

impl Staging {
    pub(in crate::store) fn over(base: Arc<State>) -> Self {
        let leases = StagedLeases::over(base.leases.values().cloned(), base.last_token);
        Self { mark: base.mark, base, staged: BTreeMap::new(), leases }
    }

    pub(in crate::store) fn get(&self, id: &TaskId) -> Option<&Arc<Kept>> {
        let key = self.base.name_of(id);
        match self.staged.get(&key) {
            Some(staged) => staged.as_ref(),
            None => self.base.tasks.get(&key),
        }
    }

    /// Returns everything kept, by rising number.
    pub(in crate::store) fn all(&self) -> Vec<&Arc<Kept>> {
        let unchanged = self.base.tasks.iter().filter(|(id, _)| !self.staged.contains_key(*id)).map(|(_, kept)| kept);
        let mut all: Vec<_> = unchanged.chain(self.staged.values().flatten()).collect();
        all.sort_by(|one, two| one.id.cmp(&two.id));
        all
    }

    /// Returns the tasks that wait for a task, by rising number.
    pub(in crate::store) fn waiting_for(&self, blocker: &TaskId) -> Vec<Task> {
        let waits = |kept: &&Arc<Kept>| kept.task.as_ref().is_ok_and(|task| task.blocked_by.contains(blocker));
        let unchanged = self.base.tasks.values().filter(waits).filter(|kept| !self.staged.contains_key(&kept.id));
        let staged = self.staged.values().flatten().filter(waits);
        let mut tasks: Vec<Task> = unchanged.chain(staged).filter_map(|kept| kept.task.clone().ok()).collect();
        tasks.sort_by(|one, two| one.id.cmp(&two.id));
        tasks
    }

    pub(in crate::store) fn put(&mut self, task: &Task, rules: Rules) -> Result<(), CannotStage> {
        let over = self.writable(&task.id)?.map(|kept| &kept.image);
        let image = native::write(over, task, rules).map_err(CannotStage::TooLarge)?;
        self.stage(&task.id, image);
        Ok(())
    }

    pub(in crate::store) fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), CannotStage> {
        self.writable(id)?;
        self.stage(id, image);
        Ok(())
    }

    /// Stages what takes the place of contents that no task can be read from, where they still stand there.
    pub(in crate::store) fn replace_broken(&mut self, id: &TaskId, broken: &Image, by: Option<Image>) -> bool {
        let stands = self.get(id).and_then(|kept| kept.broken(&self.base.home)).as_ref() == Some(broken);
        match by {
            Some(image) if stands => self.stage(id, image),
            None if stands => self.unstage(id),
            _ => {}
        }
        stands
    }

    pub(in crate::store) fn remove(&mut self, id: &TaskId) -> Result<(), CannotStage> {
        if self.writable(id)?.is_some() {
            self.unstage(id);
        }
        Ok(())
    }

    pub(in crate::store) fn clear(&mut self, rules: Rules) {
        let going = |kept: &&&Arc<Kept>| rules.is_client() || kept.task.is_ok();
        let ids: Vec<TaskId> = self.all().iter().filter(going).map(|kept| kept.id.clone()).collect();
        for id in ids {
            self.unstage(&id);
        }
    }

    pub(in crate::store) fn numbers(&self) -> Numbers {
        // Names that are no number sort after the empty name, numbers before it.
        let border = TaskId::stored("");
        let still_there = |(id, _): &(&TaskId, &Arc<Kept>)| !self.staged.contains_key(*id);
        let highest_numbered = self.base.tasks.range(..&border).rev().find(still_there).into_iter();
        let named = self.base.tasks.range(&border..).filter(still_there);
        let unchanged = highest_numbered.chain(named).map(|(id, _)| id);
        let staged = self.staged.iter().filter_map(|(id, kept)| kept.as_ref().map(|_| id));
        let highest_file = unchanged.chain(staged).map(number_of).fold(0.0, f64::max);
        Numbers { highest_file, mark: self.mark, journaled: self.base.journaled }
    }

    fn writable(&self, id: &TaskId) -> Result<Option<&Arc<Kept>>, CannotStage> {
        let kept = self.get(id);
        match kept.map(|kept| &kept.task) {
            Some(Err(why)) => Err(CannotStage::NoTask(why.clone())),
            Some(Ok(_)) | None => Ok(kept),
        }
    }

    fn stage(&mut self, id: &TaskId, image: Image) {
        let key = self.base.name_of(id);
        self.staged.insert(key.clone(), Some(Kept::new(key, image)));
    }

    fn unstage(&mut self, id: &TaskId) {
        let key = self.base.name_of(id);
        self.mark = self.mark.max(number_of(&key));
        self.staged.insert(key, None);
    }
}
