//! The in-memory list of a long-lived process, updated from the kernel's notifications about its files.
//!
//! A server is asked about the same list again and again. Checking every file each time costs one `statx` per file;
//! here it costs a single read that finds nothing, or reading the files that were changed. The kernel queues a
//! notification before the call that changes a file returns, so a caller that asks afterwards sees the change. Nothing
//! here is final: a commit rereads what it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::Deref;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use taskyard_core::dialect::macf::hidden_task_of;
use taskyard_core::live::LiveList;
use taskyard_core::{Image, Revision, TaskId};

use super::scan::{Change, Scan};
use super::{observe, scan};
use crate::liveness::is_written_here_only;
use crate::store::file::client_files::Handle;
use crate::store::journal::Journal;
use crate::store::locks::list_paths;
use crate::store::locks::list_paths::look_through;
use crate::store::locks::turn::TurnRecord;
use crate::store::{LiveView, Sighting, StoreError, UnreadableTask};
use crate::watching;
use crate::watching::{Deed, DirectoryWatch, Happened};

static SIGHTINGS: AtomicU64 = AtomicU64::new(0);

/// The state a process keeps about one list.
#[derive(Debug, Default)]
pub(in crate::store) struct Live {
    pub(in crate::store) asked: u32,
    pub(in crate::store) watch: Option<ListWatch>,
    pub(in crate::store) seen: Option<Seen>,
    /// Whether the absence of notifications was already logged.
    pub(in crate::store) is_untold_said: bool,
}

/// The cached contents of a list.
#[derive(Debug)]
pub(in crate::store) struct Seen {
    pub(in crate::store) list: LiveList,
    /// Entries that cannot be read as tasks.
    pub(in crate::store) problems: BTreeMap<TaskId, UnreadableTask>,
    pub(in crate::store) revision: Revision,
    /// Identifies this state among all states ever cached.
    pub(in crate::store) sighting: Sighting,
    /// The turn record when the list was last read.
    pub(in crate::store) state: TurnRecord,
    /// Whether files are hidden from the client: then all files together decide which file of a task is in use.
    pub(in crate::store) has_hidden: bool,
    /// Tasks whose files must be read again even without a notification, because something is not recorded yet.
    pub(in crate::store) unsettled: BTreeSet<TaskId>,
}

impl Live {
    /// Returns whether this is the first request for the list, and counts it.
    pub(in crate::store) fn is_asked_first(&mut self) -> bool {
        let is_first = self.asked == 0;
        self.asked = self.asked.max(1);
        is_first
    }

    /// Returns the size in bytes of the cached tasks; `None` if nothing is cached.
    pub(in crate::store) fn size(&self) -> Option<usize> {
        self.seen.as_ref().map(|seen| seen.list.size())
    }

    /// Returns the identifier of the cached state, if nothing has happened since.
    pub(in crate::store) fn sighting(&mut self, path: &Path, state: impl FnOnce() -> TurnRecord) -> Option<Sighting> {
        let watch = self.watch.as_ref().filter(|_| self.seen.is_some())?;
        // The path may refer to another directory by now.
        let is_there = rustix::fs::stat(path).is_ok_and(|there| there.st_ino == watch.inode);
        let happened = watch.changes.take();
        let (state, seen) = (state(), self.seen.as_mut()?);
        match happened {
            Happened::To(names) => match tasks_of(&names) {
                Some(tasks) if tasks.is_empty() || !seen.has_hidden => seen.unsettled.extend(tasks.into_keys()),
                _ => self.seen = None,
            },
            Happened::Anything | Happened::Gone => self.seen = None,
            Happened::Nothing => {}
        }
        let counts = |seen: &&Seen| is_there && seen.unsettled.is_empty() && seen.is_of(&state);
        self.seen.as_ref().filter(counts).map(|seen| seen.sighting)
    }
}

