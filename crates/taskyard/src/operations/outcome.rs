//! The outcome of operations that rules may refuse, and how a transaction ends without a commit.

use std::collections::HashSet;

use taskyard_core::TaskId;
use taskyard_core::rules::refusal::Refusal;

use crate::store::StoreError;

/// Done, or refused with the reason. After a refusal nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// The operation was carried out.
    Done(T),
    /// A rule refused it.
    Refused(Refusal),
}

impl<T> Outcome<T> {
    /// Converts the value of `Done`; a refusal is returned unchanged.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Done(done) => Outcome::Done(change(done)),
            Self::Refused(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Returns the value, or the refusal as an error.
    pub fn done(self) -> Result<T, Refusal> {
        match self {
            Self::Done(done) => Ok(done),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

/// Why a transaction ends without a commit. Nothing has changed then.
#[derive(Debug)]
pub(crate) enum Halt {
    /// A rule refused it.
    Refused(Refusal),
    /// The store failed, or the attempt has to be retried.
    Failed(StoreError),
}

impl From<Refusal> for Halt {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

/// A task that was refused, and why.
pub type RefusedTask = (TaskId, Refusal);

/// The result of an operation on several tasks that is applied to those that allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Possible<T> {
    /// The results, in the order of the tasks.
    pub done: Vec<T>,
    /// The refused tasks.
    pub refused: Vec<RefusedTask>,
}

/// Removes duplicates, so that a task named twice changes once.
pub(super) fn once(ids: &[TaskId]) -> Vec<TaskId> {
    let mut seen = HashSet::new();
    ids.iter().map(|id| TaskId::stored(id.file_stem())).filter(|id| seen.insert(id.clone())).collect()
}
