//! What is deferred because what it is a part of is.

use super::parts::Tree;
use crate::{Task, Timestamp};

/// Returns, for each task, the last moment to which open tasks are deferred that it is a part of.
pub(super) fn deferred_above(tasks: &[Task], tree: &Tree) -> Vec<Option<Timestamp>> {
    let stated: Vec<Option<Timestamp>> =
        tasks.iter().map(|task| task.defer().filter(|_| task.status.is_open())).collect();
    let mut deferred = vec![None; tasks.len()];
    if stated.iter().all(Option::is_none) {
        return deferred;
    }
    let mut is_known = vec![false; tasks.len()];
    for start in 0..tasks.len() {
        let mut way = Vec::new();
        let mut at = start;
        // A stack of our own: a tree may be deeper than the thread's stack.
        while let Some(above) = tree.above(at).filter(|_| !is_known[at]) {
            is_known[at] = true;
            way.push((at, above));
            at = above;
        }
        for (place, above) in way.into_iter().rev() {
            deferred[place] = stated[above].max(deferred[above]);
        }
    }
    deferred
}