impl Seen {
    /// Replaces the cached state of some tasks by the result of reading them.
    pub(in crate::store) fn apply<'a>(&mut self, ids: impl Iterator<Item = &'a TaskId>, scan: &Scan) {
        self.revision = scan.revision;
        for id in ids {
            let found = scan.images.get(id);
            let problem = scan.problems.iter().find(|problem| problem.task == *id);
            let is_same_image = found.map(|(_, image)| image) == self.list.image(id);
            let is_same = is_same_image && problem.is_none() && !self.problems.contains_key(id);
            if is_same {
                continue;
            }
            self.sighting = new_sighting();
            self.problems.remove(id);
            match found {
                Some((task, image)) => self.list.put_read(task, image.clone()),
                None => self.list.remove(id),
            }
        }
        for problem in &scan.problems {
            // Half-written files are read again, whether or not the kernel reports a change.
            self.unsettled.extend(problem.why.may_be_torn().then(|| problem.task.clone()));
            self.problems.insert(problem.task.clone(), problem.clone());
        }
    }

    /// Returns what scanning the whole list would find, with nothing to record.
    pub(in crate::store) fn as_scan(&self) -> Scan {
        Scan {
            tasks: self.list.tasks(),
            problems: self.problems.values().cloned().collect(),
            revision: self.revision,
            ..Scan::default()
        }
    }

    /// Returns whether all changes by other programs are recorded.
    pub(in crate::store) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Returns whether no Taskyard process has committed since.
    fn is_of(&self, state: &TurnRecord) -> bool {
        (self.state.sequence, self.state.applied) == (state.sequence, state.applied)
    }
}

/// Returns an identifier that differs from all earlier ones.
pub(in crate::store) fn new_sighting() -> Sighting {
    Sighting(SIGHTINGS.fetch_add(1, Ordering::Relaxed))
}

/// Returns the tasks whose files have these names, with what was done to them; `None` if one of the files is hidden
/// from the client.
pub(in crate::store) fn tasks_of(names: &BTreeMap<OsString, Deed>) -> Option<BTreeMap<TaskId, Deed>> {
    let names = names.iter().filter_map(|(name, deed)| Some((name.to_str()?, *deed)));
    let is_hidden = |(name, _): (&str, Deed)| list_paths::task_of(name).is_none() && hidden_task_of(name).is_some();
    if names.clone().any(is_hidden) {
        return None;
    }
    Some(names.filter_map(|(name, deed)| Some((list_paths::task_of(name)?, deed))).collect())
}

/// A directory watched through the kernel.
#[derive(Debug)]
pub(in crate::store) struct ListWatch {
    pub(in crate::store) changes: DirectoryWatch,
    pub(in crate::store) inode: u64,
}

/// Returns the inode of a directory.
pub(in crate::store) fn inode_of(directory: BorrowedFd<'_>) -> Option<u64> {
    look_through(directory).ok().map(|look| look.print.inode)
}

/// Starts watching a list's directory.
pub(in crate::store) fn watch(directory: BorrowedFd<'_>, path: &Path, inode: u64) -> io::Result<ListWatch> {
    // The kernel does not report changes made by other machines, or by user-space file systems.
    if !is_written_here_only(directory) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let changes = watching::watch(path, may_hold_task)?;
    // The path may refer to another directory since.
    if rustix::fs::stat(path)?.st_ino != inode {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(ListWatch { changes, inode })
}

/// Returns whether a file may contain a task.
fn may_hold_task(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".json")
}

/// Maximum number of rereads while our writers are active, before their commits are taken from the journal.
const LOOKS: u32 = 12;
/// Maximum duration of these rereads.
const LOOKING: Duration = Duration::from_millis(15);

/// An up-to-date list, locked while it is queried.
struct SeenList<'a>(MutexGuard<'a, Live>);

impl Deref for SeenList<'_> {
    type Target = LiveList;

    fn deref(&self) -> &LiveList {
        &self.0.seen.as_ref().expect("it was caught up with").list
    }
}

