//! What is different from dialect to dialect.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use taskyard_core::dialect::native::Unreadable;
use taskyard_core::{ListId, Task, TaskId, Timestamp};

use crate::store::StoreError;
use crate::store::staged::Home;

/// Each changed task as it will be; none where it goes.
pub(in crate::store) type Changes = BTreeMap<TaskId, Option<Task>>;

/// The files of a dialect.
///
/// [`Form::forms`] of what [`Form::change`] returned are those of what [`Form::load`] reads after [`Form::save`]: that is how our
/// own writing is told from that of others.
pub(in crate::store) trait Form: Debug + Send + Sync + 'static {
    /// The files of a list, read.
    type Raw: Debug + Clone + Send + Sync;
    /// The dialect's own lock, given back when it is dropped.
    type Held: Debug + Send;

    /// Whether a task waits also for tasks that do not exist.
    const COUNTS_MISSING: bool = false;

    /// Returns where a list is.
    fn path(&self, list: &ListId) -> PathBuf;

    /// Returns the lists there are.
    fn lists(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError>;

    /// Returns the lists that our memory in a data directory has and whose place is gone.
    fn lists_without_a_place(&self, data: &Path) -> Vec<(ListId, PathBuf)>;

    /// Returns where the tasks of the list at a path are.
    fn home(&self, path: &Path) -> Home;

    /// Returns the directory in which something moves when the list changes.
    fn directory<'a>(&self, path: &'a Path) -> &'a Path;

    /// Returns what the names of our temporary files in that directory begin with; the id of their process follows.
    fn temporary(&self, path: &Path) -> String;

    /// Takes the dialect's own lock, waiting no longer than this; none where others kept it.
    fn hold(&self, path: &Path, patience: Duration) -> Result<Option<Self::Held>, StoreError>;

    /// Reads the files; none where there are none.
    fn load(&self, path: &Path) -> Result<Option<Self::Raw>, StoreError>;

    /// Returns the form of everything in the files, by the name it stands under.
    fn forms(&self, raw: &Self::Raw) -> BTreeMap<TaskId, Vec<u8>>;

    /// Returns where a task stands among the others, where the files have an order of their own.
    fn place_of(&self, _raw: &Self::Raw, _id: &TaskId) -> Option<usize> {
        None
    }

    /// Reads one task from the files.
    fn read(&self, raw: &Self::Raw, id: &TaskId) -> Result<Task, Unreadable>;

    /// Returns the files as they are with changes made at a moment. Nothing is written yet.
    fn change(&self, raw: Option<&Self::Raw>, changes: &Changes, at: Timestamp) -> Self::Raw;

    /// Tells whether files that still look as they did were surely not rewritten since that moment of the wall clock.
    fn is_settled(&self, raw: &Self::Raw, seen: i64) -> bool;

    /// Tells whether the files still are what was read.
    fn is_still(&self, path: &Path, raw: Option<&Self::Raw>) -> bool;

    /// Writes the files, so that they survive a power loss.
    fn save(&self, path: &Path, before: Option<&Self::Raw>, after: &Self::Raw) -> Result<(), StoreError>;

    /// Returns the tasks as the files say them, where that is JSON of their own.
    fn elements(&self, _raw: &Self::Raw) -> Vec<Value> {
        Vec::new()
    }

    /// Returns an id for a new task, made at a moment.
    fn new_id(&self, at: Timestamp) -> TaskId;
}
