//! Tasks for the tests of the rules.

use crate::{Task, TaskId};

/// Returns the id of a numbered task.
pub(super) fn id(number: u64) -> TaskId {
    TaskId::number(number)
}

/// Returns a pending task with these edges.
pub(super) fn task(number: u64, blocked_by: &[u64], blocks: &[u64]) -> Task {
    let ids = |numbers: &[u64]| numbers.iter().copied().map(id).collect();
    Task { blocked_by: ids(blocked_by), blocks: ids(blocks), ..Task::new(id(number), "x") }
}
