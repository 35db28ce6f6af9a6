//! What the journal says happened.

use std::fmt;
use std::str::FromStr;

use crate::{AgentName, AttemptId, Image, ListId, Loss, Revision, TaskId, Timestamp};

/// The verb of a journal entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// A task was made.
    Create,
    /// Fields or edges were changed.
    Update,
    /// A completed task was opened again.
    Reopen,
    /// An agent took a task.
    Claim,
    /// Tasks were given back.
    Release,
    /// Tasks came back from an agent whose lease had ended.
    Expire,
    /// A task was removed, or lost its edge to one that was.
    Delete,
    /// The whole list was emptied.
    Clear,
    /// Earlier revisions were taken back.
    Undo,
    /// Removed tasks were brought back.
    Restore,
    /// Tasks moved from one list to another.
    Merge,
    /// The list got another name: its tasks moved there as they were.
    Rename,
    /// Tasks came from another program's files.
    Import,
    /// `doctor` mended something.
    Mend,
    /// What a stale write of another program had taken back was put back.
    PutBack,
    /// Some other program made a task.
    CreatedElsewhere,
    /// Some other program changed a task.
    ChangedElsewhere,
    /// Some other program removed a task.
    RemovedElsewhere,
    /// A client deleted a task, in the way Claude Code deletes tasks.
    DeletedElsewhere,
}

impl Op {
    /// Every verb.
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

    /// Returns the word in JSON.
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

    /// Returns the word in journals. Releases that do not know deletions by clients read them as removals, and renamings of lists as merges;
    /// what tells the two apart is beside the word ([`Op::mark`]).
    pub const fn as_stored(self) -> &'static str {
        match self {
            Self::DeletedElsewhere => Self::RemovedElsewhere.as_str(),
            Self::Rename => Self::Merge.as_str(),
            _ => self.as_str(),
        }
    }

    /// Returns the key that is set beside the word in journals if another verb has the same word; `None` for most verbs.
    pub const fn mark(self) -> Option<&'static str> {
        match self {
            Self::DeletedElsewhere => Some("deletion"),
            Self::Rename => Some("rename"),
            _ => None,
        }
    }

    /// Returns the verb of a word in a journal, given whether a key is set beside it ([`Op::mark`]); `None` if this release does not know
    /// the word.
    pub fn from_stored(word: &str, is_marked: impl Fn(&str) -> bool) -> Option<Self> {
        let op: Self = word.parse().ok()?;
        let is_it = |other: &Self| other.as_stored() == word && other.mark().is_some_and(&is_marked);
        Some(Self::ALL.into_iter().find(is_it).unwrap_or(op))
    }

    /// Tells whether some other program did it.
    pub const fn is_elsewhere(self) -> bool {
        matches!(self, Self::CreatedElsewhere | Self::ChangedElsewhere) || self.is_removal_elsewhere()
    }

    /// Tells whether some other program removed a task, by a deletion or in another way.
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

/// What one commit did to one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The commit it belongs to.
    pub revision: Revision,
    /// When the commit was made, by the clock of the store.
    pub at: Timestamp,
    /// The agent that made the commit.
    pub actor: AgentName,
    /// What was done.
    pub op: Op,
    /// To which task.
    pub task: TaskId,
    /// The task before; none where there was none.
    pub before: Option<Image>,
    /// The task after; none where it was removed.
    pub after: Option<Image>,
    /// The revisions an `undo` took back.
    pub undoes: Vec<Revision>,
    /// What there is to say of the whole commit, on its first entry only, and what this entry took away.
    pub remark: Remark,
    /// The attempt that the commit was; on its first entry only, and on none that an older release or another program made.
    pub attempt: Option<AttemptId>,
    /// The user of the database that wrote the entry; `None` if the store has no users, or the entry was made elsewhere or by an older
    /// release.
    pub db_user: Option<String>,
}

/// What a commit means for agents other than the one that made it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// The notice for the agents that share the list: an agent is gone, and what it left.
    pub notice: Option<String>,
    /// The tasks that can start because of it.
    pub now_ready: Vec<TaskId>,
    /// What it took away from what we had acknowledged; only where another program wrote, on the entry of each task.
    pub taken_back: Vec<Loss>,
}

impl Remark {
    /// Tells whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.notice.is_none() && self.now_ready.is_empty() && self.taken_back.is_empty()
    }
}

/// One commit, as its listeners learn of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The list that changed.
    pub list: ListId,
    /// The number of the commit.
    pub revision: Revision,
    /// What it did to each task, in the journal's order.
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
