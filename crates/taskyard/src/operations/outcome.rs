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
    /// Returns what was done, or the refusal as an error.
    pub fn done(self) -> Result<T, Refusal> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}
