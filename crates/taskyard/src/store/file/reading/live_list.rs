//! The list of a long-lived process, in memory, moved on by what the kernel tells of its files.
//!
//! A server is asked about the same list again and again. Looking at every file each time costs a `statx` for each; here it costs one read
//! that finds nothing, or the reading of the files that something was done to. The kernel queues what a program does to a file before that
//! program's call returns, so a caller that asks afterwards is told. Nothing is decided here for good: a commit reads again what it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use taskyard_core::dialect::macf::hidden_task_of;
use taskyard_core::live::LiveList;
use taskyard_core::{Revision, TaskId};

use super::scan::Scan;
use crate::liveness::is_written_here_only;
use crate::store::locks::fingerprint::look_through;
use crate::store::locks::list_paths;
use crate::store::locks::turn_record::TurnRecord;
use crate::store::{Sighting, UnreadableTask};
use crate::watching::{self, Deed, DirectoryWatch, Happened};

static SIGHTINGS: AtomicU64 = AtomicU64::new(0);

/// What a process keeps of one list.
#[derive(Debug, Default)]
pub(in crate::store) struct Live {
    pub(in crate::store) asked: u32,
    pub(in crate::store) watch: Option<ListWatch>,
    pub(in crate::store) seen: Option<Seen>,
    /// Whether it was said that the system does not tell of changes.
    pub(in crate::store) is_untold_said: bool,
}

/// A list as it was seen.
#[derive(Debug)]
pub(in crate::store) struct Seen {
    pub(in crate::store) list: LiveList,
    /// What lies among the tasks and is none.
    pub(in crate::store) problems: BTreeMap<TaskId, UnreadableTask>,
    pub(in crate::store) revision: Revision,
    /// Tells it from everything else that was ever seen.
    pub(in crate::store) sighting: Sighting,
    /// The words of our processes when it was last looked at.
    pub(in crate::store) state: TurnRecord,
    /// Whether files are hidden from the client: which of a task's files counts hangs on all of them.
    pub(in crate::store) has_hidden: bool,
    /// The tasks whose files are to be looked at again, though nothing is told of them: something is not recorded yet.
    pub(in crate::store) unsettled: BTreeSet<TaskId>,
}

impl Live {
    /// Tells whether no caller has asked for the list before, and takes note that one does now.
    pub(in crate::store) fn is_asked_first(&mut self) -> bool {
        let is_first = self.asked == 0;
        self.asked = self.asked.max(1);
        is_first
    }

    /// Returns how many bytes the tasks take that are kept; none where nothing is.
    pub(in crate::store) fn size(&self) -> Option<usize> {
        self.seen.as_ref().map(|seen| seen.list.size())
    }

    /// Tells what was seen before from everything else, where nothing has happened since.
    pub(in crate::store) fn sighting(&mut self, path: &Path, state: impl FnOnce() -> TurnRecord) -> Option<Sighting> {
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
}

impl Seen {
    /// Takes what a look at some tasks found in the place of what was known of them.
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
            // What is half written at this instant is looked at again, whether or not the kernel tells of it.
            self.unsettled.extend(problem.why.may_be_torn().then(|| problem.task.clone()));
            self.problems.insert(problem.task.clone(), problem.clone());
        }
    }

    /// Returns what a look at the whole list would find, and nothing to record.
    pub(in crate::store) fn as_scan(&self) -> Scan {
        Scan {
            tasks: self.list.tasks(),
            problems: self.problems.values().cloned().collect(),
            revision: self.revision,
            ..Scan::default()
        }
    }

    /// Tells whether everything that other programs did is recorded.
    pub(in crate::store) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Tells whether our processes have come no further.
    fn is_of(&self, state: &TurnRecord) -> bool {
        (self.state.sequence, self.state.applied) == (state.sequence, state.applied)
    }
}

/// Returns a mark that nothing else that was ever seen has.
pub(in crate::store) fn new_sighting() -> Sighting {
    Sighting(SIGHTINGS.fetch_add(1, Ordering::Relaxed))
}

/// Returns the tasks whose files have these names, and what was done to them; none where one of them is hidden from the client.
pub(in crate::store) fn tasks_of(names: &BTreeMap<OsString, Deed>) -> Option<BTreeMap<TaskId, Deed>> {
    let names = names.iter().filter_map(|(name, deed)| Some((name.to_str()?, *deed)));
    let is_hidden = |(name, _): (&str, Deed)| list_paths::task_of(name).is_none() && hidden_task_of(name).is_some();
    if names.clone().any(is_hidden) {
        return None;
    }
    Some(names.filter_map(|(name, deed)| Some((list_paths::task_of(name)?, deed))).collect())
}

/// A directory of which the kernel tells what happens in it.
#[derive(Debug)]
pub(in crate::store) struct ListWatch {
    pub(in crate::store) changes: DirectoryWatch,
    pub(in crate::store) inode: u64,
}

/// Returns which directory it is.
pub(in crate::store) fn inode_of(directory: BorrowedFd<'_>) -> Option<u64> {
    look_through(directory).ok().map(|look| look.print.inode)
}

/// Begins to watch a list's directory.
pub(in crate::store) fn watch(directory: BorrowedFd<'_>, path: &Path, inode: u64) -> io::Result<ListWatch> {
    // Of what other machines, or programs of the user's own, do to a file system the kernel does not tell.
    if !is_written_here_only(directory) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let changes = watching::watch(path, may_hold_task)?;
    // The path may have come to lead elsewhere in between.
    if rustix::fs::stat(path)?.st_ino != inode {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(ListWatch { changes, inode })
}

/// Tells whether a file may hold a task.
fn may_hold_task(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".json")
}
