//! The list of a long-lived process, in memory, moved on by what the kernel tells of its files.
//!
//! A server is asked about the same list again and again. Looking at every file each time costs a `statx` for each; here it costs one read
//! that finds nothing, or the reading of the files that something was done to. The kernel queues what a program does to a file before
//! that program's call returns, so whoever asks afterwards is told. Nothing is decided here for good: a commit reads again what it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Deref;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use taskyard_core::dialect::macf::hidden_task_of;
use taskyard_core::live::LiveList;
use taskyard_core::{Image, Revision, TaskId};

use super::handle::Handle;
use super::list_watch::{ListWatch, inode_of, watch};
use super::observe;
use super::place;
use super::scan::{self, Change, Scan};
use super::state::State;
use crate::store::sidecar::Journal;
use crate::store::{LiveView, Problem, Sighting, StoreError};
use crate::watching::{Deed, Happened};

static SIGHTINGS: AtomicU64 = AtomicU64::new(0);

/// How often one looks again while our writers are at work, before their word is taken from the journal.
const LOOKS: u32 = 12;
/// ... and for how long.
const LOOKING: Duration = Duration::from_millis(15);

/// What a process keeps of one list.
#[derive(Debug, Default)]
pub(super) struct Live {
    asked: u32,
    watch: Option<ListWatch>,
    seen: Option<Seen>,
    /// Whether it was said that nobody tells of changes.
    is_untold_said: bool,
}

/// A list that was caught up with, while it is asked.
struct SeenList<'a>(MutexGuard<'a, Live>);

impl Deref for SeenList<'_> {
    type Target = LiveList;

    fn deref(&self) -> &LiveList {
        &self.0.seen.as_ref().expect("it was caught up with").list
    }
}

/// A list as it was seen.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) list: LiveList,
    /// What lies among the tasks and is none.
    pub(super) problems: BTreeMap<TaskId, Problem>,
    pub(super) revision: Revision,
    /// Tells it from everything else that was ever seen.
    sighting: Sighting,
    /// The words of our processes when it was last looked at.
    state: State,
    /// Whether files are hidden from the client: which of a task's files counts hangs on all of them.
    has_hidden: bool,
    /// The tasks whose files are to be looked at again, though nothing is told of them: something is not recorded yet.
    unsettled: BTreeSet<TaskId>,
}

impl Live {
    /// Tells whether nobody has asked for the list before, and takes it that somebody does now.
    pub(super) fn is_asked_first(&mut self) -> bool {
        let is_first = self.asked == 0;
        self.asked = self.asked.max(1);
        is_first
    }

    /// Brings the list up to date, and returns it. Returns none where it is not worth keeping, or cannot be kept: then the files are
    /// looked at instead.
    ///
    /// Whoever asks has a connection to the journal before it locks this: those who have one and wait for a turn wait for the writer
    /// whose turn it is, and that one waits for this.
    pub(super) fn catch_up(&mut self, handle: &Handle, journal: &Journal) -> Result<Option<&mut Seen>, StoreError> {
        self.asked = self.asked.saturating_add(1);
        // A process that looks once and ends does not need to be told of anything.
        if self.asked < 2 || !self.is_watching(handle)? {
            self.seen = None;
            return Ok(None);
        }
        if !self.look(handle, journal).inspect_err(|error| handle.journals.note(error))? {
            self.seen = None;
        }
        if let Some(seen) = &mut self.seen {
            seen.list.judge(crate::clock::now());
        }
        Ok(self.seen.as_mut())
    }

    /// Returns how many bytes the tasks take that are kept; none where nothing is.
    pub(super) fn size(&self) -> Option<usize> {
        self.seen.as_ref().map(|seen| seen.list.size())
    }

