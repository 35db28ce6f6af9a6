//! What becomes of the tasks that are left when others go.

use std::collections::HashMap;

use taskyard_core::rules::graph::parts::lifted;
use taskyard_core::{Rules, Task, TaskId};

use crate::store::{StoreError, Txn};

/// Takes every edge to tasks that are gone out of those that are left, lifts their parts, and returns which those are.
///
/// What the removed tasks do not name is looked at, too: another program may have written an edge at one end only.
pub(super) fn forget(txn: &mut dyn Txn, gone: &[Task], rules: Rules) -> Result<Vec<TaskId>, StoreError> {
    let stood: HashMap<TaskId, Option<TaskId>> = gone.iter().map(|task| (task.id.clone(), task.parent())).collect();
    let mut parts = Vec::new();
    let gone: Vec<TaskId> = gone.iter().map(|task| task.id.clone()).collect();
    for task in txn.connected(&gone)? {
        // The client looks a task up by the id in its file, so it does not find one whose file has another name.
        if rules.is_client() && task.stated_id.is_some() {
            continue;
        }
        let lifted = if rules.is_client() { None } else { lifted(&task, &stood) };
        parts.extend(lifted.as_ref().map(|part| part.id.clone()));
        let names_one = |ids: &[TaskId]| ids.iter().any(|id| stood.contains_key(id));
        if names_one(&task.blocks) || names_one(&task.blocked_by) || lifted.is_some() {
            let mut after = lifted.unwrap_or(task);
            after.blocks.retain(|id| !stood.contains_key(id));
            after.blocked_by.retain(|id| !stood.contains_key(id));
            txn.put(after)?;
        }
    }
    Ok(parts)
}
