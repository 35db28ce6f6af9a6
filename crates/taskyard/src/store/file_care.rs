//! Operations that only some stores have: maintenance of files, copies of lists, and maintenance of a shared database.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Debug;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fmt, fs, io, thread};

use serde::de::IgnoredAny;
use serde_json::Value;
use taskyard_core::rules::history::retention::ClockDoubt;
use taskyard_core::rules::looking::statistics::Summary;
use taskyard_core::{Image, ListId, Loss, Revision, Rules, SpecialFile, Task, TaskId, Timestamp};

use super::{ArrivingList, JournalDamage, StoreError};
use crate::regular_file;
use crate::regular_file::NotRead;

/// Maintenance of lists that are files, in addition to the [`super::Store`] operations.
///
/// Nothing here is part of a change: callers find out what other programs left behind and tidy up. [`JournalCare`]
/// deals with the state of our own records of the lists.
pub trait FileCare: JournalCare {
    /// Returns the lists whose directory or file is gone while our records still exist, each with its path, sorted by
    /// name.
    fn lists_without_a_place(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError>;

    /// Returns the readable tasks of a list, without recording what was seen: for scanning many lists that Taskyard may
    /// never have worked on.
    fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError>;

    /// Returns a numerical summary of a list, if the store can compute it faster than by reading the list; records
    /// nothing.
    fn summary(&self, _list: &ListId, _rules: Rules) -> Option<Summary> {
        None
    }

    /// Returns an identifier for the last known state of a list, if the store has one without reading the list. It
    /// takes a few microseconds and no lock. If two sightings are equal, no program has changed a task in between.
    fn sighting(&self, _list: &ListId) -> Option<Sighting> {
        None
    }

    /// Returns how tasks are laid out in files.
    fn layout(&self) -> FileLayout;

    /// Returns the name of the file that contains, or would contain, a task.
    fn file_name(&self, list: &ListId, task: &TaskId) -> String;

    /// Returns when a task's file was last written, or `None` if unknown.
    fn written_at(&self, list: &ListId, task: &TaskId) -> Option<Timestamp>;

    /// Returns the tasks in the list's own document format, if the list is a document; an empty vector otherwise.
    fn elements(&self, _list: &ListId) -> Result<Vec<Value>, StoreError> {
        Ok(Vec::new())
    }

    /// Flushes the files of a list to disk and closes its journal, so that old data can be cleaned up.
    fn flush(&self, _list: &ListId) {}

    /// Returns unused files in the list's directory: abandoned locks, temporary files, a broken high-water mark.
    fn litter(&self, list: &ListId) -> Result<Vec<Litter>, StoreError>;

    /// Removes those of the given files that are unchanged, and returns what was removed.
    fn sweep(&self, list: &ListId, litter: &[Litter]) -> Result<Vec<Litter>, StoreError>;

    /// Returns every list that has a directory or file, sorted by name, without reading any.
    fn lists_with_a_place(&self) -> Result<Vec<ListId>, StoreError>;

    /// Copies a list's files and our records of it as of one point in time, even while other processes are writing. If
    /// our records are unreadable, copies the files as they are.
    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError>;

    /// Removes the directory of a list without tasks, including files that the client and Taskyard leave there. Keeps
    /// all other files and returns their names.
    fn remove_empty_place(&self, _list: &ListId) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns the path of a list: a directory, or its only file.
    fn place_of(&self, list: &ListId) -> PathBuf;
}

/// Maintenance of the journals of file-backed lists, which are kept in our data directory.
pub trait JournalCare: Debug + Send + Sync {
    /// Returns our data directory for a list, or `None` if there is no place for one.
    fn memory_of(&self, list: &ListId) -> Option<PathBuf>;

    /// Returns whether we have any records of a list, in whatever state.
    fn has_memory(&self, list: &ListId) -> bool;