    /// Returns the list in memory as it is now, for as long as nobody else asks; none where the files are to be looked at instead.
    pub(super) fn view<'a>(handle: &'a Handle, journal: &Journal) -> Result<Option<LiveView<'a>>, StoreError> {
        let mut live = handle.live();
        let revision = match live.catch_up(handle, journal) {
            Ok(Some(seen)) => seen.revision,
            // What the files hold does not depend on the journal.
            Ok(None) | Err(StoreError::JournalDamaged { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(LiveView::new(SeenList(live), revision)))
    }

    /// Tells what was seen before from everything else, where nothing has happened since.
    pub(super) fn sighting(&mut self, path: &Path, state: impl FnOnce() -> State) -> Option<Sighting> {
        let watch = self.watch.as_ref().filter(|_| self.seen.is_some())?;
        // The path may have come to lead elsewhere.
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

    /// Makes sure that the kernel tells of the directory that is there now.
    fn is_watching(&mut self, handle: &Handle) -> Result<bool, StoreError> {
        let Some(directory) = handle.place.open()? else {
            (self.watch, self.seen) = (None, None);
            return Ok(false);
        };
        let inode = inode_of(directory.as_fd());
        if self.watch.is_some() && self.watch.as_ref().map(|watch| watch.inode) == inode {
            return Ok(true);
        }
        self.seen = None;
        let watch = inode.and_then(|inode| watch(directory.as_fd(), &handle.place.directory, inode).ok());
        if watch.is_none() && !std::mem::replace(&mut self.is_untold_said, true) {
            tracing::debug!(path = %handle.place.directory.display(), "changes are looked for instead of being told");
        }
        self.watch = watch;
        Ok(self.watch.is_some())
    }

    /// Looks at what has happened. Returns no where that cannot be told.
    fn look(&mut self, handle: &Handle, journal: &Journal) -> Result<bool, StoreError> {
        let started = Instant::now();
        for look in 1.. {
            let before = handle.state().unwrap_or_default();
            let Some(scan) = self.take_in(handle, journal)? else { return Ok(false) };
            let Some(seen) = &mut self.seen else { return Ok(false) };
            let after = handle.state().unwrap_or_default();
            seen.state = after;
            if before.sequence.is_multiple_of(2) && before.sequence == after.sequence {
                seen.record(handle, journal, &scan)?;
                return Ok(true);
            }
            seen.unsettled.extend(scan.changes.into_iter().map(|change| change.task));
            if look == LOOKS || started.elapsed() > LOOKING {
                // Commits that are being written out, or are in the hands of a suspended writer, are shown whole.
                return seen.complete(journal, Revision(before.applied)).map(|()| true);
            }
            thread::sleep(Duration::from_micros(u64::from(look) * 200));
        }
        Ok(false)
    }

    /// Reads the files that something was done to, or all of them. Returns what of it is to be recorded.
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
            scan::scan_some(&handle.place, journal, &ids)?
        };
        seen.apply(ids.keys(), &scan);
        Ok(Some(scan))
    }

    fn take_in_all(&mut self, handle: &Handle, journal: &Journal) -> Result<Scan, StoreError> {
        let scan = scan::scan(&handle.place, Some(journal))?;
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
                // It changed since, or is not what is known of it.
                None => drop(unsettled.insert(task.id.clone())),
            }
        }
        let problems = scan.problems.iter().map(|problem| (problem.task.clone(), problem.clone())).collect();
        let (revision, has_hidden, state) = (scan.revision, scan.has_hidden, State::default());
        self.seen = Some(Seen { list, problems, revision, sighting: new_sighting(), state, has_hidden, unsettled });
        if let Some(seen) = &mut self.seen
            && !seen.unsettled.is_empty()
        {
            let ids = std::mem::take(&mut seen.unsettled).into_iter().map(|id| (id, Deed::Touched)).collect();
            let some = scan::scan_some(&handle.place, journal, &ids)?;
            seen.apply(ids.keys(), &some);
            seen.unsettled.extend(some.changes.into_iter().map(|change| change.task));
        }
        Ok(scan)
    }
}

impl Seen {
    /// Takes what a look at some tasks found in the place of what was known of them.
    fn apply<'a>(&mut self, ids: impl Iterator<Item = &'a TaskId>, scan: &Scan) {
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
            // What is half written at this instant is looked at again, whether or not the kernel tells of it.
            self.unsettled.extend(problem.why.may_be_torn().then(|| problem.task.clone()));
            self.problems.insert(problem.task.clone(), problem.clone());
        }
    }

    /// Records what other programs did. What cannot be recorded yet is looked at again. That files look different which hold the same is
    /// left to whoever looks at all of them: here they are not recognised by their looks.
    fn record(&mut self, handle: &Handle, journal: &Journal, scan: &Scan) -> Result<(), StoreError> {
        if scan.changes.is_empty() {
            return Ok(());
        }
        if handle.transactions.load(Ordering::Relaxed) == 0 {
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

    /// Shows what the journal has beyond a revision, whether or not it is in the files; the files are looked at again.
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

    /// Returns what a look at the whole list would find, and nothing to record.
    pub(super) fn as_scan(&self) -> Scan {
        Scan {
            tasks: self.list.tasks(),
            problems: self.problems.values().cloned().collect(),
            revision: self.revision,
            ..Scan::default()
        }
    }

    /// Tells whether everything that other programs did is recorded.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Tells whether our processes have come no further.
    fn is_of(&self, state: &State) -> bool {
        (self.state.sequence, self.state.applied) == (state.sequence, state.applied)
    }
}

fn new_sighting() -> Sighting {
    Sighting(SIGHTINGS.fetch_add(1, Ordering::Relaxed))
}

/// Returns the tasks whose files have these names, and what was done to them; none where one of them is hidden from the client.
fn tasks_of(names: &BTreeMap<OsString, Deed>) -> Option<BTreeMap<TaskId, Deed>> {
    let names = names.iter().filter_map(|(name, deed)| Some((name.to_str()?, *deed)));
    let is_hidden = |(name, _): (&str, Deed)| place::task_of(name).is_none() && hidden_task_of(name).is_some();
    if names.clone().any(is_hidden) {
        return None;
    }
    Some(names.filter_map(|(name, deed)| Some((place::task_of(name)?, deed))).collect())
}
