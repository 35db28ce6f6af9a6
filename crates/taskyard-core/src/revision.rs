//! Where in a list's journal something happened.

use std::fmt;

/// One commit's number in the journal of its list; all entries of a commit share it. Revision 0 is before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub u64);

impl Revision {
    /// Returns the revision after this one. The largest number has none after it and is returned itself: no journal gets so far, and a
    /// caller may ask for what came after any number.
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
