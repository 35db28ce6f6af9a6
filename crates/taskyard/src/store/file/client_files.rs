//! What this process keeps open of a list of the client's files between operations.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard_core::{ListId, Rules};

use crate::store::engine::OpenList;
use crate::store::file::reading::files::HighestFile;
use crate::store::file::reading::live_state::Live;
use crate::store::journal::{Journal, departure_in, is_same_boot};
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::turn_record;
use crate::store::locks::turn_record::TurnRecord;
use crate::store::{StoreClock, StoreError};
use crate::{regular_file, system};

/// Interval at which a running process checks whether a flush is due, in nanoseconds; the first check comes one
/// interval after it opened the list.
pub(super) const LOOK_EVERY: i64 = 1_000_000_000;

/// A list of the client's files, open in this process.
pub(in crate::store) type Handle = OpenList<ClientFiles>;

/// A directory with one file per task, and the state this process keeps about it.
#[derive(Debug)]
pub(in crate::store) struct ClientFiles {
    pub(in crate::store) place: ListPaths,
    pub(in crate::store) clock: StoreClock,
    pub(in crate::store) highest_file: Mutex<HighestFile>,
    pub(in crate::store) live: Mutex<Live>,
    queue_to_read: Mutex<Option<File>>,
    /// Number of open transactions of this process.
    pub(in crate::store) transactions: AtomicUsize,
    /// When to check again whether files should be flushed.
    pub(in crate::store) next_flush_look: AtomicI64,
    /// Number of bytes of tasks written by this process since the last such check.
    pub(in crate::store) written_since_look: AtomicU64,
    /// Number of consecutive times that other programs took numbers which transactions of this process had chosen.
    pub(in crate::store) crowding: AtomicU32,
    /// Whether recovery after the last boot is known to be done.
    boot_is_known: AtomicBool,
}

impl ClientFiles {
    /// Creates the state for a list without opening anything.
    pub(in crate::store) fn at(place: ListPaths, clock: StoreClock) -> Self {
        Self {
            place,
            clock,
            highest_file: Mutex::default(),
            live: Mutex::default(),
            queue_to_read: Mutex::default(),
            transactions: AtomicUsize::new(0),
            next_flush_look: AtomicI64::new(system::since_boot() + LOOK_EVERY),
            written_since_look: AtomicU64::new(0),
            crowding: AtomicU32::new(0),
            boot_is_known: AtomicBool::new(false),
        }
    }

    /// Fails if the list has moved or is being moved to another store.
    pub(in crate::store) fn must_be_here(&self) -> Result<(), StoreError> {
        let departure = self.place.sidecar.as_deref().map_or(Ok(None), departure_in)?;
        departure.map_or(Ok(()), |departure| Err(departure.refusal()))
    }

    pub(in crate::store) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the turn record, without a lock.
    pub(in crate::store) fn state(&self) -> Option<TurnRecord> {
        let mut queue = self.queue_to_read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = |file: &File| file.metadata().is_ok_and(|found| found.nlink() == 0);
        if queue.as_ref().is_none_or(is_left) {
            let path = self.place.sidecar.as_ref()?.join("queue");
            *queue = regular_file::open(&path, u64::MAX).map(|(file, _)| file).ok();
        }
        turn_record::load(queue.as_ref()?).ok().flatten()
    }

    /// Returns whether the machine has been up since the list was last written; a process lives in one boot.
    pub(in crate::store) fn is_same_boot(&self) -> Result<bool, StoreError> {
        if self.boot_is_known.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let is_known = match &self.place.sidecar {
            Some(sidecar) => !sidecar.join("journal.sqlite").exists() || is_same_boot(sidecar)?,
            None => true,
        };
        if is_known {
            self.note_boot();
        }
        Ok(is_known)
    }

    /// Returns whether recovery after the last boot is known to be done, to this process or by the stamp of the open
    /// journal.
    pub(super) fn is_boot_of(&self, journal: &Journal) -> bool {
        let is_known = self.boot_is_known.load(Ordering::Relaxed) || journal.is_stamped_in_this_boot();
        if is_known {
            self.note_boot();
        }
        is_known
    }

    /// Records that recovery after the last boot is done.
    pub(in crate::store) fn note_boot(&self) {
        self.boot_is_known.store(true, Ordering::Relaxed);
    }
}

impl Handle {
    /// Creates the handle for a list without opening anything.
    pub(in crate::store) fn of(list: ListId, place: ListPaths, rules: Rules, clock: StoreClock) -> Self {
        Self::new(list, rules, place.sidecar.clone(), ClientFiles::at(place, clock))
    }

    /// Calls `ask` with a connection to the journal. Returns `None` if there is no readable journal, or if `ask` does.
    pub(in crate::store) fn reading<T>(
        &self,
        ask: impl FnOnce(&Journal) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let Some(journal) = self.journal_to_read() else { return Ok(None) };
        let answer = ask(&journal);
        journal.copy_log();
        self.give_back(journal);
        answer
    }

    /// Returns whether the machine has been up since the list was last written. A copy's stamp tells this without
    /// opening it again.
    fn is_same_boot(&self) -> Result<bool, StoreError> {
        if self.files.boot_is_known.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let Some(copy) = self.journals.take_copy() else { return self.files.is_same_boot() };
        let is_same = copy.is_of_this_boot;
        self.journals.keep_copy(copy);
        if !is_same {
            return self.files.is_same_boot();
        }
        self.files.note_boot();
        Ok(true)
    }

    /// Completes what a dead writer began, unless a writer has the turn. Returns the earlier turn record.
    pub(in crate::store) fn settle(&self) -> Option<TurnRecord> {
        let is_unsettled = |state: TurnRecord| state.busy || state.sequence % 2 == 1;
        let state = self.files.state();
        if !self.files.place.directory.exists() {
            return state;
        }
        if !state.is_some_and(is_unsettled) && self.is_same_boot().unwrap_or(true) {
            return state;
        }
        // The turn record is next to the journal, and is not written if that belongs to a newer Taskyard.
        let settled = self.try_take_turn().map(|settled| {
            if let Some((turn, journal)) = settled {
                drop(turn);
                self.give_back(journal);
            }
        });
        if let Err(error) = settled {
            tracing::debug!(%error, "what a dead writer began is left for the next writer");
        }
        state
    }
}
