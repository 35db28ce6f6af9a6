//! What stands in the way of a claim.

use std::collections::HashSet;

use taskyard_core::rules::graph::parts::{Named, blockers_above, with_those_above};
use taskyard_core::{Revision, Rules, Task, TaskId};

use crate::Yard;
use crate::store::{HistoryQuery, Lookup, Snapshot, StoreError};

/// Returns the open tasks that a task waits for, in strict rules also through those it is a part of.
pub(super) fn open_blockers(
    list: &(impl Snapshot + ?Sized),
    task: &Task,
    rules: Rules,
) -> Result<Vec<TaskId>, StoreError> {
    let named = |id: &TaskId| {
        Ok::<_, StoreError>(match list.find(id)? {
            Lookup::Found(task, _) => Named::Task(task),
            Lookup::Missing => Named::Absent { holds_up: list.counts_missing() },
            Lookup::Unreadable(_) => Named::Absent { holds_up: false },
        })
    };
    let mut open = Vec::new();
    for id in &task.blocked_by {
        if named(id)?.holds_up() {
            open.push(id.clone());
        }
    }
    let above = if rules.is_client() { Vec::new() } else { blockers_above(task, named)? };
    Ok(with_those_above(open, above))
}

/// Returns the tasks that got an open part after a revision. A caller that looked at the list then does not know of those.
pub(super) fn parents_since(yard: &Yard, seen: Revision) -> Result<HashSet<TaskId>, StoreError> {
    if yard.rules().is_client() {
        return Ok(HashSet::new());
    }
    let mut parents = HashSet::new();
    for page in yard.pages(HistoryQuery { since: seen, ..HistoryQuery::default() })? {
        let page = page?;
        let after = page.iter().filter_map(|entry| entry.after.as_ref()?.task(&entry.task).ok());
        parents.extend(after.filter(|task| task.status.is_open()).filter_map(|task| task.parent()));
    }
    Ok(parents)
}
