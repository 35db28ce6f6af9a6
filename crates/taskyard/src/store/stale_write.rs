//! A write of another program that did not know of ours.

use taskyard_core::{Image, Loss, Revision, TaskId};

/// A write of another program that certainly did not know what it took back: it was made from what the file held before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleWrite {
    /// The task.
    pub(crate) task: TaskId,
    /// The revision under which the write was recorded.
    pub(crate) revision: Revision,
    /// What it took back.
    pub(crate) losses: Vec<Loss>,
    /// What it found there, as far as we know.
    pub(crate) found: Image,
    /// What it left there.
    pub(crate) left: Image,
}
