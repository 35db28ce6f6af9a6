//! Ids as they are named, each once.

use std::collections::HashSet;

use taskyard_core::TaskId;

/// Returns each id once: a task that is named twice changes once.
pub(super) fn once(ids: &[TaskId]) -> Vec<TaskId> {
    let mut seen = HashSet::new();
    ids.iter().map(|id| TaskId::stored(id.file_stem())).filter(|id| seen.insert(id.clone())).collect()
}
