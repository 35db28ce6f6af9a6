//! The connections to one journal that a process keeps open, at most eight, and what it knows about the journal's
//! damage.

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

/// How often to retry opening a journal, and how long to wait before each retry.
const TRIES: u32 = 2;
const A_MOMENT: Duration = Duration::from_millis(2);

/// The journal of one list.
#[derive(Debug)]
pub(in crate::store) struct Journals {
    /// Our directory for the list, or `None` if we have no data directory.
    sidecar: Option<PathBuf>,
    list: PathBuf,
    /// Whether the list is stored in another dialect.
    has_forms: bool,
    pool: JournalPool,
    /// A copy of the journal, made while no process was writing to it.
    copy: Mutex<Option<Journal>>,
    damage: Mutex<Option<JournalDamage>>,
    /// The format of the journal if a newer Taskyard has written it.
    newer: Mutex<Option<i64>>,
    /// Stale writes of other programs that were recorded through these connections and not yet taken by a caller.
    stale_writes: Mutex<Vec<StaleWrite>>,
}

impl Journals {
    /// Describes the journal of a list without opening anything.
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

    /// Describes the journal of a list stored in another dialect.
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

    /// Takes a connection for reading, or returns `None` if there is no readable journal.
    pub(in crate::store) fn take_to_read(&self) -> Option<Journal> {
        self.pool.take(|| self.open_to_read().ok_or(())).ok()
    }