impl Live {
    /// Brings the list up to date and returns it. Returns `None` if it is not worth caching or cannot be cached; the
    /// files are read instead.
    ///
    /// The caller must open a journal connection before it locks this: writers that hold a connection and wait for
    /// their turn wait for the current writer, and that writer waits for this lock.
    pub(in crate::store) fn catch_up(
        &mut self,
        handle: &Handle,
        journal: &Journal,
    ) -> Result<Option<&mut Seen>, StoreError> {
        self.asked = self.asked.saturating_add(1);
        // A process that reads once and exits does not need notifications.
        if self.asked < 2 || !self.is_watching(handle)? {
            self.seen = None;
            return Ok(None);
        }
        if !self.look(handle, journal).inspect_err(|error| handle.journals.note(error))? {
            self.seen = None;
        }
        if let Some(seen) = &mut self.seen {
            seen.list.judge(crate::system::now());
        }
        Ok(self.seen.as_mut())
    }

    /// Returns the current in-memory list, blocking other callers while it is held; `None` if the files must be read
    /// instead.
    pub(in crate::store) fn view<'a>(
        handle: &'a Handle,
        journal: &Journal,
    ) -> Result<Option<LiveView<'a>>, StoreError> {
        let mut live = handle.files.live();
        let revision = match live.catch_up(handle, journal) {
            Ok(Some(seen)) => seen.revision,
            // The contents of the files do not depend on the journal.
            Ok(None) | Err(StoreError::JournalDamaged { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(LiveView::new(SeenList(live), revision)))
    }

    /// Makes sure that the current directory is being watched.
    fn is_watching(&mut self, handle: &Handle) -> Result<bool, StoreError> {
        let Some(directory) = handle.files.place.open()? else {
            (self.watch, self.seen) = (None, None);
            return Ok(false);
        };
        let inode = inode_of(directory.as_fd());
        if self.watch.is_some() && self.watch.as_ref().map(|watch| watch.inode) == inode {
            return Ok(true);
        }
        self.seen = None;
        let watch = inode.and_then(|inode| watch(directory.as_fd(), &handle.files.place.directory, inode).ok());
        if watch.is_none() && !std::mem::replace(&mut self.is_untold_said, true) {
            tracing::debug!(path = %handle.files.place.directory.display(), "changes are looked for instead of being told");
        }
        self.watch = watch;
        Ok(self.watch.is_some())
    }

    /// Processes what has happened. Returns false if that cannot be determined.
    fn look(&mut self, handle: &Handle, journal: &Journal) -> Result<bool, StoreError> {
        let started = Instant::now();
        for look in 1.. {
            let before = handle.files.state().unwrap_or_default();
            let Some(scan) = self.take_in(handle, journal)? else { return Ok(false) };
            let Some(seen) = &mut self.seen else { return Ok(false) };
            let after = handle.files.state().unwrap_or_default();
            seen.state = after;
            if before.sequence.is_multiple_of(2) && before.sequence == after.sequence {
                seen.record(handle, journal, &scan)?;
                return Ok(true);
            }
            seen.unsettled.extend(scan.changes.into_iter().map(|change| change.task));
            if look == LOOKS || started.elapsed() > LOOKING {
                // Commits that are being applied, or belong to a suspended writer, are shown completely.
                return seen.complete(journal, Revision(before.applied)).map(|()| true);
            }
            thread::sleep(Duration::from_micros(u64::from(look) * 200));
        }
        Ok(false)
    }

    /// Reads the changed files, or all of them. Returns the changes to be recorded.
    fn take_in(&mut self, handle: &Handle, journal: &Journal) -> Result<Option<Scan>, StoreError> {
        let Some(watch) = &self.watch else { return Ok(None) };
        let mut ids = match (watch.changes.take(), &mut self.seen) {
            (Happened::Gone, _) => {
                (self.watch, self.seen) = (None, None);
                return Ok(None);
            }
            (Happened::Anything, _) | (_, None) => {
                self.seen = None;
                return self.take_in_all(handle, journal).map(Some);
            }
            (Happened::To(names), Some(seen)) => match tasks_of(&names) {
                Some(tasks) if tasks.is_empty() || !seen.has_hidden => tasks,
                _ => {
                    self.seen = None;
                    return self.take_in_all(handle, journal).map(Some);
                }
            },
            (Happened::Nothing, Some(_)) => BTreeMap::new(),
        };
        let Some(seen) = &mut self.seen else { return Ok(None) };
        ids.extend(std::mem::take(&mut seen.unsettled).into_iter().map(|id| (id, Deed::Touched)));
        let scan = if ids.is_empty() {
            Scan { revision: journal.newest_told()?, ..Scan::default() }
        } else {
            scan::scan_some(&handle.files.place, journal, &ids)?
        };
        seen.apply(ids.keys(), &scan);
        Ok(Some(scan))
    }

    fn take_in_all(&mut self, handle: &Handle, journal: &Journal) -> Result<Scan, StoreError> {
        let scan = scan::scan(&handle.files.place, Some(journal))?;
        let mut images: BTreeMap<TaskId, Image> =
            journal.all_known()?.into_iter().map(|(id, known)| (id, known.image)).collect();
        for Change { task, after, .. } in &scan.changes {
            match after {
                Some((image, _)) => drop(images.insert(task.clone(), image.clone())),
                None => drop(images.remove(task)),
            }
        }
        let mut list = LiveList::new(handle.rules);
        let mut unsettled = BTreeSet::new();
        for task in &scan.tasks {
            match images.remove(&task.id).filter(|image| image.task(&task.id).as_ref() == Ok(task)) {
                Some(image) => list.put_read(task, image),
                // It changed since, or differs from our records.
                None => drop(unsettled.insert(task.id.clone())),
            }
        }
        let problems = scan.problems.iter().map(|problem| (problem.task.clone(), problem.clone())).collect();
        let (revision, has_hidden, state) = (scan.revision, scan.has_hidden, TurnRecord::default());
        self.seen = Some(Seen { list, problems, revision, sighting: new_sighting(), state, has_hidden, unsettled });
        if let Some(seen) = &mut self.seen
            && !seen.unsettled.is_empty()
        {
            let ids = std::mem::take(&mut seen.unsettled).into_iter().map(|id| (id, Deed::Touched)).collect();
            let some = scan::scan_some(&handle.files.place, journal, &ids)?;
            seen.apply(ids.keys(), &some);
            seen.unsettled.extend(some.changes.into_iter().map(|change| change.task));
        }
        Ok(scan)
    }
}

