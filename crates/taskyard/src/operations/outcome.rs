//! How a transaction ends without a commit, and the result of an operation on several tasks.

use std::collections::HashSet;

use taskyard_core::TaskId;
use taskyard_core::rules::refusal::Refusal;

use crate::store::StoreError;

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
