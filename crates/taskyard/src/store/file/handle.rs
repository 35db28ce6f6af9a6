//! What a process keeps open of one list between two operations.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskyard_core::{ListId, Rules};

use crate::regular_file;
use crate::store::file::reading::live_list::Live;
use crate::store::file::reading::numbers::HighestFile;
use crate::store::journal::{Journal, Journals, MovePeer, departure_in, is_same_boot};
use crate::store::locks::list_paths::ListPaths;
use crate::store::locks::turn_record::{self, TurnRecord};
use crate::store::{StoreClock, StoreError};

/// One list, as this process knows it.
#[derive(Debug)]
pub(in crate::store) struct Handle {
    pub(in crate::store) list: ListId,
    pub(in crate::store) place: ListPaths,
    pub(in crate::store) rules: Rules,
    pub(in crate::store) clock: StoreClock,
    pub(in crate::store) highest_file: Mutex<HighestFile>,
    pub(in crate::store) live: Mutex<Live>,
    pub(in crate::store) journals: Journals,
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
    /// When a caller last asked for the list.
    asked: Mutex<Instant>,
}

impl Handle {
    /// Finds the list; nothing is opened yet.
    pub(in crate::store) fn new(list: ListId, place: ListPaths, rules: Rules, clock: StoreClock) -> Self {
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

    /// Takes note that a caller asks for the list.
    pub(in crate::store) fn is_asked_for(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns for how long no caller has asked for the list.
    pub(in crate::store) fn unasked(&self) -> Duration {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Lets go of what is kept of the list in memory, where no reader is looking at it.
    pub(in crate::store) fn let_go(&self) {
        if let Ok(mut live) = self.live.try_lock() {
            *live = Live::default();
        }
    }

    /// Returns our directory for this list.
    pub(in crate::store) fn sidecar(&self) -> Result<&PathBuf, StoreError> {
        self.journals.sidecar()
    }

    /// Returns the list as the other one of a move remembers it.
    pub(in crate::store) fn as_peer(&self) -> Result<MovePeer, StoreError> {
        let list = self.list.as_str().to_owned();
        Ok(MovePeer { list, place: self.place.directory.clone(), sidecar: self.sidecar()?.clone() })
    }

    /// Returns the file our writers queue on.
    pub(in crate::store) fn queue_file(&self) -> Result<PathBuf, StoreError> {
        Ok(self.sidecar()?.join("queue"))
    }

    /// Takes a connection to the journal out of the pool, or opens one.
    pub(in crate::store) fn journal(&self) -> Result<Journal, StoreError> {
        self.journals.take()
    }

    /// Fails if the list has moved to another store, or is on its way.
    pub(in crate::store) fn must_be_here(&self) -> Result<(), StoreError> {
        let departure = self.place.sidecar.as_deref().map_or(Ok(None), departure_in)?;
        departure.map_or(Ok(()), |departure| Err(departure.refusal()))
    }

    /// Returns a connection for reading, where there is a journal that can be read.
    pub(in crate::store) fn journal_to_read(&self) -> Option<Journal> {
        self.journals.take_to_read()
    }

    /// Asks with a connection to the journal; none where there is no journal that can be read, or nothing was answered.
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

    /// Puts a connection back for the next one.
    pub(in crate::store) fn give_back(&self, journal: Journal) {
        self.journals.give_back(journal);
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