    /// Installs a copy of our records of a list, if there are none yet or if the list returns after a move. Returns
    /// whether it did. Only one process does this at a time.
    fn take_memory(&self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError>;

    /// Returns the lists whose directory or file is gone, with the size of our records of each in bytes, sorted by
    /// name.
    fn gone_memories(&self) -> Result<Vec<(ListId, u64)>, StoreError>;

    /// Returns the size of a list's journal, including its log, in bytes.
    fn journal_size(&self, list: &ListId) -> u64;

    /// Returns the revision up to which the journal was thinned out; older revisions are incomplete.
    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError>;

    /// Returns when tasks were last seen in a list that is now empty, or `None` if none were ever recorded.
    fn last_look(&self, list: &ListId) -> Option<Timestamp>;

    /// Takes and returns the stale writes by other programs that this store has recorded since the last call. Reads no
    /// files and takes no lock.
    fn take_stale_writes(&self, list: &ListId) -> Vec<StaleWrite>;

    /// Finishes a move between this list and another that a process left unfinished. Returns the reason if it cannot be
    /// finished. A move that is still in progress does not count.
    fn unfinished_move(&self, list: &ListId) -> Result<Option<StoreError>, StoreError>;

    /// Checks the list's journal from end to end and returns the damage found.
    fn examine_journal(&self, list: &ListId) -> Result<Option<JournalDamage>, StoreError>;

    /// Replaces a damaged journal with an intact one, keeping the old one aside. The new journal contains everything
    /// that could be read and continues with higher revisions. The tasks are unchanged.
    fn mend_journal(&self, list: &ListId) -> Result<(), StoreError>;

    /// Returns the journals found to be damaged while this store was in use, with the damage. Tasks were read without
    /// them.
    fn damaged_journals(&self) -> Vec<(ListId, JournalDamage)>;

    /// Returns the journals found to be from a newer Taskyard while this store was in use, with their formats. Tasks
    /// were read without them.
    fn newer_journals(&self) -> Vec<(ListId, i64)>;
}

/// How the tasks of a list are laid out in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileLayout {
    /// One file per task, named by number; a number that is too large prevents new tasks.
    Numbered,
    /// One file per task, with names of another kind.
    Named,
    /// All in one file.
    OneFile,
}

/// An identifier for the known state of a list; see [`FileCare::sighting`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting(pub(crate) u64);

/// A write by another program that certainly was based on outdated contents and so reverted a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleWrite {
    pub(crate) task: TaskId,
    pub(crate) revision: Revision,
    /// The changes it reverted.
    pub(crate) losses: Vec<Loss>,
    /// The contents before the write, as far as known.
    pub(crate) found: Image,
    /// The contents after the write.
    pub(crate) left: Image,
}

/// A file or directory in a list that should be cleaned up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Litter {
    /// A lock whose holder has not refreshed it within the lock's lifetime.
    StaleLock {
        /// The lock directory.
        path: PathBuf,
        /// Time since its holder last refreshed it.
        age: Duration,
    },
    /// Something at a lock's path that would never expire: not a directory, or dated in the future.
    LockInTheWay {
        /// The lock's path.
        path: PathBuf,
        /// Why it blocks writers.
        why: StuckLock,
    },
    /// Something other than a regular file where a regular file belongs.
    SpecialFile {
        /// Its path.
        path: PathBuf,
        /// What it is.
        found: SpecialFile,
    },
    /// A temporary file of a Taskyard process that has died.
    Leftover {
        /// The file.
        path: PathBuf,
    },
    /// A `.highwatermark` without a number, which the client reads as zero, or with a number too large to increment.
    BadMark {
        /// The file.
        path: PathBuf,
        /// Its contents.
        found: String,
    },
    /// A `.highwatermark` that is not a regular file, or is very large.
    UnreadableMark {
        /// Its path.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A `.highwatermark`, possibly missing, below a number that was used and that no file has any more.
    LowMark {
        /// The file.
        path: PathBuf,
        /// The number in it.
        mark: u64,
        /// The highest number that was used.
        used: u64,
    },
    /// A task that is hidden from the client while a visible task has the same number; the hidden one is ignored.
    Shadowed {
        /// The hidden file.
        path: PathBuf,
        /// The task.
        task: TaskId,
    },
    /// A file that holds a whole list, or belongs to one, and cannot be parsed.
    TornFile {
        /// The file.
        path: PathBuf,
    },
    /// A task that was hidden twice, so that even the program that hid it cannot find it.
    HiddenTwice {
        /// The hidden file.
        path: PathBuf,
        /// The task.
        task: TaskId,
    },
    /// A task that is hidden from the client although it is not completed.
    HiddenWork {
        /// The hidden file.
        path: PathBuf,
        /// The task.
        task: TaskId,
    },
}

/// Why something at a lock's path blocks writers although no process holds the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StuckLock {
    /// Not a directory, as every lock of the client is.
    NotADirectory {
        /// The kind of file; `None` for a regular file.
        found: Option<SpecialFile>,
    },
    /// Its modification time is in the future, so that the lock never expires.
    InTheFuture {
        /// How far in the future.
        by: Duration,
    },
    /// Its holder has not refreshed it within the lock's lifetime.
    Silent {
        /// Time since the last refresh.
        age: Duration,
    },
}

