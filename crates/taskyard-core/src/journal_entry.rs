//! Journal entries: the effect of one commit on one task.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{AgentName, ListId, TaskId, Timestamp};

/// The operation of a journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// A task was created.
    Create,
    /// Fields or dependencies were changed.
    Update,
    /// A completed task was reopened.
    Reopen,
    /// An agent claimed a task.
    Claim,
    /// Tasks were released.
    Release,
    /// Tasks were released because their owner's lease had expired.
    Expire,
    /// A task was deleted, or lost a dependency on a deleted task.
    Delete,
    /// The whole list was cleared.
    Clear,
    /// Earlier revisions were undone.
    Undo,
    /// Deleted tasks were restored.
    Restore,
    /// Tasks moved from one list to another.
    Merge,
    /// The list was renamed: its tasks moved to the new name unchanged.
    Rename,
    /// Tasks were imported from another program's files.
    Import,
    /// `doctor` repaired something.
    Mend,
    /// Values that another program had overwritten with stale data were reapplied.
    PutBack,
    /// Another program created a task.
    CreatedElsewhere,
    /// Another program changed a task.
    ChangedElsewhere,
    /// Another program removed a task.
    RemovedElsewhere,
    /// A client deleted a task the way Claude Code deletes tasks.
    DeletedElsewhere,
}

impl Op {
    /// Every operation.
    pub const ALL: [Self; 19] = [
        Self::Create,
        Self::Update,
        Self::Reopen,
        Self::Claim,
        Self::Release,
        Self::Expire,
        Self::Delete,
        Self::Clear,
        Self::Undo,
        Self::Restore,
        Self::Merge,
        Self::Rename,
        Self::Import,
        Self::Mend,
        Self::PutBack,
        Self::CreatedElsewhere,
        Self::ChangedElsewhere,
        Self::RemovedElsewhere,
        Self::DeletedElsewhere,
    ];

    /// Returns the word used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Reopen => "reopen",
            Self::Claim => "claim",
            Self::Release => "release",
            Self::Expire => "expire",
            Self::Delete => "delete",
            Self::Clear => "clear",
            Self::Undo => "undo",
            Self::Restore => "restore",
            Self::Merge => "merge",
            Self::Rename => "rename",
            Self::Import => "import",
            Self::Mend => "mend",
            Self::PutBack => "put_back",
            Self::CreatedElsewhere => "created_elsewhere",
            Self::ChangedElsewhere => "changed_elsewhere",
            Self::RemovedElsewhere => "removed_elsewhere",
            Self::DeletedElsewhere => "deleted_elsewhere",
        }
    }

    /// Returns the word used in journals. Older releases that do not know [`Op::DeletedElsewhere`] and [`Op::Rename`]
    /// read them as removals and merges; a key beside the word tells them apart ([`Op::mark`]).
    pub const fn as_stored(self) -> &'static str {
        match self {
            Self::DeletedElsewhere => Self::RemovedElsewhere.as_str(),
            Self::Rename => Self::Merge.as_str(),
            _ => self.as_str(),
        }
    }

    /// Returns the key set beside the word in journals if another operation has the same word; `None` for most
    /// operations.
    pub const fn mark(self) -> Option<&'static str> {
        match self {
            Self::DeletedElsewhere => Some("deletion"),
            Self::Rename => Some("rename"),
            _ => None,
        }
    }

    /// Returns the operation for a word in a journal. `is_marked` returns whether a key is set beside the word
    /// ([`Op::mark`]). Returns `None` if this release does not know the word.
    pub fn from_stored(word: &str, is_marked: impl Fn(&str) -> bool) -> Option<Self> {
        let op: Self = word.parse().ok()?;
        let is_it = |other: &Self| other.as_stored() == word && other.mark().is_some_and(&is_marked);
        Some(Self::ALL.into_iter().find(is_it).unwrap_or(op))
    }

    /// Returns whether another program did it.
    pub const fn is_elsewhere(self) -> bool {
        matches!(self, Self::CreatedElsewhere | Self::ChangedElsewhere) || self.is_removal_elsewhere()
    }

    /// Returns whether another program removed a task, by deletion or in another way.
    pub(crate) const fn is_removal_elsewhere(self) -> bool {
        matches!(self, Self::RemovedElsewhere | Self::DeletedElsewhere)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Op {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|op| op.as_str() == word).ok_or(())
    }
}

