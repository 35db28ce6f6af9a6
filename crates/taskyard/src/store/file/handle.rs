//! What a process keeps open of one list between two operations.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskyard_core::{Entry, ListId, Rules};

use super::live::Live;
use super::numbers::HighestFile;
use super::place::Place;
use super::queue::PATIENCE;
use super::state::{self, State};
use super::turn::Turn;
use super::{observe, power, repair};
use crate::regular_file;
use crate::store::following::Followed;
use crate::store::sidecar::{Journal, Journals, is_same_boot};
use crate::store::{HistoryQuery, StoreClock, StoreError};

/// One list, as this process knows it.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) list: ListId,
    pub(super) place: Place,
    pub(super) rules: Rules,
    pub(super) clock: StoreClock,
    pub(super) highest_file: Mutex<HighestFile>,
    pub(super) live: Mutex<Live>,
    pub(super) journals: Journals,
    queue_to_read: Mutex<Option<File>>,
    /// How many transactions of this process are open.
    pub(super) transactions: AtomicUsize,
    /// When to look again whether files should be flushed.
    pub(super) next_flush_look: AtomicI64,
    /// How many bytes of tasks this process has written since it last looked so.
    pub(super) written_since_look: AtomicU64,
    /// How often in a row other programs took numbers that transactions of this process had chosen.
    pub(super) crowding: AtomicU32,
    /// Whether files of an earlier boot have been looked after.
    boot_is_known: AtomicBool,
    /// When somebody last asked for the list.
    asked: Mutex<Instant>,
}

impl Followed for Handle {
    fn list(&self) -> &ListId {
        &self.list
    }

    fn places(&self) -> Vec<&Path> {
        [Some(&self.place.directory), self.place.sidecar.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect()
    }

    fn observe(&self) -> Result<bool, StoreError> {
        Handle::observe(self)
    }

    fn entries(&self, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
        self.journals.ask(|journal| journal.select(query))
    }
}

impl Handle {
    /// Finds the list; nothing is opened yet.
    pub(super) fn new(list: ListId, place: Place, rules: Rules, clock: StoreClock) -> Self {
        let journals = Journals::of(place.sidecar.clone(), place.directory.clone());
        Self {
            list,
            place,
            rules,
            clock,
            highest_file: Mutex::default(),
            live: Mutex::default(),
            journals,
            queue_to_read: Mutex::default(),
            transactions: AtomicUsize::new(0),
            next_flush_look: AtomicI64::new(0),
            written_since_look: AtomicU64::new(0),
            crowding: AtomicU32::new(0),
            boot_is_known: AtomicBool::new(false),
            asked: Mutex::new(Instant::now()),
        }
    }

