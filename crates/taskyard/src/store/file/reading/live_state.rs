//! What a process keeps of one list in memory: its tasks, and the watch that says when they change.

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
use crate::store::locks::list_paths;
use crate::store::locks::list_paths::look_through;
use crate::store::locks::turn_record::TurnRecord;
use crate::store::{Sighting, UnreadableTask};
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
