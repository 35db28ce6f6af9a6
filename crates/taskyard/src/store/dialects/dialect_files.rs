//! What is different from dialect to dialect.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde_json::Value;
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{ListId, Task, TaskId, Timestamp};

use crate::store::journal::Known;
use crate::store::kit::Home;
use crate::store::{FileLayout, Litter, StoreError};

/// Each changed task as it will be; none where it goes.
pub(in crate::store) type Changes = BTreeMap<TaskId, Option<Task>>;

/// The file of each task as it was last seen: one that still looks the same need not be read.
pub(in crate::store) type KnownFiles = BTreeMap<TaskId, Known>;

/// What a look at files came to that a writer of ours may be at.
#[derive(Debug)]
pub(in crate::store) enum Loaded<R> {
    /// There are none.
    Absent,
    /// They are whole.
    Whole(R),
    /// A commit was not in them, or not all of it, and was made whole from what the journal keeps of it.
    Completed(R),
    /// A rival is writing: look again.
    Moving,
    /// Nothing can be read from them; look again, for a rival may be writing.
    Torn(Box<StoreError>),
}

/// The files of a dialect.
///
/// [`DialectFiles::forms`] of what [`DialectFiles::change`] returned are those of what [`DialectFiles::load`] reads after
/// [`DialectFiles::save`]: that is how our own writing is told from that of other programs.
pub(in crate::store) trait DialectFiles: Debug + Send + Sync + 'static {
    /// The files of a list, read.
    type Raw: Debug + Clone + Send + Sync;
    /// The dialect's own lock, given back when it is dropped.
    type Held: Debug + Send;

    /// How tasks are laid out in the files.
    const LAYOUT: FileLayout;
    /// Whether a task waits also for tasks that do not exist.
    const COUNTS_MISSING: bool = false;

    /// Returns where a list is.
    fn path(&self, list: &ListId) -> PathBuf;

    /// Returns the lists there are.
    fn lists(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError>;

    /// Returns the directories in which something moves when a list comes or goes.
    fn directories_of_lists(&self) -> Vec<PathBuf>;

    /// Returns the lists that our memory in a data directory has and whose place is gone.
    fn lists_without_a_place(&self, data: &Path) -> Vec<(ListId, PathBuf)>;

    /// Returns where the tasks of the list at a path are.
    fn home(&self, path: &Path) -> Home;

    /// Returns the directory in which something moves when the list changes.
    fn directory<'a>(&self, path: &'a Path) -> &'a Path;

    /// Returns what the names of our temporary files in that directory begin with; the id of their process follows.
    fn temporary(&self, path: &Path) -> String;

    /// Takes the dialect's own lock, waiting no longer than this; none where another program kept it.
    fn hold(&self, path: &Path, patience: Duration) -> Result<Option<Self::Held>, StoreError>;

    /// Tells whether what is locked still is what stands at the path.
    fn is_held(&self, _path: &Path, _held: &Self::Held) -> bool {
        true
    }

    /// Reads the files without the lock, while one of ours may be writing: what `rewrite` says, which the journal has and the files
    /// may not, or what was begun since, where `is_quiet` says that something was. `known` returns what the journal knows of the files.
    fn look(
        &self,
        path: &Path,
        rewrite: Option<&[u8]>,
        is_quiet: &dyn Fn() -> Result<bool, StoreError>,
        known: &dyn Fn() -> Result<KnownFiles, StoreError>,
    ) -> Result<Loaded<Self::Raw>, StoreError>;

    /// Returns what a look found out of files that the journal does not know; `None` for a file that is gone.
    fn learned(&self, _raw: &Self::Raw) -> BTreeMap<TaskId, Option<Known>> {
        BTreeMap::new()
    }

    /// Returns what the journal knows of the file of a task that is about to be written; `None` if it knows nothing of files.
    fn about_to_be_known(&self, _after: &Self::Raw, _id: &TaskId) -> Option<Known> {
        None
    }

    /// Reads the files; none where there are none.
    fn load(&self, path: &Path) -> Result<Option<Self::Raw>, StoreError>;

    /// Returns the form of everything in the files, by the name it stands under.
    fn forms(&self, raw: &Self::Raw) -> BTreeMap<TaskId, Vec<u8>>;

    /// Returns where a task stands among the others, where the files have an order of their own.
    fn place_of(&self, _raw: &Self::Raw, _id: &TaskId) -> Option<usize> {
        None
    }

    /// Tells whether something that is none of the files' tasks stands where a new task of this id would come.
    fn is_occupied(&self, _path: &Path, _raw: Option<&Self::Raw>, _id: &TaskId) -> bool {
        false
    }

    /// Reads one task from the files.
    fn read(&self, raw: &Self::Raw, id: &TaskId) -> Result<Task, Unreadable>;

    /// Returns the files as they are with changes made at a moment. Nothing is written yet.
    fn change(&self, raw: Option<&Self::Raw>, changes: &Changes, at: Timestamp) -> Self::Raw;

    /// Tells whether files that still look as they did were surely not rewritten since that moment of the wall clock.
    fn is_settled(&self, raw: &Self::Raw, seen: i64) -> bool;

    /// Tells whether the files still are what was read.
    fn is_still(&self, path: &Path, raw: Option<&Self::Raw>) -> bool;

    /// Makes sure that the files can be written, while nothing has happened yet. Returns false where what was read is not what is
    /// locked.
    fn prepare(
        &self,
        _path: &Path,
        _held: &mut Self::Held,
        _before: Option<&Self::Raw>,
        _after: &Self::Raw,
    ) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Returns what the journal must keep before the files are written, so that files half written can be made whole.
    fn rewrite(&self, _before: Option<&Self::Raw>, _after: &Self::Raw) -> Option<Vec<u8>> {
        None
    }

    /// Writes the files, so that they survive a power loss. Returns false where they are not, or no longer, what was read.
    fn save(
        &self,
        path: &Path,
        held: &mut Self::Held,
        before: Option<&Self::Raw>,
        after: &Self::Raw,
    ) -> Result<bool, StoreError>;

    /// Finishes, by what the journal kept, a writing that its writer did not finish. Returns false where another program wrote since.
    fn finish_rewrite(&self, _path: &Path, _held: &mut Self::Held, _rewrite: &[u8]) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// Keeps a file from which nothing can be read under another name.
    fn set_aside(&self, _held: &mut Self::Held, torn: &Path, aside: &Path) -> io::Result<()> {
        fs::rename(torn, aside)
    }

    /// Returns the tasks as the files say them, where that is JSON of their own.
    fn elements(&self, _raw: &Self::Raw) -> Vec<Value> {
        Vec::new()
    }

    /// Returns what stands among the files under a task's name and is no regular file, by name.
    fn special_files(&self, _path: &Path) -> io::Result<Vec<Litter>> {
        Ok(Vec::new())
    }

    /// Returns an id for a new task, made at a moment.
    fn new_id(&self, at: Timestamp) -> TaskId;
}
