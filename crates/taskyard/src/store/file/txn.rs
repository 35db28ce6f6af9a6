//! A transaction: what was read under the lock, and what is to happen.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use taskyard_core::dialect::macf::hidden_task_of;
use taskyard_core::dialect::native;
use taskyard_core::rules::numbering::{self, Numbers};
use taskyard_core::{Event, Image, Lease, Revision, Task, TaskId};

use super::client_locks::PATIENCE_IN_TURN;
use super::commit;
use super::dependents;
use super::files::{self, Contents};
use super::handle::Handle;
use super::hidden;
use super::live::Live;
use super::numbers;
use super::place;
use super::scan;
use super::staged::Staged;
use super::turn::Turn;
use crate::store::kit::{StagedLeases, free_numbers};
use crate::store::sidecar::{Journal, Standing};
use crate::store::{LiveView, Lookup, NewLease, Problem, Signature, Snapshot, StoreError, Txn};

/// Where others were faster with new numbers so often in a row, the list is locked before one is chosen.
const CROWDED: u32 = 3;

/// A list while we change it.
#[derive(Debug)]
pub(super) struct FileTxn {
    pub(super) handle: Arc<Handle>,
    pub(super) turn: Turn,
    /// Given back when the transaction ends.
    pub(super) journal: Option<Journal>,
    /// How the journal stood when this turn began.
    pub(super) standing: Standing,
    pub(super) staged: BTreeMap<TaskId, Staged>,
    /// Whether the client's own lock file has to be there afterwards, as it is after its creates and resets.
    pub(super) needs_lock_file: bool,
    /// Whether every task is to go.
    pub(super) is_reset: bool,
    /// The mark when ids were given out.
    mark: Cell<Option<f64>>,
    read: RefCell<HashMap<TaskId, Contents>>,
    leases: OnceCell<StagedLeases>,
}

impl FileTxn {
    /// Waits for a turn at the list.
    pub(super) fn open(handle: Arc<Handle>) -> Result<Self, StoreError> {
        let (turn, journal) = handle.take_turn()?;
        Self::begin(handle, turn, journal)
    }

    /// Begins where nobody else is at it.
    pub(super) fn try_open(handle: Arc<Handle>) -> Result<Option<Self>, StoreError> {
        match handle.try_take_turn()? {
            Some((turn, journal)) => match Self::begin(handle, turn, journal) {
                Err(StoreError::Busy { .. }) => Ok(None),
                begun => begun.map(Some),
            },
            None => Ok(None),
        }
    }

