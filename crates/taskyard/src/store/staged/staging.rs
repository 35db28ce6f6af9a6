//! What a transaction has staged, over the state it began with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use taskyard_core::dialect::native;
use taskyard_core::rules::numbering::Numbers;
use taskyard_core::{Image, Lease, Rules, Task, TaskId};

use super::kept::{Kept, State, key_of, number_of};
use crate::store::leases::StagedLeases;
use crate::store::{Lookup, NewLease, Problem, StoreError};

/// A state with changes that have not happened yet.
#[derive(Debug)]
pub(in crate::store) struct Staging {
    pub(in crate::store) base: Arc<State>,
    /// Each changed task as it will be; none where it goes.
    pub(in crate::store) staged: BTreeMap<TaskId, Option<Arc<Kept>>>,
    /// Tasks that are not there, and of which the journal is to say that this is meant.
    noted: BTreeSet<TaskId>,
    pub(in crate::store) mark: f64,
    pub(in crate::store) leases: StagedLeases,
}

impl Staging {
    pub(in crate::store) fn over(base: Arc<State>) -> Self {
        let leases = StagedLeases::over(base.leases.values().cloned(), base.last_token);
        Self { mark: base.mark, base, staged: BTreeMap::new(), noted: BTreeSet::new(), leases }
    }

    pub(in crate::store) fn get(&self, id: &TaskId) -> Option<&Arc<Kept>> {
        let key = self.base.name_of(id);
        match self.staged.get(&key) {
            Some(staged) => staged.as_ref(),
            None => self.base.tasks.get(&key),
        }
    }

    /// Tells whether the list exists, with what is staged.
    pub(in crate::store) fn exists(&self) -> bool {
        self.base.exists || self.staged.values().any(Option::is_some)
    }

    pub(in crate::store) fn find(&self, id: &TaskId) -> Lookup {
        self.get(id).map_or(Lookup::Missing, |kept| kept.lookup(&self.base.home))
    }

    /// Returns every readable task, by rising number.
    pub(in crate::store) fn tasks(&self) -> Vec<Task> {
        self.all().into_iter().filter_map(|kept| kept.task.as_ref().ok().cloned()).collect()
    }

    /// Returns what is no task, by rising number.
    pub(in crate::store) fn problems(&self) -> Vec<Problem> {
        self.all().into_iter().filter_map(|kept| kept.as_problem(&self.base.home)).collect()
    }

    /// Returns everything kept, by rising number or in the order of the files.
    fn all(&self) -> Vec<&Arc<Kept>> {
        let unchanged = self.base.tasks.iter().filter(|(id, _)| !self.staged.contains_key(*id)).map(|(_, kept)| kept);
        let mut all: Vec<_> = unchanged.chain(self.staged.values().flatten()).collect();
        all.sort_by(|one, two| one.id.cmp(&two.id));
        if !self.base.places.is_empty() {
            all.sort_by_key(|kept| self.base.place_of(&kept.id));
        }
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

    pub(in crate::store) fn put(&mut self, task: &Task, rules: Rules) -> Result<(), StoreError> {
        let over = self.writable(&task.id)?.map(|kept| &kept.image);
        let image = native::write(over, task, rules)
            .map_err(|source| StoreError::TooLarge { task: task.id.clone(), source })?;
        self.stage(&task.id, image);
        Ok(())
    }

    pub(in crate::store) fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
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

    pub(in crate::store) fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        if self.writable(id)?.is_some() {
            self.unstage(id);
        }
        Ok(())
    }

    pub(in crate::store) fn note_absent(&mut self, id: &TaskId) {
        if self.get(id).is_none() {
            self.unstage(id);
            self.noted.insert(self.base.name_of(id));
        }
    }

    /// Returns every task that the journal is to have an entry of, with what it was and what it will be.
    pub(in crate::store) fn changes(&self) -> Vec<(TaskId, Option<Image>, Option<Arc<Kept>>)> {
        let was = |task: &TaskId| self.base.tasks.get(task).map(|kept| kept.image.clone());
        let all = self.staged.iter().map(|(task, after)| (task.clone(), was(task), after.clone()));
        let is_changed = |before: &Option<Image>, after: &Option<Arc<Kept>>| {
            before.as_ref() != after.as_ref().map(|kept| &kept.image)
        };
        all.filter(|(task, before, after)| is_changed(before, after) || self.is_noted(task, after)).collect()
    }

    /// Tells whether all there is to write of a task is that it is not there.
    fn is_noted(&self, task: &TaskId, after: &Option<Arc<Kept>>) -> bool {
        after.is_none() && self.noted.contains(task)
    }

    pub(in crate::store) fn clear(&mut self, rules: Rules) {
        let going = |kept: &&&Arc<Kept>| rules.is_client() || kept.task.is_ok();
        let ids: Vec<TaskId> = self.all().iter().filter(going).map(|kept| kept.id.clone()).collect();
        for id in ids {
            self.unstage(&id);
        }
    }

    pub(in crate::store) fn grant(&mut self, lease: NewLease) -> Lease {
        self.leases.grant(NewLease { task: self.base.name_of(&lease.task), ..lease })
    }

    pub(in crate::store) fn end_lease(&mut self, task: &TaskId) {
        self.leases.end(&key_of(task));
        self.leases.end(task);
    }

    pub(in crate::store) fn numbers(&self) -> Numbers {
        // Names that are no number sort after the empty name, numbers before it.
        let border = TaskId::stored("");
        let still_there = |(id, _): &(&TaskId, &Arc<Kept>)| !self.staged.contains_key(*id);
        let counts = |(id, _): &(&TaskId, &Arc<Kept>)| number_of(id) > 0.0;
        let highest_numbered = self.base.tasks.range(..&border).rev().filter(counts).find(still_there).into_iter();
        let named = self.base.tasks.range(&border..).filter(still_there);
        let unchanged = highest_numbered.chain(named).map(|(id, _)| id);
        let staged = self.staged.iter().filter_map(|(id, kept)| kept.as_ref().map(|_| id));
        let highest_file = unchanged.chain(staged).map(number_of).fold(0.0, f64::max);
        Numbers { highest_file, mark: self.mark, journaled: self.base.journaled }
    }

    fn writable(&self, id: &TaskId) -> Result<Option<&Arc<Kept>>, StoreError> {
        let kept = self.get(id);
        match kept.map(|kept| &kept.task) {
            Some(Err(why)) => Err(StoreError::NoTask { path: self.base.home.path_of(id), why: why.clone() }),
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