/// The effect of one commit on one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The commit it belongs to.
    pub revision: Revision,
    /// When the commit was made, by the clock of the store.
    pub at: Timestamp,
    /// The agent that made the commit.
    pub actor: AgentName,
    /// The operation.
    pub op: Op,
    /// The task it was applied to.
    pub task: TaskId,
    /// The task before the commit; `None` if it did not exist.
    pub before: Option<Image>,
    /// The task after the commit; `None` if it was removed.
    pub after: Option<Image>,
    /// The revisions that an undo reverted.
    pub undoes: Vec<Revision>,
    /// Remarks on the whole commit (on its first entry only) and the values this entry overwrote.
    pub remark: Remark,
    /// The commit attempt; on the first entry only, and absent from entries made by older releases or other programs.
    pub attempt: Option<AttemptId>,
    /// The database user that wrote the entry; `None` if the store has no users, or if the entry was made by another
    /// program or an older release.
    pub db_user: Option<String>,
}

/// What a commit means for agents other than the one that made it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// A notice for the agents that share the list: an agent has left, and what it left behind.
    pub notice: Option<String>,
    /// The tasks that this commit unblocked.
    pub now_ready: Vec<TaskId>,
    /// The acknowledged values that another program's write overwrote; set on the entry of each task.
    pub taken_back: Vec<Loss>,
}

impl Remark {
    /// Returns whether there are no remarks.
    pub fn is_empty(&self) -> bool {
        self.notice.is_none() && self.now_ready.is_empty() && self.taken_back.is_empty()
    }
}

/// One commit, as delivered to its subscribers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The list that changed.
    pub list: ListId,
    /// The number of the commit.
    pub revision: Revision,
    /// Its effect on each task, in journal order.
    pub entries: Vec<Entry>,
}

/// A revision and the actor that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRevision {
    /// The revision.
    pub revision: Revision,
    /// The actor; [`AgentName::elsewhere`] if another program made the change.
    pub actor: AgentName,
}

impl SignedRevision {
    /// Returns the revision and the actor of an entry.
    pub fn of(entry: &Entry) -> Self {
        Self { revision: entry.revision, actor: entry.actor.clone() }
    }
}

impl fmt::Display for SignedRevision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { revision, actor } = self;
        if *actor == AgentName::elsewhere() {
            write!(formatter, "r{revision} by another program")
        } else {
            write!(formatter, "r{revision} by {}", actor.as_str().escape_debug())
        }
    }
}

/// The number of a commit in the journal of its list; all entries of a commit share it. Revision 0 precedes the first
/// commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub u64);

impl Revision {
    /// Returns the next revision. Saturates at the largest number, because a caller may pass any number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// The exact bytes of one task file at one moment, whether or not they parse as a task.
///
/// The journal keeps images so that undo and restore reproduce a file byte for byte, including unknown keys, key
/// order and whitespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Image(Arc<[u8]>);

impl Image {
    /// Wraps the contents of a task file.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A part of a task that can change independently.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskField {
    /// The title.
    Subject,
    /// The description.
    Description,
    /// The text shown while the task is in progress.
    ActiveForm,
    /// The owner.
    Owner,
    /// The status.
    Status,
    /// A dependency: the other task depends on this one.
    Blocks(TaskId),
    /// A dependency: this task depends on the other one.
    BlockedBy(TaskId),
    /// One metadata key.
    Metadata(String),
    /// One note, by its key.
    Note(String),
    /// The task's deletion.
    Deletion,
}

impl fmt::Display for TaskField {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Subject => formatter.write_str("subject"),
            Self::Description => formatter.write_str("description"),
            Self::ActiveForm => formatter.write_str("activeForm"),
            Self::Owner => formatter.write_str("owner"),
            Self::Status => formatter.write_str("status"),
            Self::Blocks(id) => write!(formatter, "blocks.{id}"),
            Self::BlockedBy(id) => write!(formatter, "blockedBy.{id}"),
            Self::Metadata(key) => write!(formatter, "metadata.{key}"),
            Self::Note(key) => write!(formatter, "notes.{key}"),
            Self::Deletion => formatter.write_str("deleted"),
        }
    }
}

