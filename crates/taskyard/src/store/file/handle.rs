//! What a process keeps open of one list of the client's files between two operations.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use taskyard_core::{ListId, Rules};

use crate::regular_file;
use crate::store::engine::OpenList;
use crate::store::file::reading::live_list::Live;
use crate::store::file::reading::numbers::HighestFile;
use crate::store::journal::{Journal, departure_in, is_same_boot};
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::turn_record::{self, TurnRecord};
use crate::store::{StoreClock, StoreError};

/// A list of the client's files, as this process knows it.
pub(in crate::store) type Handle = OpenList<ClientFiles>;

/// A directory with a file for each task, and what this process keeps of it.
#[derive(Debug)]
pub(in crate::store) struct ClientFiles {
    pub(in crate::store) place: ListPaths,
    pub(in crate::store) clock: StoreClock,
    pub(in crate::store) highest_file: Mutex<HighestFile>,
    pub(in crate::store) live: Mutex<Live>,
    queue_to_read: Mutex<Option<File>>,
    /// How many transactions of this process are open.
    pub(in crate::store) transactions: AtomicUsize,
    /// When to look again whether files should be flushed.
    pub(in crate::store) next_flush_look: AtomicI64,
    /// How many bytes of tasks this process has written since it last looked so.
    pub(in crate::store) written_since_look: AtomicU64,
    /// How often in a row other programs took numbers that transactions of this process had chosen.
    pub(in crate::store) crowding: AtomicU32,
    /// Whether files of an earlier boot have been looked after.
    boot_is_known: AtomicBool,
}

impl ClientFiles {
    /// Finds the files of a list; nothing is opened yet.
    pub(in crate::store) fn at(place: ListPaths, clock: StoreClock) -> Self {
        Self {
            place,
            clock,
            highest_file: Mutex::default(),
            live: Mutex::default(),
            queue_to_read: Mutex::default(),
            transactions: AtomicUsize::new(0),
            next_flush_look: AtomicI64::new(0),
            written_since_look: AtomicU64::new(0),
            crowding: AtomicU32::new(0),
            boot_is_known: AtomicBool::new(false),
        }
    }

    /// Fails if the list has moved to another store, or is on its way.
    pub(in crate::store) fn must_be_here(&self) -> Result<(), StoreError> {
        let departure = self.place.sidecar.as_deref().map_or(Ok(None), departure_in)?;
        departure.map_or(Ok(()), |departure| Err(departure.refusal()))
    }

    /// Returns what this process keeps of the list in memory.
    pub(in crate::store) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what our processes tell each other, without a lock.
    pub(in crate::store) fn state(&self) -> Option<TurnRecord> {
        let mut queue = self.queue_to_read.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = |file: &File| file.metadata().is_ok_and(|found| found.nlink() == 0);
        if queue.as_ref().is_none_or(is_left) {
            let path = self.place.sidecar.as_ref()?.join("queue");
            *queue = regular_file::open(&path, u64::MAX).map(|(file, _)| file).ok();
        }
        turn_record::load(queue.as_ref()?).ok().flatten()
    }

    /// Tells whether the machine has been up since the list was last written; a process lives in one boot.
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

    /// Takes note that files of an earlier boot have been looked after.
    pub(in crate::store) fn note_boot(&self) {
        self.boot_is_known.store(true, Ordering::Relaxed);
    }
}

impl Handle {
    /// Names a list; nothing is opened yet.
    pub(in crate::store) fn of(list: ListId, place: ListPaths, rules: Rules, clock: StoreClock) -> Self {
        Self::new(list, rules, place.sidecar.clone(), ClientFiles::at(place, clock))
    }

    /// Asks with a connection to the journal. `None` if there is no journal that can be read, or nothing was answered.
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

    /// Finishes what a dead writer began, if one did and no writer has the turn.
    pub(in crate::store) fn settle(&self) {
        let is_unsettled = |state: TurnRecord| state.busy || state.sequence % 2 == 1;
        if !self.files.place.directory.exists() {
            return;
        }
        let unsettled = self.files.state().is_some_and(is_unsettled) || !self.files.is_same_boot().unwrap_or(true);
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
}
