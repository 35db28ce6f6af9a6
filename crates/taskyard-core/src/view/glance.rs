//! A whole list at a glance: its numbers, and what needs a person.

use std::collections::HashSet;

use super::{Need, NeedKind, Tally};
use crate::rules::looking::query::{Query, Surroundings};
use crate::{Status, Task, TaskId};

/// A whole list at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Its numbers.
    pub tally: Tally,
    /// What needs a person.
    pub needs: Vec<Need>,
    /// What can start now.
    pub(crate) ready: HashSet<TaskId>,
}

impl Glance {
    /// Looks at a list, whose internal tasks count for nothing.
    pub fn at(tasks: &[Task], around: &impl Surroundings) -> Self {
        let mut glance = Self::default();
        for task in tasks.iter().filter(|task| !task.is_internal()) {
            glance.tally.counts[task.status as usize] += 1;
            if !task.status.is_open() {
                continue;
            }
            if let Some(kind) = NeedKind::of(task, around.now()) {
                glance.needs.push(Need { task: task.id.clone(), kind });
            }
            if around.is_ready(task) {
                glance.ready.insert(task.id.clone());
            } else if task.status == Status::Pending && around.is_blocked(task) {
                glance.tally.blocked += 1;
            }
        }
        glance.tally.ready = glance.ready.len();
        glance
    }
}

/// Returns the tasks of which a query is true; none where it is true of all.
pub fn chosen_by(query: &Query, tasks: &[Task], around: &impl Surroundings) -> Option<HashSet<TaskId>> {
    let is_chosen = |task: &&Task| query.is_true_of(task, around);
    (!query.is_empty()).then(|| tasks.iter().filter(is_chosen).map(|task| task.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Glance, chosen_by};
    use crate::rules::looking::query::{ListSurroundings, Query};
    use crate::view::NeedKind;
    use crate::{Rules, Status, Task, TaskId, Timestamp};

    fn list() -> Vec<Task> {
        let task = |id: u64, status| Task { status, ..Task::new(TaskId::number(id), "x") };
        let mut tasks = vec![
            task(1, Status::InProgress),
            task(2, Status::Pending),
            task(3, Status::Pending),
            task(4, Status::Completed),
            task(5, Status::Pending),
        ];
        tasks[1].blocked_by = vec![TaskId::number(1)];
        tasks[2].metadata.get_or_insert_default().insert("due".to_owned(), json!("2026-01-01T00:00:00.000Z"));
        tasks[4].metadata.get_or_insert_default().insert("_internal".to_owned(), json!(true));
        tasks
    }

    #[test]
    fn a_glance_counts_what_is_ready_what_waits_and_what_needs_a_person() {
        let (tasks, now) = (list(), Timestamp(1_800_000_000_000));
        let glance = Glance::at(&tasks, &ListSurroundings::of(&tasks, now, Rules::Strict));
        assert_eq!(glance.tally.counts, [2, 1, 1], "an internal task counts for nothing");
        assert_eq!((glance.tally.ready, glance.tally.blocked), (1, 1));
        assert_eq!(glance.needs.len(), 1);
        assert_eq!(glance.needs[0].kind, NeedKind::Overdue);
    }

    #[test]
    fn nothing_is_chosen_where_nobody_asks() {
        let tasks = list();
        let around = ListSurroundings::of(&tasks, Timestamp(0), Rules::Strict);
        assert_eq!(chosen_by(&Query::parse("").unwrap(), &tasks, &around), None);
        let chosen = chosen_by(&Query::parse("blocked").unwrap(), &tasks, &around).unwrap();
        assert_eq!(chosen, [TaskId::number(2)].into());
    }
}
