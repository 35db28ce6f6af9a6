//! What only a store in files knows, and what only files need.

use std::fmt::Debug;
use std::path::PathBuf;

use serde_json::Value;
use taskyard_core::rules::looking::summarizing::Summary;
use taskyard_core::{Image, ListId, Loss, Revision, Rules, Task, TaskId, Timestamp};

use super::{ArrivingList, JournalDamage, ListCopy, ListCopyTarget, Litter, StoreError};

/// The care for lists that are files, beside the [`super::Store`] that keeps them.
///
/// Nothing here is part of a change: the caller learns what lies about and what other programs left, and tidies up. Whether our memory of
/// the lists is whole is the business of [`JournalCare`].
pub trait FileCare: JournalCare {
    /// Returns the lists whose place is gone while our memory of them is there, each with that place, by name.
    fn lists_without_a_place(&self) -> Result<Vec<(ListId, PathBuf)>, StoreError>;

    /// Returns the readable tasks of a list that we may never have worked on, and remembers nothing of the look: for looking through many
    /// lists.
    fn glance(&self, list: &ListId) -> Result<Vec<Task>, StoreError>;

    /// Returns a list in a few numbers, where the store finds them in less time than it takes to read the list; nothing of the look is recorded.
    fn summary(&self, _list: &ListId, _rules: Rules) -> Option<Summary> {
        None
    }

    /// Tells what was last seen of a list from what will be seen later, where the store knows that without looking; it takes a few
    /// microseconds and waits for no lock. Two equal sightings mean that no program has changed a task in between.
    fn sighting(&self, _list: &ListId) -> Option<Sighting> {
        None
    }

    /// Returns how tasks are laid out in files.
    fn layout(&self) -> FileLayout;

    /// Returns the name of the file that a task is in, or would be.
    fn file_name(&self, list: &ListId, task: &TaskId) -> String;

    /// Returns when the file that a task is in was last written; none where that is not known.
    fn written_at(&self, list: &ListId, task: &TaskId) -> Option<Timestamp>;

    /// Returns the tasks in the words of the list's own files, where those are a document; nothing otherwise.
    fn elements(&self, _list: &ListId) -> Result<Vec<Value>, StoreError> {
        Ok(Vec::new())
    }

    /// Has the files of a list reach the disk and lets go of its journal, so that what is old can be tidied.
    fn flush(&self, _list: &ListId) {}

    /// Returns what lies about in the list's place and no program uses: abandoned locks, temporary files, a broken mark.
    fn litter(&self, list: &ListId) -> Result<Vec<Litter>, StoreError>;

    /// Removes that litter, as far as it is still the same, and returns what was removed.
    fn sweep(&self, list: &ListId, litter: &[Litter]) -> Result<Vec<Litter>, StoreError>;

    /// Returns every list that has a place, by name, without looking into any.
    fn lists_with_a_place(&self) -> Result<Vec<ListId>, StoreError>;

    /// Copies a list, its files and our memory of it, as both are at one moment, even while writers are at work. Where our memory cannot be
    /// read the files are copied as they are.
    fn copy_out(&self, list: &ListId, to: &mut dyn ListCopyTarget) -> Result<ListCopy, StoreError>;

    /// Removes the place of a list that has no tasks, with what the client and we leave there. What else is in it stays, and is returned by name.
    fn remove_empty_place(&self, _list: &ListId) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns where a list is: a directory, or its one file.
    fn place_of(&self, list: &ListId) -> PathBuf;
}

/// The care for the journals of such lists: our memory of each, which is kept in our data directory.
pub trait JournalCare: Debug + Send + Sync {
    /// Returns our directory for a list, where we may keep one.
    fn memory_of(&self, list: &ListId) -> Option<PathBuf>;

    /// Tells whether we remember anything of a list, whatever the state of that.
    fn has_memory(&self, list: &ListId) -> bool;

    /// Puts a copy of our memory of a list in its place, if there is none yet or the list comes back after it moved away, and tells whether
    /// it did. One process at a time does this.
    fn take_memory(&self, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError>;

    /// Returns how many bytes our memory of each list takes up whose place is gone, by name.
    fn gone_memories(&self) -> Result<Vec<(ListId, u64)>, StoreError>;

    /// Returns how many bytes the journal of a list takes up, with its log.
    fn journal_size(&self, list: &ListId) -> u64;

    /// Returns the revision up to which the journal was thinned out: of a revision up to it only a part is left.
    fn thinned(&self, list: &ListId) -> Result<Revision, StoreError>;

    /// Returns when a look that is on record last found tasks in a list of which none is left; none where no look is.
    fn last_look(&self, list: &ListId) -> Option<Timestamp>;

    /// Takes up the writes of other programs that did not know of ours, as far as this store recorded them since it was last asked; it
    /// looks at nothing and waits for no lock.
    fn take_stale_writes(&self, list: &ListId) -> Vec<StaleWrite>;

    /// Finishes a move between this list and another that a process left unfinished, and returns why one cannot be finished. A move
    /// that a process is making this moment is none.
    fn unfinished_move(&self, list: &ListId) -> Result<Option<StoreError>, StoreError>;

    /// Looks the list's journal over from end to end, and returns what is wrong with it.
    fn examine_journal(&self, list: &ListId) -> Result<Option<JournalDamage>, StoreError>;

    /// Puts a whole journal in the place of a damaged one: the old one is kept aside, and what can be read of it is in the new one,
    /// which goes on above it. The tasks stay as they are.
    fn mend_journal(&self, list: &ListId) -> Result<(), StoreError>;

    /// Returns the journals that turned out to be damaged while this store was used, and what is wrong with each. Tasks were read
    /// without them.
    fn damaged_journals(&self) -> Vec<(ListId, JournalDamage)>;

    /// Returns the lists whose journals turned out to be a newer Taskyard's while this store was used, and the format of each. Tasks were
    /// read without them.
    fn newer_journals(&self) -> Vec<(ListId, i64)>;
}

/// How the tasks of a list are laid out in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileLayout {
    /// Each in a file of its own, named by the next number: one that is too large is in the way.
    Numbered,
    /// Each in a file of its own, under a name of another kind.
    Named,
    /// All in one file.
    OneFile,
}

/// What a store has seen of a list, as [`FileCare::sighting`] tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting(pub(crate) u64);

/// A write of another program that certainly did not know what it took back: it was made from what the file held before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleWrite {
    /// The task.
    pub(crate) task: TaskId,
    /// The revision under which the write was recorded.
    pub(crate) revision: Revision,
    /// What it took back.
    pub(crate) losses: Vec<Loss>,
    /// What it found there, as far as we know.
    pub(crate) found: Image,
    /// What it left there.
    pub(crate) left: Image,
}
