//! A transaction: what was read under the lock, and what is staged. What it writes is in `writer.rs`.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use taskyard_core::rules::changes::numbering;
use taskyard_core::rules::changes::numbering::Numbers;
use taskyard_core::{Image, Lease, Revision, Task, TaskId};

use crate::store::file::client_files::Handle;
use crate::store::file::reading::files::{Contents, lookup};
use crate::store::file::reading::live_state::Live;
use crate::store::file::reading::{files, outlines, scan};
use crate::store::journal::{Journal, Standing};
use crate::store::kit::StagedLeases;
use crate::store::locks::list_paths::Look;
use crate::store::locks::turn::{PATIENCE_IN_TURN, WriteTurn};
use crate::store::{LiveView, Lookup, Snapshot, StoreError, UnreadableTask};

/// After this many consecutive conflicts about new numbers, the list is locked before numbers are chosen.
const CROWDED: u32 = 3;

/// A write transaction on a list.
#[derive(Debug)]
pub(in crate::store) struct FileTxn {
    pub(in crate::store) handle: Arc<Handle>,
    pub(in crate::store) turn: WriteTurn,
    /// Returned to the pool when the transaction ends.
    pub(in crate::store) journal: Option<Journal>,
    /// The state of the journal when the turn began.
    pub(in crate::store) standing: Standing,
    pub(in crate::store) staged: BTreeMap<TaskId, Staged>,
    /// Whether the client's lock file must exist afterwards, as after its own creates and resets.
    pub(in crate::store) needs_lock_file: bool,
    /// Whether every task is removed.
    pub(in crate::store) is_reset: bool,
    /// The lowest high-water mark seen while ids were given out.
    mark: Cell<Option<f64>>,
    pub(in crate::store) read: RefCell<HashMap<TaskId, Contents>>,
    pub(in crate::store) leases: OnceCell<StagedLeases>,
}

impl FileTxn {
    /// Waits for a turn on the list.
    pub(in crate::store) fn open(handle: Arc<Handle>) -> Result<Self, StoreError> {
        let (turn, journal) = handle.take_turn()?;
        Self::begin(handle, turn, journal)
    }

    /// Starts a transaction, unless another writer has the turn.
    pub(in crate::store) fn try_open(handle: Arc<Handle>) -> Result<Option<Self>, StoreError> {
        match handle.try_take_turn()? {
            Some((turn, journal)) => match Self::begin(handle, turn, journal) {
                Err(StoreError::Busy { .. }) => Ok(None),
                begun => begun.map(Some),
            },
            None => Ok(None),
        }
    }

    fn begin(handle: Arc<Handle>, mut turn: WriteTurn, journal: Journal) -> Result<Self, StoreError> {
        turn.locks.patience = PATIENCE_IN_TURN;
        if handle.files.crowding.load(Ordering::Relaxed) >= CROWDED {
            // Other programs kept taking the numbers we chose; now they must wait until we have chosen.
            turn.lock_list()?;
        }
        let standing = journal.standing()?;
        handle.files.transactions.fetch_add(1, Ordering::Relaxed);
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

    pub(in crate::store) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is there until the transaction ends")
    }

    /// Returns the leases including staged changes.
    pub(in crate::store) fn staged_leases(&self) -> Result<&StagedLeases, StoreError> {
        if let Some(leases) = self.leases.get() {
            return Ok(leases);
        }
        let leases = self.journal().leases_to_stage(self.standing.has_leases)?;
        Ok(self.leases.get_or_init(|| leases))
    }

    pub(in crate::store) fn leases_to_change(&mut self) -> Result<&mut StagedLeases, StoreError> {
        self.staged_leases()?;
        Ok(self.leases.get_mut().expect("they were just read"))
    }

    /// Returns the leases after the tasks change to these images; `None` if no lease changes.
    pub(in crate::store) fn settled_leases<'a>(
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

    /// Waits until an existing commit is on disk.
    pub(in crate::store) fn sync(&mut self) -> Result<(), StoreError> {
        self.journal.as_mut().expect("the journal is there until the transaction ends").sync()
    }

    pub(in crate::store) fn read(&self, id: &TaskId) -> Result<Contents, StoreError> {
        if let Some(contents) = self.read.borrow().get(id) {
            return Ok(contents.clone());
        }
        let path = self.turn.place.task_file(id);
        let contents = files::read(&self.turn.place, self.turn.directory.as_fd(), id)
            .map_err(StoreError::io("cannot read", path))?;
        self.read.borrow_mut().insert(id.clone(), contents.clone());
        Ok(contents)
    }

    /// Returns the numbers that this list has used.
    pub(in crate::store) fn numbers(&self) -> Result<Numbers, StoreError> {
        let directory = &self.turn.place.directory;
        let highest_file = if self.handle.rules.is_client() {
            files::scan_as_the_client(self.turn.directory.as_fd(), directory)?
        } else {
            let mut highest = self.handle.files.highest_file.lock().unwrap_or_else(PoisonError::into_inner);
            highest.get(self.turn.directory.as_fd(), directory)?
        };
        let staged = numbering::highest(self.staged.keys().map(TaskId::as_str));
        let mark = files::mark(directory);
        self.mark.set(Some(self.mark.get().map_or(mark, |seen| seen.min(mark))));
        Ok(Numbers { highest_file: highest_file.max(staged), mark, journaled: self.standing.highest_number as f64 })
    }

    /// Returns whether the numbers given out, which are still unused, were not used and given up in the meantime: that
    /// would have raised the high-water mark. Other programs use consecutive numbers, so they cannot skip one.
    pub(in crate::store) fn are_numbers_unused(&self) -> bool {
        self.mark.get().is_none_or(|seen| files::mark(&self.turn.place.directory) <= seen)
    }

    /// Returns what is staged for a file, initially its current contents.
    pub(in crate::store) fn stage(&mut self, id: &TaskId) -> Result<&mut Staged, StoreError> {
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
        self.handle.files.transactions.fetch_sub(1, Ordering::Relaxed);
        self.turn.release();
        if let Some(journal) = self.journal.take() {
            self.handle.give_back(journal);
        }
    }
}

/// The staged change of one file.
#[derive(Clone, Debug)]
pub(in crate::store) struct Staged {
    pub(in crate::store) before: Option<(Image, Look)>,
    pub(in crate::store) after: Option<Image>,
    /// Whether to journal an entry although the file neither existed nor will exist.
    pub(in crate::store) is_noted: bool,
    /// The last mode of a file that is being restored.
    pub(in crate::store) former_mode: Option<u32>,
}

impl Staged {
    /// Creates the staged change from `before` to `after`.
    pub(in crate::store) fn over(before: Option<(Image, Look)>, after: Option<Image>) -> Self {
        Self { before, after, is_noted: false, former_mode: None }
    }

    /// Returns whether the journal gets an entry for it.
    pub(in crate::store) fn is_change(&self) -> bool {
        self.before.as_ref().map(|(image, _)| image) != self.after.as_ref() || (self.is_noted && self.after.is_none())
    }
}

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
        let mut tasks = outlines::waiting_for_or_parts(blocker, place, directory, self.journal())?;
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
