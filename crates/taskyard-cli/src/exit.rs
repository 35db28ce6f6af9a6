//! Exit codes.

pub(crate) use taskyard::core::problem::{Problem, ProblemKind};

/// The exit codes. Their meanings never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The command failed: an operating system error, or the store is unreachable.
    CouldNot,
    /// Wrong usage.
    Usage,
    /// Refused by a rule, or `doctor` found a problem.
    Refused,
    /// No such task, list or revision.
    NotFound,
    /// Gave up waiting for a lock, or after repeated conflicts.
    GaveUp,
    /// The change is recorded but was not completed.
    Unfinished,
    /// Stopped by a signal: 128 plus its number, SIGINT by default.
    Stopped,
    /// The exit code of the command waited for, or one that stands for its fate; used by `job wait` and `job run
    /// --wait`.
    OfCommand(u8),
}

impl Exit {
    /// It is unknown how the command that was waited for ended.
    pub(crate) const END_UNKNOWN: Self = Self::OfCommand(125);

    /// Returns the numeric exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::CouldNot => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::NotFound => 4,
            Self::GaveUp => 5,
            Self::Unfinished => 6,
            Self::Stopped => 130,
            Self::OfCommand(code) => code,
        }
    }
}

/// Returns the exit code for a kind of problem.
pub(crate) const fn exit_of(kind: ProblemKind) -> Exit {
    match kind {
        ProblemKind::CouldNot => Exit::CouldNot,
        ProblemKind::Usage => Exit::Usage,
        ProblemKind::Refused => Exit::Refused,
        ProblemKind::NotFound => Exit::NotFound,
        ProblemKind::GaveUp => Exit::GaveUp,
        ProblemKind::Unfinished => Exit::Unfinished,
        ProblemKind::Stopped => Exit::Stopped,
        ProblemKind::EndUnknown => Exit::END_UNKNOWN,
    }
}