impl FromStr for TaskField {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        match (word, word.split_once('.')) {
            (_, Some(("blocks", id))) => Ok(Self::Blocks(TaskId::stored(id))),
            (_, Some(("blockedBy", id))) => Ok(Self::BlockedBy(TaskId::stored(id))),
            (_, Some(("metadata", key))) => Ok(Self::Metadata(key.to_owned())),
            (_, Some(("notes", key))) => Ok(Self::Note(key.to_owned())),
            ("subject", _) => Ok(Self::Subject),
            ("description", _) => Ok(Self::Description),
            ("activeForm", _) => Ok(Self::ActiveForm),
            ("owner", _) => Ok(Self::Owner),
            ("status", _) => Ok(Self::Status),
            ("deleted", _) => Ok(Self::Deletion),
            _ => Err(()),
        }
    }
}

/// Whether another program knew that it overwrote a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It did not: it wrote data that was already stale.
    Certain,
    /// Probably not, but the two writes are further apart, or the value had been reapplied before.
    Likely,
    /// It did: it changed nothing else.
    Meant,
    /// It did: it wrote a value that the field had never had.
    Replaced,
    /// Nothing was overwritten: the file holds, or may hold, a different task.
    OtherTask,
}

impl Verdict {
    pub(crate) const ALL: [Self; 5] = [Self::Certain, Self::Likely, Self::Meant, Self::Replaced, Self::OtherTask];

    /// Returns the word used in JSON and in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Meant => "meant",
            Self::Replaced => "replaced",
            Self::OtherTask => "other_task",
        }
    }

    /// Returns whether the value was overwritten by accident.
    pub const fn is_accident(self) -> bool {
        matches!(self, Self::Certain | Self::Likely)
    }
}

impl FromStr for Verdict {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word).ok_or(())
    }
}

/// One acknowledged value of ours that another program's write overwrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The field that had the value.
    pub field: TaskField,
    /// The revision in which we wrote the value; 0 for a note older than the part of the journal that is examined.
    pub revision: Revision,
    /// Whether the other program knew what it overwrote.
    pub verdict: Verdict,
}

/// A unique id of one attempt to commit. A process that did not receive the result of a commit uses it to find out
/// whether the commit happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttemptId(pub u128);

impl fmt::Display for AttemptId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl FromStr for AttemptId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u128::from_str_radix(text, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::TaskField;
    use crate::TaskId;

    #[test]
    fn a_field_is_found_by_the_word_it_is_written_as() {
        for field in [
            TaskField::Subject,
            TaskField::Description,
            TaskField::ActiveForm,
            TaskField::Owner,
            TaskField::Status,
            TaskField::Blocks(TaskId::number(7)),
            TaskField::BlockedBy(TaskId::stored("a.b")),
            TaskField::Metadata("a.b c".into()),
            TaskField::Note("00ff.2".into()),
            TaskField::Deletion,
        ] {
            assert_eq!(field.to_string().parse(), Ok(field));
        }
        assert_eq!("unheard.of".parse::<TaskField>(), Err(()));
    }
}

#[cfg(test)]
mod attempt_tests {
    use super::AttemptId;

    #[test]
    fn an_attempt_is_read_as_it_was_written() {
        for attempt in [AttemptId(0), AttemptId(7), AttemptId(u128::MAX)] {
            assert_eq!(attempt.to_string().len(), 32);
            assert_eq!(attempt.to_string().parse(), Ok(attempt));
        }
        assert!("not hexadecimal".parse::<AttemptId>().is_err());
    }
}
