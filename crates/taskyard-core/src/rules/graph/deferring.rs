//! What is deferred because what it is a part of is.

use super::part_tree::Tree;
use crate::{Task, Timestamp};

/// Returns, for each task, the last moment to which open tasks are deferred that it is a part of.
pub(crate) fn deferred_above(tasks: &[Task], tree: &Tree) -> Vec<Option<Timestamp>> {
    let stated: Vec<Option<Timestamp>> =
        tasks.iter().map(|task| task.defer().filter(|_| task.status.is_open())).collect();
    let mut deferred = vec![None; tasks.len()];
    if stated.iter().all(Option::is_none) {
        return deferred;
    }
    tree.walk_down(|place, above| deferred[place] = stated[above].max(deferred[above]));
    deferred
}
