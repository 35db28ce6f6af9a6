//! How a command ends.

/// The exit codes, each with one meaning that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Could not: the system refused, or a store is out of reach.
    CouldNot = 1,
    /// Wrong usage.
    Usage = 2,
    /// Refused by a rule; or `doctor` found something.
    Refused = 3,
    /// No such task, list or revision.
    NotFound = 4,
    /// Gave up waiting for a lock, or after repeated conflicts.
    GaveUp = 5,
    /// Stopped by a signal: 128 and the number of SIGINT, or of the signal that came.
    Stopped = 130,
}

impl Exit {
    /// Returns the number the process ends with.
    pub(crate) const fn code(self) -> u8 {
        self as u8
    }
}
