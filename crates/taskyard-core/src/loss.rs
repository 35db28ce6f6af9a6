//! What a write of another program took away from ours.

use std::fmt;
use std::str::FromStr;

use crate::{Revision, TaskId};

/// One thing in a task that can change by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskField {
    /// The title.
    Subject,
    /// What there is to do.
    Description,
    /// What is being done while it is being done.
    ActiveForm,
    /// Its owner.
    Owner,
    /// Where in its life it is.
    Status,
    /// That this task waits for it.
    Blocks(TaskId),
    /// That it waits for this task.
    BlockedBy(TaskId),
    /// One key of its metadata.
    Metadata(String),
    /// One of its notes, by the key it is known by.
    Note(String),
    /// That it is not there any more.
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

/// Whether another program knew what it took away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It did not: what it wrote was old before it wrote it.
    Certain,
    /// Probably not, but the two writes lie further apart, or the value was put back before.
    Likely,
    /// It did: it changed nothing else.
    Meant,
    /// It did: it wrote a value that was never there before.
    Replaced,
    /// Nothing was taken back: the file holds, or may hold, a different task.
    OtherTask,
}

impl Verdict {
    /// Every verdict.
    pub(crate) const ALL: [Self; 5] = [Self::Certain, Self::Likely, Self::Meant, Self::Replaced, Self::OtherTask];

    /// Returns the word in JSON and in the journal.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Meant => "meant",
            Self::Replaced => "replaced",
            Self::OtherTask => "other_task",
        }
    }

    /// Tells whether no agent meant the value to go.
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

/// One acknowledged value of ours that a write of another program took away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What it was a value of.
    pub field: TaskField,
    /// The revision of ours that the value came with; 0 for a note that came earlier than we look back.
    pub revision: Revision,
    /// Whether the other program knew what it did.
    pub verdict: Verdict,
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