    fn open(&self) -> Result<Journal, StoreError> {
        let mut opened = self.open_once();
        for _ in 0..TRIES {
            // The list may be being archived at this moment; then its directory is recreated.
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
            // Reading is still possible if we may not write but the database can be opened as it is.
            error => {
                tracing::debug!(%error, "opening the journal for reading only");
                self.remember(Journal::open_to_read(sidecar)?.ok_or(error))
            }
        });
        opened.inspect_err(|error| tracing::warn!(%error, "reading without the journal")).ok()
    }

    /// Returns whether there is a journal, or was one.
    pub(in crate::store) fn is_there(&self) -> bool {
        let is_there = |sidecar: &PathBuf| sidecar.join(DATABASE).exists() || sidecar.join("stamp").exists();
        self.sidecar.as_ref().is_some_and(is_there)
    }

    /// Returns a connection to the pool.
    pub(in crate::store) fn give_back(&self, journal: Journal) {
        journal.stamp_commits();
        // A connection to a damaged journal is not reused.
        if self.damage().is_none() || journal.found.is_some() {
            self.pool.give_back(journal);
        }
    }

    /// Returns the connection if it still is to the current database, else another one.
    pub(in crate::store) fn renewed(&self, journal: Journal) -> Result<Journal, StoreError> {
        if journal.is_current() { Ok(journal) } else { self.take() }
    }

    /// Reads with the journal, or without it if it turns out to be damaged or written by a newer Taskyard.
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

    /// Reads from a copy of the journal if no process is writing to it, which avoids opening it; otherwise like
    /// [`Self::reading`].
    pub(in crate::store) fn glancing<T>(
        &self,
        read: impl Fn(Option<&Journal>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let copied = self.with_copy(|copy| read(Some(copy)).ok());
        copied.map_or_else(|| self.reading(read), Ok)
    }

    /// Queries a copy of the journal. Returns `None` if there is none, the query fails, or a process wrote to the
    /// journal in the meantime.
    fn with_copy<T>(&self, ask: impl Fn(&Journal) -> Option<T>) -> Option<T> {
        // The second attempt is for a cached copy that is out of date.
        (0..2).find_map(|_| {
            let copy = self.take_copy()?;
            let answer = ask(&copy);
            let is_at_rest = copy.is_at_rest();
            // What is wrong is left to the process that opens the journal.
            if is_at_rest {
                self.keep_copy(copy);
            }
            answer.filter(|_| is_at_rest)
        })
    }

    /// Takes a copy of the journal for reading. Returns `None` if this process has the journal open or anything about
    /// it is unusual. What is read from the copy is valid only if [`Journal::is_at_rest`] returns true afterwards.
    pub(in crate::store) fn take_copy(&self) -> Option<Journal> {
        if !self.pool.is_empty() || self.damage().is_some() || self.newer_format().is_some() {
            return None;
        }
        let kept = self.copy.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.or_else(|| Journal::copy_at_rest(self.sidecar.as_ref()?))
    }

    /// Caches a copy for the next reader.
    pub(in crate::store) fn keep_copy(&self, copy: Journal) {
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy);
    }

    /// Queries the journal. Returns the default if there is no journal.
    pub(in crate::store) fn ask<T: Default>(
        &self,
        question: impl Fn(&Journal) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(answer) = self.with_copy(|copy| question(copy).ok()) {
            return Ok(answer);
        }
        let journal = match self.take_to_read() {
            Some(journal) => journal,
            None => match self.refusal() {
                Some(refusal) => return Err(refusal),
                // It could not be opened a moment ago, although it exists.
                None if self.is_there() => self.take()?,
                None => return Ok(T::default()),
            },
        };
        let answer = question(&journal).inspect_err(|error| self.note(error));
        self.give_back(journal);
        answer
    }

    /// Returns the revision up to which the journal was thinned.
    pub(in crate::store) fn thinned(&self) -> Result<Revision, StoreError> {
        let Some(journal) = self.take_to_read() else { return Ok(Revision(0)) };
        let thinned = journal.thinned();
        self.give_back(journal);
        thinned
    }

    /// Returns the known damage of the journal.
    pub(in crate::store) fn damage(&self) -> Option<JournalDamage> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the format of the journal if a newer Taskyard has written it.
    pub(in crate::store) fn newer_format(&self) -> Option<i64> {
        *self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why the journal cannot be used, as the error for a caller that needs it.
    pub(in crate::store) fn refusal(&self) -> Option<StoreError> {
        let path = self.sidecar.as_ref()?.join(DATABASE);
        match self.damage() {
            Some(what) => Some(StoreError::JournalDamaged { path, what }),
            None if path.exists() || path.with_file_name("stamp").exists() => self.take().err(),
            None => None,
        }
    }

    /// Remembers damage, or a newer format, if that is what the error reports.
    pub(in crate::store) fn note(&self, error: &StoreError) {
        match error {
            StoreError::JournalDamaged { what, .. } => self.set_damage(Some(what.clone())),
            StoreError::NewerJournal { format, .. } => self.set_newer(Some(*format)),
            _ => return,
        }
        // The other connections are to the same files.
        self.pool.clear();
    }

    /// Takes an open connection that is not in use.
    pub(in crate::store) fn take_idle(&self) -> Option<Journal> {
        self.pool.take(|| Err(())).ok()
    }

    /// Closes every idle connection. Merges the log, however short, unless another process has the journal open.
    pub(in crate::store) fn fold(&self) {
        let last = self.take_idle();
        self.pool.clear();
        last.into_iter().for_each(Journal::fold);
    }

    /// Closes every idle connection.
    pub(in crate::store) fn close_idle(&self) {
        self.pool.clear();
    }

    /// Discards every connection and what is known about damage, because the database was replaced.
    pub(in crate::store) fn forget(&self) {
        self.pool.clear();
        self.set_damage(None);
    }

    /// Keeps recorded stale writes until a caller takes them.
    pub(in crate::store) fn note_stale_writes(&self, stale: Vec<StaleWrite>) {
        if !stale.is_empty() {
            self.stale_writes.lock().unwrap_or_else(PoisonError::into_inner).extend(stale);
        }
    }

    /// Takes the stale writes recorded since the last call.
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

/// How many connections a process may use at the same time. Each costs three file descriptors and up to a few
/// megabytes.
const CONNECTIONS: usize = 8;
/// How long to wait for a connection. After that a thread opens one beyond the limit, which is better than failing.
const PATIENCE: Duration = Duration::from_secs(12);

/// Lends connections to the journal of one list. A thread waits if all are in use.
#[derive(Debug)]
pub(super) struct JournalPool {
    seats: Arc<Seats>,
    idle: Mutex<IdleJournals>,
}

/// The connections that are not in use.
#[derive(Debug, Default)]
struct IdleJournals(Vec<Journal>);

impl Default for JournalPool {
    fn default() -> Self {
        Self { seats: Seats::new(CONNECTIONS), idle: Mutex::default() }
    }
}

impl JournalPool {
    /// Takes an idle connection, or opens one.
    pub(super) fn take<E>(&self, open: impl FnOnce() -> Result<Journal, E>) -> Result<Journal, E> {
        self.take_within(PATIENCE, open)
    }

    fn take_within<E>(&self, patience: Duration, open: impl FnOnce() -> Result<Journal, E>) -> Result<Journal, E> {
        let seat = self.seats.take(patience);
        let idle = {
            let mut idle = self.idle();
            // Skip connections whose database has been replaced.
            std::iter::from_fn(|| idle.0.pop()).find(Journal::was_current_lately)
        };
        let mut journal = idle.map_or_else(open, Ok)?;
        journal.seat = Some(seat);
        Ok(journal)
    }

    /// Takes a connection back. A connection that is dropped instead is closed.
    pub(super) fn give_back(&self, mut journal: Journal) {
        let seat = journal.seat.take();
        let mut idle = self.idle();
        if idle.0.len() < CONNECTIONS {
            idle.0.push(journal);
        }
        drop(idle);
        // Release the seat last, so that the next thread finds the connection.
        drop(seat);
    }

    /// Returns whether there is no connection, idle or in use.
    pub(super) fn is_empty(&self) -> bool {
        self.seats.are_free() && self.idle().0.is_empty()
    }

    /// Closes every idle connection.
    pub(super) fn clear(&self) {
        self.idle().0.clear();
    }

    fn idle(&self) -> MutexGuard<'_, IdleJournals> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for IdleJournals {
    /// This process no longer uses the journal, so the last connection merges the log if possible.
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
    fn pool_never_exceeds_its_limit_and_serves_every_thread() {
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
    fn dropped_or_unopenable_watch_frees_its_place() {
        let place = tempfile::tempdir().unwrap();
        let pool = JournalPool::default();
        drop(pool.take(|| Journal::open(place.path(), place.path())).unwrap());
        let failed: Result<Journal, StoreError> =
            pool.take(|| Err(StoreError::io("cannot open", place.path())(std::io::ErrorKind::NotFound.into())));
        assert!(failed.is_err());
        assert!(pool.is_empty());
    }
}
