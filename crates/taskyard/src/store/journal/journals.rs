//! The connections to one journal that a process keeps open, eight at most, and what it knows to be wrong with that journal.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use taskyard_core::Revision;

use super::Journal;
use super::archive::is_archived;
use super::database::Seats;
use super::layout::DATABASE;
use crate::store::error::JournalDamage;
use crate::store::{StaleWrite, StoreError};

/// A journal that cannot be opened is tried again so often, after so long.
const TRIES: u32 = 2;
const A_MOMENT: Duration = Duration::from_millis(2);

/// The journal of one list.
#[derive(Debug)]
pub(in crate::store) struct Journals {
    /// Our directory for the list, where we may keep one.
    sidecar: Option<PathBuf>,
    list: PathBuf,
    /// Whether the list is kept in another dialect.
    has_forms: bool,
    pool: JournalPool,
    /// A copy of the journal that was made while no process had it open.
    copy: Mutex<Option<Journal>>,
    damage: Mutex<Option<JournalDamage>>,
    /// The format of the journal, where a newer Taskyard has it.
    newer: Mutex<Option<i64>>,
    /// The stale writes of other programs that were recorded through these connections and no caller has taken up yet.
    stale_writes: Mutex<Vec<StaleWrite>>,
}

impl Journals {
    /// Names the journal of a list; nothing is opened yet.
    pub(in crate::store) fn of(sidecar: Option<PathBuf>, list: PathBuf) -> Self {
        Self {
            sidecar,
            list,
            has_forms: false,
            pool: JournalPool::default(),
            copy: Mutex::default(),
            damage: Mutex::default(),
            newer: Mutex::default(),
            stale_writes: Mutex::default(),
        }
    }

    /// Names the journal of a list that is kept in another dialect.
    pub(in crate::store) fn with_forms(sidecar: Option<PathBuf>, list: PathBuf) -> Self {
        Self { has_forms: true, ..Self::of(sidecar, list) }
    }

    /// Returns our directory for the list.
    pub(in crate::store) fn sidecar(&self) -> Result<&PathBuf, StoreError> {
        let missing = || StoreError::io("cannot write without a data directory for", &self.list);
        self.sidecar.as_ref().ok_or_else(|| missing()(std::io::ErrorKind::NotFound.into()))
    }

    /// Takes an idle connection, or opens one.
    pub(in crate::store) fn take(&self) -> Result<Journal, StoreError> {
        self.pool.take(|| self.open())
    }

    /// Takes a connection for reading, where there is a journal that can be read.
    pub(in crate::store) fn take_to_read(&self) -> Option<Journal> {
        self.pool.take(|| self.open_to_read().ok_or(())).ok()
    }

    fn open(&self) -> Result<Journal, StoreError> {
        let mut opened = self.open_once();
        for _ in 0..TRIES {
            // The memory of the list may have been put away at this very moment; then it is made anew.
            let may_pass = match &opened {
                Err(StoreError::Io { doing, .. }) => *doing != "cannot lock",
                opened => matches!(opened, Err(StoreError::Journal { .. })),
            };
            if !may_pass || self.sidecar.is_none() {
                break;
            }
            thread::sleep(A_MOMENT);
            opened = self.open_once();
        }
        opened
    }

    fn open_once(&self) -> Result<Journal, StoreError> {
        let opened = Journal::open(self.sidecar()?, &self.list).and_then(|journal| {
            if self.has_forms {
                journal.have_forms()?;
            }
            Ok(journal)
        });
        self.remember(opened)
    }

    fn open_to_read(&self) -> Option<Journal> {
        let sidecar = self.sidecar.as_ref()?;
        if !self.is_there() && !is_archived(sidecar) {
            return None;
        }
        let opened = self.open().or_else(|error| match error {
            error if error.is_of_memory() => Err(error),
            // Not ours to write to: reading is still possible where the database can be opened as it is.
            error => {
                tracing::debug!(%error, "opening the journal for reading only");
                self.remember(Journal::open_to_read(sidecar)?.ok_or(error))
            }
        });
        opened.inspect_err(|error| tracing::warn!(%error, "reading without the journal")).ok()
    }

    /// Tells whether there is a journal, or was one in its place.
    pub(in crate::store) fn is_there(&self) -> bool {
        let is_there = |sidecar: &PathBuf| sidecar.join(DATABASE).exists() || sidecar.join("stamp").exists();
        self.sidecar.as_ref().is_some_and(is_there)
    }

    /// Puts a connection back for the next one.
    pub(in crate::store) fn give_back(&self, journal: Journal) {
        journal.stamp_commits();
        // No caller takes up again what was found to be damaged.
        if self.damage().is_none() || journal.found.is_some() {
            self.pool.give_back(journal);
        }
    }