    fn begin(handle: Arc<Handle>, mut turn: Turn, journal: Journal) -> Result<Self, StoreError> {
        turn.locks.patience = PATIENCE_IN_TURN;
        if handle.crowding.load(Ordering::Relaxed) >= CROWDED {
            // Others were faster with the numbers that we had chosen; now they wait until we have chosen.
            turn.lock_list()?;
        }
        let standing = journal.standing()?;
        handle.transactions.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            handle,
            turn,
            journal: Some(journal),
            standing,
            staged: BTreeMap::new(),
            needs_lock_file: false,
            is_reset: false,
            mark: Cell::default(),
            read: RefCell::default(),
            leases: OnceCell::new(),
        })
    }

    /// Returns the journal.
    pub(super) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is there until the transaction ends")
    }

    /// Returns the leases with what is staged over them.
    pub(super) fn staged_leases(&self) -> Result<&StagedLeases, StoreError> {
        if let Some(leases) = self.leases.get() {
            return Ok(leases);
        }
        let leases = self.journal().leases_to_stage(self.standing.has_leases)?;
        Ok(self.leases.get_or_init(|| leases))
    }

    fn leases_to_change(&mut self) -> Result<&mut StagedLeases, StoreError> {
        self.staged_leases()?;
        Ok(self.leases.get_mut().expect("they were just read"))
    }

    /// Returns what becomes of the leases when the tasks will be as these images say; none where nothing does.
    pub(super) fn settled_leases<'a>(
        &self,
        after: impl Iterator<Item = (&'a TaskId, Option<&'a Image>)>,
    ) -> Result<Option<StagedLeases>, StoreError> {
        if !self.standing.has_leases && self.leases.get().is_none_or(|leases| leases.changed().is_empty()) {
            return Ok(None);
        }
        let mut leases = self.staged_leases()?.clone();
        for (task, image) in after {
            leases.settle(task, image);
        }
        Ok((!leases.changed().is_empty()).then_some(leases))
    }

    /// Waits until a commit that exists is on the disk.
    pub(super) fn sync(&mut self) -> Result<(), StoreError> {
        let journal = self.journal.as_mut().expect("the journal is there until the transaction ends");
        journal.sync().map_err(|error| commit::unfinished(&self.turn, error))
    }

    fn read(&self, id: &TaskId) -> Result<Contents, StoreError> {
        if let Some(contents) = self.read.borrow().get(id) {
            return Ok(contents.clone());
        }
        let path = self.turn.place.task_file(id);
        let contents = files::read(&self.turn.place, self.turn.directory.as_fd(), id)
            .map_err(StoreError::io("cannot read", path))?;
        self.read.borrow_mut().insert(id.clone(), contents.clone());
        Ok(contents)
    }

    /// Returns what is known of the numbers this list has used.
    fn numbers(&self) -> Result<Numbers, StoreError> {
        let directory = &self.turn.place.directory;
        let highest_file = if self.handle.rules.is_client() {
            numbers::scan_as_the_client(self.turn.directory.as_fd(), directory)?
        } else {
            let mut highest = self.handle.highest_file.lock().unwrap_or_else(PoisonError::into_inner);
            highest.get(self.turn.directory.as_fd(), directory)?
        };
        let staged = numbering::highest(self.staged.keys().map(TaskId::as_str));
        let mark = numbers::mark(directory);
        self.mark.set(Some(self.mark.get().map_or(mark, |seen| seen.min(mark))));
        Ok(Numbers { highest_file: highest_file.max(staged), mark, journaled: self.standing.highest_number as f64 })
    }

    /// Tells whether the numbers that were given out, under which there still is nothing, were not used and given up meanwhile: then
    /// the mark was raised. Others who make tasks take the next number each, and so cannot go past one without using it.
    pub(super) fn are_numbers_unused(&self) -> bool {
        self.mark.get().is_none_or(|seen| numbers::mark(&self.turn.place.directory) <= seen)
    }

    /// Returns what is staged for a file, beginning with what it holds now.
    fn stage(&mut self, id: &TaskId) -> Result<&mut Staged, StoreError> {
        if !self.staged.contains_key(id) {
            let before = match self.read(id)? {
                Contents::Missing => None,
                Contents::Task(_, image, look) => Some((image, look)),
                Contents::Broken(_, Some((image, look))) if self.handle.rules.is_client() => Some((image, look)),
                Contents::Broken(why, _) => {
                    return Err(StoreError::NoTask { path: self.turn.place.file_in_use(id), why });
                }
            };
            let after = before.as_ref().map(|(image, _)| image.clone());
            self.staged.insert(id.clone(), Staged::over(before, after));
        }
        Ok(self.staged.get_mut(id).expect("it was just put there"))
    }
}

impl Drop for FileTxn {
    fn drop(&mut self) {
        self.handle.transactions.fetch_sub(1, Ordering::Relaxed);
        self.turn.release();
        if let Some(journal) = self.journal.take() {
            self.handle.give_back(journal);
        }
    }
}

impl Snapshot for FileTxn {
    fn exists(&self) -> bool {
        !self.turn.is_new
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

    fn problems(&self) -> Result<Vec<Problem>, StoreError> {
        Ok(scan::scan(&self.turn.place, Some(self.journal()))?.problems)
    }
}

impl Txn for FileTxn {
    fn new_ids(&self, count: usize) -> Result<Vec<TaskId>, StoreError> {
        free_numbers(self.numbers()?, count, self.handle.rules, |id| self.is_free(id))
    }

    fn is_free(&self, id: &TaskId) -> Result<bool, StoreError> {
        let (place, directory) = (&self.turn.place, self.turn.directory.as_fd());
        let is_hidden = hidden::is_out_of_sight(place, directory, id);
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
        let names = place::names(self.turn.directory.as_fd(), &self.turn.place.directory)?;
        let sees_hidden = self.turn.place.sees_hidden;
        let task_of = |name: &String| place::task_of(name).or_else(|| hidden_task_of(name).filter(|_| sees_hidden));
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
        let now = self.handle.clock.now();
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

/// Says what stands under a task's name.
pub(super) fn lookup(contents: Contents, id: &TaskId, place: &place::Place) -> Lookup {
    match contents {
        Contents::Missing => Lookup::Missing,
        Contents::Task(task, image, _) => Lookup::Found(task, image),
        Contents::Broken(why, found) => {
            let (path, contents) = (place.file_in_use(id), found.map(|(image, _)| image));
            Lookup::Unreadable(Problem { task: id.clone(), path, why, last_known: None, contents })
        }
    }
}
