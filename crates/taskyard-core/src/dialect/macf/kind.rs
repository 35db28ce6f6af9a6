//! What kinds of tasks there are.

use std::fmt;
use std::str::FromStr;

/// A kind of task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A goal of its own.
    Mission,
    /// Something tried out.
    Experiment,
    /// A part of a mission.
    Phase,
    /// Something wrong, found on the way.
    Bug,
    /// Something else that has to be done first.
    Detour,
    /// Anything.
    Task,
}

impl Kind {
    /// Every kind.
    pub(crate) const ALL: [Self; 6] =
        [Self::Mission, Self::Experiment, Self::Phase, Self::Bug, Self::Detour, Self::Task];

    /// Returns the word on the command line and in metadata.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mission => "mission",
            Self::Experiment => "experiment",
            Self::Phase => "phase",
            Self::Bug => "bug",
            Self::Detour => "detour",
            Self::Task => "task",
        }
    }

    /// Returns what stands before the title.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::Mission => "\u{1f5fa}\u{fe0f} MISSION: ",
            Self::Experiment => "\u{1f9ea} EXPERIMENT: ",
            Self::Phase => "\u{1f4cb} ",
            Self::Bug => "\u{1f41b} BUG: ",
            Self::Detour => "\u{21a9}\u{fe0f} DETOUR: ",
            Self::Task => "\u{1f527} ",
        }
    }

    /// Tells whether such a task is always a part of another.
    pub const fn needs_parent(self) -> bool {
        matches!(self, Self::Phase)
    }

    /// Returns a title with the mark of this kind, which is not put there twice.
    pub fn marked(self, title: &str) -> String {
        match title.starts_with(self.mark()) {
            true => title.to_owned(),
            false => format!("{}{title}", self.mark()),
        }
    }

    /// Returns the kind that a title's mark tells, and the title without it.
    pub(crate) fn of(title: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|kind| Some((kind, title.strip_prefix(kind.mark())?)))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that names no kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no kind of task; use mission, experiment, phase, bug, detour or task")]
pub struct UnknownKind {
    /// What was given.
    pub(crate) word: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| UnknownKind { word: word.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn a_mark_is_put_once_and_read_again() {
        for kind in Kind::ALL {
            let marked = kind.marked("Task CLI");
            assert_eq!(kind.marked(&marked), marked);
            assert_eq!(Kind::of(&marked), Some((kind, "Task CLI")));
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
    }
}