    /// Returns the connection where it still leads to the database of this place, else another one.
    pub(in crate::store) fn renewed(&self, journal: Journal) -> Result<Journal, StoreError> {
        if journal.is_current() { Ok(journal) } else { self.take() }
    }

    /// Reads with the journal; where it turns out to be damaged or a newer Taskyard's, without it.
    pub(in crate::store) fn reading<T>(
        &self,
        read: impl Fn(Option<&Journal>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(journal) = self.take_to_read() else { return read(None) };
        match read(Some(&journal)) {
            Err(error) if error.is_of_memory() => {
                self.note(&error);
                read(None)
            }
            result => {
                self.give_back(journal);
                result
            }
        }
    }

    /// Reads with a copy of the journal where no process has it open, so that nothing has to be made for it; else as [`Self::reading`]
    /// does.
    pub(in crate::store) fn glancing<T>(
        &self,
        read: impl Fn(Option<&Journal>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(copy) = self.take_copy() {
            let read = read(Some(&copy));
            self.keep_copy(copy);
            // The process that opens the journal says what is wrong with it.
            if read.is_ok() {
                return read;
            }
        }
        self.reading(read)
    }

    /// Takes a copy of the journal as it is now, for reading. None where a process has it open, this process included, and where anything
    /// is not as it should be.
    pub(in crate::store) fn take_copy(&self) -> Option<Journal> {
        if !self.pool.is_empty() || self.damage().is_some() || self.newer_format().is_some() {
            return None;
        }
        let kept = self.copy.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.filter(Journal::is_at_rest).or_else(|| Journal::copy_at_rest(self.sidecar.as_ref()?))
    }

    /// Keeps a copy for the next who reads.
    pub(in crate::store) fn keep_copy(&self, copy: Journal) {
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy);
    }

    /// Asks the journal. Only where there is none has nothing happened.
    pub(in crate::store) fn ask<T: Default>(
        &self,
        question: impl FnOnce(&Journal) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let journal = match self.take_to_read() {
            Some(journal) => journal,
            None => match self.refusal() {
                Some(refusal) => return Err(refusal),
                // It could not be opened a moment ago, and is there.
                None if self.is_there() => self.take()?,
                None => return Ok(T::default()),
            },
        };
        let answer = question(&journal).inspect_err(|error| self.note(error));
        self.give_back(journal);
        answer
    }

    /// Returns the revision up to which the journal was thinned out.
    pub(in crate::store) fn thinned(&self) -> Result<Revision, StoreError> {
        let Some(journal) = self.take_to_read() else { return Ok(Revision(0)) };
        let thinned = journal.thinned();
        self.give_back(journal);
        thinned
    }

    /// Returns what is known to be wrong with the journal.
    pub(in crate::store) fn damage(&self) -> Option<JournalDamage> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the format of the journal, where a newer Taskyard has it.
    pub(in crate::store) fn newer_format(&self) -> Option<i64> {
        *self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is known to be wrong with the journal as the error of a caller that needs it.
    pub(in crate::store) fn refusal(&self) -> Option<StoreError> {
        let path = self.sidecar.as_ref()?.join(DATABASE);
        match self.damage() {
            Some(what) => Some(StoreError::JournalDamaged { path, what }),
            None if path.exists() || path.with_file_name("stamp").exists() => self.take().err(),
            None => None,
        }
    }

    /// Remembers that the journal turned out to be damaged or a newer Taskyard's, where an error says so.
    pub(in crate::store) fn note(&self, error: &StoreError) {
        match error {
            StoreError::JournalDamaged { what, .. } => self.set_damage(Some(what.clone())),
            StoreError::NewerJournal { format, .. } => self.set_newer(Some(*format)),
            _ => return,
        }
        // They lead to the same files.
        self.pool.clear();
    }

    /// Closes every connection that no caller uses at this moment.
    pub(in crate::store) fn close_idle(&self) {
        self.pool.clear();
    }

    /// Forgets every connection and what was known to be wrong: there is another database now.
    pub(in crate::store) fn forget(&self) {
        self.pool.clear();
        self.set_damage(None);
    }

    /// Keeps stale writes that were recorded until a caller takes them up.
    pub(in crate::store) fn note_stale_writes(&self, stale: Vec<StaleWrite>) {
        if !stale.is_empty() {
            self.stale_writes.lock().unwrap_or_else(PoisonError::into_inner).extend(stale);
        }
    }

    /// Takes up the stale writes that were recorded since a caller last did.
    pub(in crate::store) fn take_stale_writes(&self) -> Vec<StaleWrite> {
        std::mem::take(&mut *self.stale_writes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn remember(&self, opened: Result<Journal, StoreError>) -> Result<Journal, StoreError> {
        match &opened {
            Ok(journal) => {
                self.set_damage(journal.found.clone());
                self.set_newer(None);
            }
            Err(error) => self.note(error),
        }
        opened
    }

    fn set_newer(&self, format: Option<i64>) {
        *self.newer.lock().unwrap_or_else(PoisonError::into_inner) = format;
    }

    fn set_damage(&self, damage: Option<JournalDamage>) {
        *self.damage.lock().unwrap_or_else(PoisonError::into_inner) = damage;
    }
}

/// So many connections of one process are in use at once. Each costs three descriptors and up to some megabytes.
const CONNECTIONS: usize = 8;
/// How long one is waited for. A thread that still has none then opens one beyond the number: that is better than no
/// answer.
const PATIENCE: Duration = Duration::from_secs(12);

/// Lends connections to the journal of one list. A thread that needs one while all are in use waits for its turn.
#[derive(Debug)]
pub(super) struct JournalPool {
    seats: Arc<Seats>,
    idle: Mutex<IdleJournals>,
}

/// The connections that no caller uses just now.
#[derive(Debug, Default)]
struct IdleJournals(Vec<Journal>);

impl Default for JournalPool {
    fn default() -> Self {
        Self { seats: Seats::new(CONNECTIONS), idle: Mutex::default() }
    }
}

impl JournalPool {
    /// Lends a connection that is idle, or one that is opened now.
    pub(super) fn take<E>(&self, open: impl FnOnce() -> Result<Journal, E>) -> Result<Journal, E> {
        self.take_within(PATIENCE, open)
    }

    fn take_within<E>(&self, patience: Duration, open: impl FnOnce() -> Result<Journal, E>) -> Result<Journal, E> {
        let seat = self.seats.take(patience);
        let idle = {
            let mut idle = self.idle();
            // One whose database was replaced since leads nowhere.
            std::iter::from_fn(|| idle.0.pop()).find(Journal::was_current_lately)
        };
        let mut journal = idle.map_or_else(open, Ok)?;
        journal.seat = Some(seat);
        Ok(journal)
    }

    /// Takes a connection back for the next one. One that is dropped instead is closed.
    pub(super) fn give_back(&self, mut journal: Journal) {
        let seat = journal.seat.take();
        let mut idle = self.idle();
        if idle.0.len() < CONNECTIONS {
            idle.0.push(journal);
        }
        drop(idle);
        // The next thread that waits for the seat finds the connection.
        drop(seat);
    }

    /// Tells whether there is no connection at all, neither idle nor in use.
    pub(super) fn is_empty(&self) -> bool {
        self.seats.are_free() && self.idle().0.is_empty()
    }

    /// Closes every connection that is idle.
    pub(super) fn clear(&self) {
        self.idle().0.clear();
    }

    fn idle(&self) -> MutexGuard<'_, IdleJournals> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for IdleJournals {
    /// No thread of this process uses the journal any more: the last connection folds the log in, where it can.
    fn drop(&mut self) {
        let last = self.0.pop();
        self.0.clear();
        if let Some(last) = last {
            last.fold_at_close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::super::database::Journal;
    use super::{CONNECTIONS, JournalPool};
    use crate::store::StoreError;

    #[test]
    fn however_many_threads_want_one_there_are_only_so_many_and_each_gets_its_turn() {
        let place = tempfile::tempdir().unwrap();
        let (pool, opened) = (Arc::new(JournalPool::default()), Arc::new(AtomicUsize::new(0)));
        let threads: Vec<_> = (0..100)
            .map(|_| {
                let (pool, opened, path) = (Arc::clone(&pool), Arc::clone(&opened), place.path().to_owned());
                thread::spawn(move || {
                    let journal = pool.take(|| {
                        opened.fetch_add(1, Ordering::Relaxed);
                        Journal::open(&path, &path)
                    });
                    let journal = journal.unwrap();
                    journal.newest().unwrap();
                    pool.give_back(journal);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(opened.load(Ordering::Relaxed) <= CONNECTIONS);
        assert!(pool.seats.are_free());
    }

    #[test]
    fn a_thread_that_has_one_does_not_wait_for_another() {
        let place = tempfile::tempdir().unwrap();
        let pool = JournalPool::default();
        let open = || Journal::open(place.path(), place.path());
        let held: Vec<Journal> = (0..=CONNECTIONS).map(|_| pool.take(open).unwrap()).collect();
        held.into_iter().for_each(|journal| pool.give_back(journal));
        assert_eq!(pool.idle().0.len(), CONNECTIONS);
    }

    #[test]
    fn one_that_is_dropped_or_cannot_be_opened_leaves_its_place_to_others() {
        let place = tempfile::tempdir().unwrap();
        let pool = JournalPool::default();
        drop(pool.take(|| Journal::open(place.path(), place.path())).unwrap());
        let failed: Result<Journal, StoreError> =
            pool.take(|| Err(StoreError::io("cannot open", place.path())(std::io::ErrorKind::NotFound.into())));
        assert!(failed.is_err());
        assert!(pool.is_empty());
    }
}
