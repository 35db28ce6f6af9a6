//! What comes of an operation that rules may refuse.

use taskyard_core::rules::refusal::Refusal;

/// Done, or refused with the reason. Refused means nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// It happened.
    Done(T),
    /// A rule forbade it.
    Refused(Refusal),
}

impl<T> Outcome<T> {
    /// Makes something else of what was done; a refusal stays what it is.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Done(done) => Outcome::Done(change(done)),
            Self::Refused(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Returns what was done, or the refusal as an error.
    pub fn done(self) -> Result<T, Refusal> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}
