//! A transaction: what was read under the lock, and what is to happen.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use taskyard_core::rules::changes::numbering::{self, Numbers};
use taskyard_core::{Image, TaskId};

use crate::store::StoreError;
use crate::store::file::handle::Handle;
use crate::store::file::reading::files::{self, Contents};
use crate::store::file::reading::numbers;
use crate::store::journal::{Journal, Standing};
use crate::store::kit::StagedLeases;
use crate::store::locks::fingerprint::Look;
use crate::store::locks::turn::{PATIENCE_IN_TURN, WriteTurn};

/// Where rivals were faster with new numbers so often in a row, the list is locked before one is chosen.
const CROWDED: u32 = 3;

/// A list while we change it.
#[derive(Debug)]
pub(in crate::store) struct FileTxn {
    pub(in crate::store) handle: Arc<Handle>,
    pub(in crate::store) turn: WriteTurn,
    /// Given back when the transaction ends.
    pub(in crate::store) journal: Option<Journal>,
    /// How the journal stood when this turn began.
    pub(in crate::store) standing: Standing,
    pub(in crate::store) staged: BTreeMap<TaskId, Staged>,
    /// Whether the client's own lock file has to be there afterwards, as it is after its creates and resets.
    pub(in crate::store) needs_lock_file: bool,
    /// Whether every task is to go.
    pub(in crate::store) is_reset: bool,
    /// The mark when ids were given out.
    mark: Cell<Option<f64>>,
    pub(in crate::store) read: RefCell<HashMap<TaskId, Contents>>,
    pub(in crate::store) leases: OnceCell<StagedLeases>,
}

impl FileTxn {
    /// Waits for a turn at the list.
    pub(in crate::store) fn open(handle: Arc<Handle>) -> Result<Self, StoreError> {
        let (turn, journal) = handle.take_turn()?;
        Self::begin(handle, turn, journal)
    }

    /// Begins where no other writer has the turn.
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
            // Rivals were faster with the numbers that we had chosen; now they wait until we have chosen.
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

    /// Returns the journal.
    pub(in crate::store) fn journal(&self) -> &Journal {
        self.journal.as_ref().expect("the journal is there until the transaction ends")
    }

    /// Returns the leases with what is staged over them.
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

    /// Returns what becomes of the leases when the tasks will be as these images say; none where nothing does.
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

    /// Waits until a commit that exists is on the disk.
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

    /// Returns what is known of the numbers this list has used.
    pub(in crate::store) fn numbers(&self) -> Result<Numbers, StoreError> {
        let directory = &self.turn.place.directory;
        let highest_file = if self.handle.rules.is_client() {
            numbers::scan_as_the_client(self.turn.directory.as_fd(), directory)?
        } else {
            let mut highest = self.handle.files.highest_file.lock().unwrap_or_else(PoisonError::into_inner);
            highest.get(self.turn.directory.as_fd(), directory)?
        };
        let staged = numbering::highest(self.staged.keys().map(TaskId::as_str));
        let mark = numbers::mark(directory);
        self.mark.set(Some(self.mark.get().map_or(mark, |seen| seen.min(mark))));
        Ok(Numbers { highest_file: highest_file.max(staged), mark, journaled: self.standing.highest_number as f64 })
    }

    /// Tells whether the numbers that were given out, under which there still is nothing, were not used and given up meanwhile: then the
    /// mark was raised. Other programs that make tasks take the next number each, and so cannot go past one without using it.
    pub(in crate::store) fn are_numbers_unused(&self) -> bool {
        self.mark.get().is_none_or(|seen| numbers::mark(&self.turn.place.directory) <= seen)
    }

    /// Returns what is staged for a file, beginning with what it holds now.
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

/// What is to become of one file.
#[derive(Clone, Debug)]
pub(in crate::store) struct Staged {
    pub(in crate::store) before: Option<(Image, Look)>,
    pub(in crate::store) after: Option<Image>,
    /// Whether the journal is to have an entry of it though it neither was nor will be there.
    pub(in crate::store) is_noted: bool,
    /// The mode that the file had when it was last there, where it comes back.
    pub(in crate::store) former_mode: Option<u32>,
}

impl Staged {
    /// Returns what is to become of a task, in the place of what was there.
    pub(in crate::store) fn over(before: Option<(Image, Look)>, after: Option<Image>) -> Self {
        Self { before, after, is_noted: false, former_mode: None }
    }

    /// Tells whether the journal is to have an entry of it.
    pub(in crate::store) fn is_change(&self) -> bool {
        self.before.as_ref().map(|(image, _)| image) != self.after.as_ref() || (self.is_noted && self.after.is_none())
    }
}