impl Seen {
    /// Records changes by other programs. What cannot be recorded yet is read again later. A file with new metadata but
    /// the same contents is left to a full scan, since this cache does not use metadata.
    fn record(&mut self, handle: &Handle, journal: &Journal, scan: &Scan) -> Result<(), StoreError> {
        if scan.changes.is_empty() {
            return Ok(());
        }
        if handle.files.transactions.load(Ordering::Relaxed) == 0 {
            observe::record(handle, journal, scan);
            self.revision = journal.newest()?;
        }
        for change in &scan.changes {
            let known = journal.known(&change.task)?.map(|known| known.image);
            if known.as_ref() != change.after.as_ref().map(|(image, _)| image) {
                self.unsettled.insert(change.task.clone());
            }
        }
        Ok(())
    }

    /// Applies the journal entries after a revision, whether or not they are in the files; the files will be read
    /// again.
    fn complete(&mut self, journal: &Journal, applied: Revision) -> Result<(), StoreError> {
        for stored in journal.after(applied)? {
            let entry = stored.entry;
            self.revision = self.revision.max(entry.revision);
            if entry.op.is_elsewhere() {
                continue;
            }
            self.sighting = new_sighting();
            self.problems.remove(&entry.task);
            match entry.after {
                Some(image) if self.list.put(&entry.task, image.clone()).is_ok() => {}
                _ => self.list.remove(&entry.task),
            }
            self.unsettled.insert(entry.task);
        }
        Ok(())
    }
}
