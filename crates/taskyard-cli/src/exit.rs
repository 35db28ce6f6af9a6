//! How a command ends.

/// The exit codes, each with one meaning that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Could not: the system refused, or a store is out of reach.
    CouldNot,
    /// Wrong usage.
    Usage,
    /// Refused by a rule; or `doctor` found something.
    Refused,
    /// No such task, list or revision.
    NotFound,
    /// Gave up waiting for a lock, or after repeated conflicts.
    GaveUp,
    /// The change is recorded but could not be finished.
    Unfinished,
    /// Stopped by a signal: 128 and the number of SIGINT, or of the signal that came.
    Stopped,
    /// The code of the command that was waited for, or what stands for it: the exception of `job wait` and `job run --wait`.
    OfCommand(u8),
}

impl Exit {
    /// How a command ended that was waited for is not known.
    pub(crate) const END_UNKNOWN: Self = Self::OfCommand(125);

    /// Returns the number the process ends with.
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
