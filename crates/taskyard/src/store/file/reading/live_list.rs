//! The in-memory list of a long-lived process, updated from the kernel's notifications about its files. What it keeps is
//! in `live_state.rs`.
//!
//! A server is asked about the same list again and again. Checking every file each time costs one `statx` per file;
//! here it costs a single read that finds nothing, or reading the files that were changed. The kernel queues a
//! notification before the call that changes a file returns, so a caller that asks afterwards sees the change. Nothing
//! here is final: a commit rereads what it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::os::fd::AsFd as _;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::live::LiveList;
use taskyard_core::{Image, Revision, TaskId};

use super::live_state::{Live, Seen, inode_of, new_sighting, tasks_of, watch};
use super::scan::{Change, Scan};
use super::{observe, scan};
use crate::store::file::client_files::Handle;
use crate::store::journal::Journal;
use crate::store::locks::turn_record::TurnRecord;
use crate::store::{LiveView, StoreError};
use crate::watching::{Deed, Happened};

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
