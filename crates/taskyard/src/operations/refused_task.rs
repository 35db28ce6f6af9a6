//! Tasks with which something could not be done.

use taskyard_core::TaskId;
use taskyard_core::rules::refusal::Refusal;

/// A task of which something was refused, and why.
pub type RefusedTask = (TaskId, Refusal);

/// What came of something that was to be done with several tasks, as far as it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Possible<T> {
    /// What was done, in the order of the tasks.
    pub done: Vec<T>,
    /// The tasks with which it could not be done, and why.
    pub refused: Vec<RefusedTask>,
}