impl fmt::Display for StuckLock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotADirectory { found: Some(found) } => write!(formatter, "{found} in the place of a lock"),
            Self::NotADirectory { found: None } => formatter.write_str("a file in the place of a lock"),
            Self::InTheFuture { by } => write!(formatter, "a lock whose time lies {} s in the future", by.as_secs()),
            Self::Silent { age } => write!(formatter, "a lock whose holder has been silent for {} s", age.as_secs()),
        }
    }
}

/// Maximum size in bytes of a file that can belong to a list; larger files are not copied.
const LARGEST: u64 = 256 * 1024 * 1024;
/// A file unmodified for this long is assumed to be completely written.
const SURELY_WRITTEN: Duration = Duration::from_secs(2);
/// How long to keep rereading a file that may be half written.
const LOOKING_AGAIN: Duration = Duration::from_millis(500);
const BREATH: Duration = Duration::from_millis(5);
/// Maximum depth to which nested folders are followed.
const DEEPEST: usize = 16;

/// Receives the parts of a list being copied.
pub trait ListCopyTarget {
    /// Receives our records of the list: `fill` creates a private file at the given path and writes it.
    fn take_journal(&mut self, fill: &mut dyn FnMut(&Path) -> Result<(), StoreError>) -> Result<(), StoreError>;

    /// Receives a file of the list; `name` is relative to the list's directory.
    fn take_file(&mut self, name: &str, contents: &[u8]) -> Result<(), StoreError>;
}

/// The result of copying a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListCopy {
    /// The newest revision contained in the copy.
    pub revision: Revision,
    /// Whether the list had a directory or file; otherwise only our records were copied.
    pub exists: bool,
    /// Whether our records were copied.
    pub has_journal: bool,
    /// Why our records were not copied, if they exist.
    pub journal_problem: Option<String>,
    /// The permission bits of each file, keyed by name.
    pub modes: BTreeMap<String, u32>,
    /// Files that were not copied, each with the reason.
    pub left_out: Vec<(String, String)>,
}

impl ListCopy {
    /// Passes a file to the copy target and records its permission bits.
    pub(crate) fn add(
        &mut self,
        to: &mut dyn ListCopyTarget,
        name: &str,
        contents: &[u8],
        mode: Option<u32>,
    ) -> Result<(), StoreError> {
        to.take_file(name, contents)?;
        // Without a known mode, use that of a new file.
        self.modes.insert(name.to_owned(), mode.unwrap_or(0o644));
        Ok(())
    }

    /// Copies the contents of a folder unchanged, except entries for which `is_passed_over` returns true. Does not
    /// follow links.
    pub(crate) fn add_folder(
        &mut self,
        to: &mut dyn ListCopyTarget,
        folder: &Path,
        is_passed_over: &dyn Fn(&str, &fs::Metadata) -> bool,
    ) -> Result<(), StoreError> {
        self.add_below(to, folder, "", is_passed_over, DEEPEST)
    }

    fn add_below(
        &mut self,
        to: &mut dyn ListCopyTarget,
        folder: &Path,
        prefix: &str,
        is_passed_over: &dyn Fn(&str, &fs::Metadata) -> bool,
        deepest: usize,
    ) -> Result<(), StoreError> {
        let entries = fs::read_dir(folder).map_err(StoreError::io("cannot list", folder))?;
        for entry in entries {
            let entry = entry.map_err(StoreError::io("cannot list", folder))?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                self.leave_out(&format!("{prefix}{}", entry.file_name().to_string_lossy()), "its name is not UTF-8");
                continue;
            };
            let found = match entry.metadata() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(StoreError::io("cannot look at", path)(error)),
            };
            let full_name = format!("{prefix}{name}");
            if is_passed_over(&full_name, &found) {
                continue;
            }
            if found.is_dir() && deepest > 0 {
                self.add_below(to, &path, &format!("{full_name}/"), is_passed_over, deepest - 1)?;
            } else {
                self.add_as_it_is(to, &path, &full_name)?;
            }
        }
        Ok(())
    }

    /// Copies a file unchanged; one that cannot be read as a regular file is left out.
    pub(crate) fn add_as_it_is(
        &mut self,
        to: &mut dyn ListCopyTarget,
        path: &Path,
        name: &str,
    ) -> Result<(), StoreError> {
        let mode = fs::symlink_metadata(path).ok().map(|found| found.mode() & 0o7777);
        match read_settled(path) {
            Ok(contents) => self.add(to, name, &contents, mode),
            Err(why) if why.is_missing() => Ok(()),
            Err(NotRead::System(error)) if error.kind() != io::ErrorKind::PermissionDenied => {
                Err(StoreError::io("cannot read", path)(error))
            }
            Err(why) => {
                self.leave_out(name, &why.to_string());
                Ok(())
            }
        }
    }

    fn leave_out(&mut self, name: &str, why: &str) {
        self.left_out.push((name.to_owned(), why.to_owned()));
    }
}