    /// Takes note that somebody asks for the list.
    pub(super) fn is_asked_for(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns for how long nobody has asked for the list.
    pub(super) fn unasked(&self) -> Duration {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Lets go of what is kept of the list in memory, where nobody is looking at it.
    pub(super) fn let_go(&self) {
        if let Ok(mut live) = self.live.try_lock() {
            *live = Live::default();
        }
    }

    /// Returns our directory for this list.
    pub(super) fn sidecar(&self) -> Result<&PathBuf, StoreError> {
        self.journals.sidecar()
    }

    /// Returns the file our writers queue on.
    pub(super) fn queue_file(&self) -> Result<PathBuf, StoreError> {
        Ok(self.sidecar()?.join("queue"))
    }

    /// Takes a connection to the journal out of the pool, or opens one.
    pub(super) fn journal(&self) -> Result<Journal, StoreError> {
        self.journals.take()
    }

    /// Returns a connection for reading, where there is a journal that can be read.
    pub(super) fn journal_to_read(&self) -> Option<Journal> {
        self.journals.take_to_read()
    }

    /// Asks with a connection to the journal; none where there is no journal that can be read, or nothing was answered.
    pub(super) fn reading<T>(
        &self,
        ask: impl FnOnce(&Journal) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(journal) = self.journal_to_read() else { return Ok(None) };
        let answer = ask(&journal);
        journal.copy_log();
        self.give_back(journal);
        answer
    }

    /// Puts a connection back for the next one.
    pub(super) fn give_back(&self, journal: Journal) {
        self.journals.give_back(journal);
    }

    /// Returns what this process keeps of the list in memory.
    pub(super) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what our processes tell each other, without a lock.
    pub(super) fn state(&self) -> Option<State> {
        let mut queue = self.queue_to_read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = |file: &File| file.metadata().is_ok_and(|found| found.nlink() == 0);
        if queue.as_ref().is_none_or(is_left) {
            let path = self.place.sidecar.as_ref()?.join("queue");
            *queue = regular_file::open(&path, u64::MAX).map(|(file, _)| file).ok();
        }
        state::load(queue.as_ref()?)
    }

    /// Waits for a turn, and finishes what a dead writer began.
    pub(super) fn take_turn(&self) -> Result<(Turn, Journal), StoreError> {
        let started = Instant::now();
        loop {
            let journal = self.journal()?;
            let turn = Turn::take(&self.place, &self.queue_file()?)?;
            match self.settled(turn, journal) {
                // Somebody else keeps a lock that is needed to finish. The turn was given back, and others had theirs.
                Err(StoreError::Busy { by, waited }) if waited.is_zero() => {
                    if started.elapsed() > PATIENCE {
                        return Err(StoreError::Busy { by, waited: started.elapsed() });
                    }
                }
                settled => return settled,
            }
        }
    }

    /// Takes a turn where nobody else has one, and finishes what a dead writer began.
    pub(super) fn try_take_turn(&self) -> Result<Option<(Turn, Journal)>, StoreError> {
        // Opening it makes the place that the queue is in.
        let journal = self.journal()?;
        match Turn::try_take(&self.place, &self.queue_file()?) {
            Ok(Some(turn)) => match self.settled(turn, journal) {
                Ok(settled) => Ok(Some(settled)),
                Err(StoreError::Busy { .. } | StoreError::NoLock { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            Ok(None) | Err(StoreError::Busy { .. }) => {
                self.give_back(journal);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Finishes what a dead writer began, where one did and nobody is at it.
    pub(super) fn settle(&self) {
        let is_unsettled = |state: State| state.busy || state.sequence % 2 == 1;
        if !self.place.directory.exists() {
            return;
        }
        let unsettled = self.state().is_some_and(is_unsettled) || !self.is_same_boot();
        if !unsettled {
            return;
        }
        // The turn is written down beside the journal: where that is a newer Taskyard's, nothing is.
        let settled = self.try_take_turn().map(|settled| {
            if let Some((turn, journal)) = settled {
                drop(turn);
                self.give_back(journal);
            }
        });
        if let Err(error) = settled {
            tracing::debug!(%error, "what a dead writer began is left for the next writer");
        }
    }

    /// Records what other programs did, waiting for files that were touched this instant. Returns whether nothing is left.
    ///
    /// Within a transaction of our own nothing is recorded: it would wait for itself.
    pub(super) fn observe(&self) -> Result<bool, StoreError> {
        if self.transactions.load(Ordering::Relaxed) > 0 {
            return Ok(false);
        }
        self.settle();
        // Where the list is kept in memory, only what something was done to is looked at.
        match observe::observe_changed(self)? {
            Some(is_complete) => Ok(is_complete),
            None => observe::observe(self),
        }
    }

    /// Finishes, within a turn, what a dead writer began.
    pub(super) fn settled(&self, mut turn: Turn, journal: Journal) -> Result<(Turn, Journal), StoreError> {
        // Whoever had the turn before us may have put another database in the place of this one.
        let mut journal = self.journals.renewed(journal)?;
        if !self.is_same_boot() {
            power::recover(&mut turn, &mut journal, self.sidecar()?, self.rules)?;
            self.boot_is_known.store(true, Ordering::Relaxed);
        }
        repair::repair(&mut turn, &mut journal, self.rules)?;
        Ok((turn, journal))
    }

    /// Tells whether the machine has been up since the list was last written; a process lives in one boot.
    pub(super) fn is_same_boot(&self) -> bool {
        let is_known = |sidecar: &PathBuf| !sidecar.join("journal.sqlite").exists() || is_same_boot(sidecar);
        if !self.boot_is_known.load(Ordering::Relaxed) && self.place.sidecar.as_ref().is_none_or(is_known) {
            self.boot_is_known.store(true, Ordering::Relaxed);
        }
        self.boot_is_known.load(Ordering::Relaxed)
    }
}
