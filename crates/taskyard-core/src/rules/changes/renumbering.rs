//! What a list becomes when one of its tasks gets another number.

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::macf::{set_parent, with_marks};
use crate::{Task, TaskId};

/// Gives a task another id, and every edge and part that names it; returns the tasks that change, the task itself under its new
/// id among them. Where there is no such task, nothing does.
pub fn renumber(tasks: &mut BTreeMap<TaskId, Task>, from: &TaskId, to: &TaskId) -> BTreeSet<TaskId> {
    let mut changed = BTreeSet::new();
    let Some(task) = tasks.remove(from) else { return changed };
    let mut renumbered = Task { id: to.clone(), stated_id: None, ..task.clone() };
    if let Some(subject) = with_marks(&task, &renumbered, None) {
        renumbered.subject = subject;
    }
    tasks.insert(to.clone(), renumbered);
    changed.insert(to.clone());
    for (id, task) in tasks.iter_mut() {
        let mut has_changed = false;
        for edge in task.blocks.iter_mut().chain(&mut task.blocked_by).filter(|edge| *edge == from) {
            *edge = to.clone();
            has_changed = true;
        }
        if task.parent().as_ref() == Some(from) {
            let before = task.clone();
            set_parent(task, Some(to));
            if let Some(subject) = with_marks(&before, task, None) {
                task.subject = subject;
            }
            has_changed = true;
        }
        if has_changed {
            changed.insert(id.clone());
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::renumber;
    use crate::rules::samples::{id, task};

    const HUGE: u64 = 1_794_754_403_000_000_000;

    #[test]
    fn edges_and_parts_go_with_the_task() {
        let mut part = task(3, &[], &[]);
        part.metadata = json!({ "parent": HUGE }).as_object().cloned();
        let mut huge = task(HUGE, &[1, HUGE], &[2, HUGE]);
        huge.stated_id = Some("7".into());
        let list = [task(1, &[], &[HUGE]), task(2, &[1, HUGE], &[]), part, task(4, &[1], &[]), huge];
        let mut tasks: BTreeMap<_, _> = list.into_iter().map(|task| (task.id.clone(), task)).collect();
        assert_eq!(renumber(&mut tasks, &id(HUGE), &id(5)), BTreeSet::from([id(1), id(2), id(3), id(5)]));
        assert_eq!(tasks[&id(5)], task(5, &[1, 5], &[2, 5]));
        assert_eq!((&tasks[&id(1)].blocks, &tasks[&id(2)].blocked_by), (&vec![id(5)], &vec![id(1), id(5)]));
        assert_eq!(tasks[&id(3)].parent(), Some(id(5)));
        assert_eq!(renumber(&mut tasks, &id(HUGE), &id(6)), BTreeSet::new());
    }
}