/// Reads a file. Other programs write JSON in place, so a file that may be half written is reread for a while.
fn read_settled(path: &Path) -> Result<Vec<u8>, NotRead> {
    let started = Instant::now();
    loop {
        let contents = regular_file::read(path, LARGEST)?;
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let is_torn = || serde_json::from_slice::<IgnoredAny>(&contents).is_err();
        let changed = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
        let is_fresh = changed.is_some_and(|at| at.elapsed().is_ok_and(|age| age < SURELY_WRITTEN));
        if !is_json || !is_fresh || started.elapsed() > LOOKING_AGAIN || !is_torn() {
            return Ok(contents);
        }
        thread::sleep(BREATH);
    }
}

/// Returns whether a directory with this name is a lock of the client, which a copy does not need.
pub(crate) fn is_lock(name: &str, found: &fs::Metadata) -> bool {
    found.is_dir() && name.ends_with(".lock")
}

/// Maintenance of journals kept in a shared database, in addition to the [`super::Store`] operations.
pub trait SharedCare: Debug + Send + Sync {
    /// Returns the revision up to which a list's journal was thinned out; older revisions are incomplete.
    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError>;

    /// Thins out old entries in the journals of all lists and deletes messages and notices that were acknowledged long
    /// ago; in a dry run, only reports what would be removed. Retention guarantees (`docs/design/journal.md`) are kept.
    /// If the clock is in doubt, does nothing and reports this.
    fn thin_out(&self, terms: &ThinOut) -> Result<ThinnedOut, StoreError>;

    /// Checks the journal of a list without changing anything and returns at most [`MOST_FAULTS`] faults of each kind,
    /// oldest first. Also reports if the whole store was reset to an earlier state in the last thirty days.
    fn examine(&self, list: &ListId) -> Result<Vec<SharedFault>, StoreError>;

    /// Copies a list as of one point in time: its tasks as files in the client's format, and its history as a separate
    /// journal.
    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError>;

    /// Imports a list with its history in one commit, if no list of that name exists or if the list returns after a
    /// move. Otherwise returns false and does nothing. If the commit's result is lost, the store looks it up;
    /// [`StoreError::Unavailable`] means that it could not be determined.
    fn take_in(&self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError>;

    /// Returns this process's server traffic since it started.
    fn traffic(&self) -> Traffic;
}

/// Server traffic of this process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of requests that waited for an answer.
    pub round_trips: u64,
    /// Number of reconnects after a connection or server failure.
    pub reconnects: u64,
}

/// Maximum number of faults reported per kind.
pub const MOST_FAULTS: usize = 20;

/// A fault in a list's journal, or an incident of its store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedFault {
    /// Missing revisions.
    Gap {
        /// The last revision before the gap.
        after: Revision,
        /// The first revision after the gap.
        before: Revision,
    },
    /// An entry whose previous contents differ from what the entry before it left.
    Mismatch {
        /// The revision of the entry.
        revision: Revision,
        /// The task.
        task: TaskId,
    },
    /// A task that differs from what its last entry left.
    Differs {
        /// The task.
        task: TaskId,
    },
    /// The store was reset to an earlier state, or another server took over.
    WentBack {
        /// When this was detected.
        at: Timestamp,
        /// The list on which this was detected, with the expected and the found revision; `None` if another server took
        /// over.
        lost: Option<(String, Revision, Revision)>,
    },
}

/// Parameters for thinning out a shared store.
#[derive(Clone, Debug, Default)]
pub struct ThinOut {
    /// How long everything is kept.
    pub keep: Duration,
    /// Tasks of a list that may be removed even though no agent deleted them on purpose.
    pub named: Option<(ListId, HashSet<TaskId>)>,
    /// Whether this is a dry run that changes nothing.
    pub is_dry: bool,
    /// Whether the user confirmed that the store's clock is right.
    pub is_confirmed: bool,
}

/// What was removed, or would be in a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThinnedOut {
    /// The lists whose entries were removed, sorted by name.
    pub lists: Vec<ThinnedList>,
    /// Number of acknowledged messages removed.
    pub messages: usize,
    /// Number of delivered notices removed.
    pub notices: usize,
    /// Why nothing was removed: the store's clock is in doubt.
    pub doubt: Option<ClockDoubt>,
}

/// What was removed from one list's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinnedList {
    /// The list.
    pub list: ListId,
    /// Number of entries removed.
    pub entries: u64,
    /// The tasks removed because they were named.
    pub forgotten: Vec<TaskId>,
}
