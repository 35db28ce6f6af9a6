//! How a transaction over files keeps the contract of every store.

use std::os::fd::AsFd;

use taskyard_core::dialect::macf::hidden_task_of;
use taskyard_core::dialect::native;
use taskyard_core::{Event, Image, Lease, Revision, Task, TaskId};

use super::commit;
use super::txn::FileTxn;
use crate::store::file::reading::files::{self, Contents, lookup};
use crate::store::file::reading::live_list::Live;
use crate::store::file::reading::{dependents, scan};
use crate::store::file::writing::txn::Staged;
use crate::store::kit::free_numbers;
use crate::store::locks::list_paths;
use crate::store::{LiveView, Lookup, NewLease, Signature, Snapshot, StoreError, Txn, UnreadableTask};

impl Snapshot for FileTxn {
    fn exists(&self) -> Result<bool, StoreError> {
        Ok(!self.turn.is_new)
    }

    fn revision(&self) -> Revision {
        self.standing.newest
    }

    fn find(&self, id: &TaskId) -> Result<Lookup, StoreError> {
        if let Some(staged) = self.staged.get(id) {
            let Some(image) = &staged.after else { return Ok(Lookup::Missing) };
            if let Ok(task) = image.task(id) {
                return Ok(Lookup::Found(Box::new(task), image.clone()));
            }
        }
        Ok(lookup(self.read(id)?, id, &self.turn.place))
    }

    fn tasks(&self) -> Result<Vec<Task>, StoreError> {
        let live = self.live()?.map(|live| live.tasks());
        let mut tasks = match live {
            Some(tasks) => tasks,
            None => scan::scan(&self.turn.place, Some(self.journal()))?.tasks,
        };
        if !self.staged.is_empty() {
            tasks.retain(|task| !self.staged.contains_key(&task.id));
            let staged = self.staged.iter().filter_map(|(id, staged)| staged.after.as_ref()?.task(id).ok());
            tasks.extend(staged);
            tasks.sort_by(|one, two| one.id.cmp(&two.id));
        }
        Ok(tasks)
    }

    fn live(&self) -> Result<Option<LiveView<'_>>, StoreError> {
        Live::view(&self.handle, self.journal())
    }

    fn staged(&self) -> Vec<TaskId> {
        self.staged.keys().cloned().collect()
    }

    fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        if !self.standing.has_leases && self.leases.get().is_none() {
            return Ok(Vec::new());
        }
        Ok(self.staged_leases()?.all())
    }

    fn waiting_for_or_parts(&self, blocker: &TaskId) -> Result<Vec<Task>, StoreError> {
        let (place, directory) = (&self.turn.place, self.turn.directory.as_fd());
        let mut tasks = dependents::waiting_for_or_parts(blocker, place, directory, self.journal())?;
        tasks.retain(|task| !self.staged.contains_key(&task.id));
        let staged = self.staged.iter().filter_map(|(id, staged)| staged.after.as_ref()?.task(id).ok());
        tasks.extend(staged.filter(|task| task.blocked_by.contains(blocker) || task.parent().is_some()));
        tasks.sort_by(|one, two| one.id.cmp(&two.id));
        Ok(tasks)
    }

    fn problems(&self) -> Result<Vec<UnreadableTask>, StoreError> {
        Ok(scan::scan(&self.turn.place, Some(self.journal()))?.problems)
    }
}

impl Txn for FileTxn {
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError> {
        free_numbers(self.numbers()?, count, self.handle.rules, |id| self.is_free(id))
    }

    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        let (place, directory) = (&self.turn.place, self.turn.directory.as_fd());
        let is_hidden = files::is_out_of_sight(place, directory, id);
        let is_hidden = is_hidden.map_err(StoreError::io("cannot look at", place.task_file(id)))?;
        Ok(!is_hidden && matches!(self.find(id)?, Lookup::Missing))
    }

    fn has_met_outside_writes(&self) -> Result<bool, StoreError> {
        for (id, contents) in &*self.read.borrow() {
            let found = contents.image().map(|(image, _)| image);
            if self.journal().known(id)?.is_some_and(|known| Some(&known.image) != found) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn put(&mut self, task: Task) -> Result<(), StoreError> {
        let rules = self.handle.rules;
        let id = task.id.clone();
        let staged = self.stage(&id)?;
        let image = native::write(staged.after.as_ref(), &task, rules)
            .map_err(|source| StoreError::TooLarge { task: id, source })?;
        staged.after = Some(image);
        self.needs_lock_file |= staged.before.is_none();
        Ok(())
    }

    fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        let former_mode = if self.stage(id)?.before.is_none() { self.journal().last_mode(id)? } else { None };
        let staged = self.stage(id)?;
        staged.after = Some(image);
        staged.former_mode = former_mode;
        self.needs_lock_file |= staged.before.is_none();
        Ok(())
    }

    fn replace_broken(&mut self, id: &TaskId, broken: &Image, by: Option<Image>) -> Result<bool, StoreError> {
        match self.read(id)? {
            Contents::Broken(_, Some((image, look))) if image == *broken && !self.staged.contains_key(id) => {
                self.staged.insert(id.clone(), Staged::over(Some((image, look)), by));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.stage(id)?.after = None;
        Ok(())
    }

    fn note_absent(&mut self, id: &TaskId) -> Result<(), StoreError> {
        if matches!(self.find(id)?, Lookup::Missing) {
            self.stage(id)?.is_noted = true;
        }
        Ok(())
    }

    fn lock_list(&mut self) -> Result<(), StoreError> {
        self.turn.lock_list()?;
        self.turn.locks.keeps_list = true;
        self.read.borrow_mut().clear();
        Ok(())
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.needs_lock_file = true;
        self.is_reset = true;
        let names = list_paths::names(self.turn.directory.as_fd(), &self.turn.place.directory)?;
        let sees_hidden = self.turn.place.sees_hidden;
        let task_of =
            |name: &String| list_paths::task_of(name).or_else(|| hidden_task_of(name).filter(|_| sees_hidden));
        for id in names.iter().filter_map(task_of) {
            let is_task = matches!(self.read(&id)?, Contents::Task(..));
            let is_file = matches!(self.read(&id)?, Contents::Broken(_, Some(_)));
            if is_task || (is_file && self.handle.rules.is_client()) {
                self.stage(&id)?.after = None;
            }
        }
        let made_here: Vec<TaskId> = self.staged.keys().cloned().collect();
        for id in made_here {
            self.stage(&id)?.after = None;
        }
        Ok(())
    }

    fn grant(&mut self, lease: NewLease) -> Result<Lease, StoreError> {
        let now = self.handle.files.clock.now();
        Ok(self.leases_to_change()?.grant(lease, &now))
    }

    fn set_lease(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.leases_to_change()?.set(lease);
        Ok(())
    }

    fn end_lease(&mut self, task: &TaskId) -> Result<(), StoreError> {
        if self.standing.has_leases || self.leases.get().is_some() {
            self.leases_to_change()?.end(task);
        }
        Ok(())
    }

    fn commit(self: Box<Self>, signature: &Signature) -> Result<Option<Event>, StoreError> {
        commit::commit(*self, signature)
    }
}
