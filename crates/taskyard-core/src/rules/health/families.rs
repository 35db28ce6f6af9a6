//! Looking over which tasks are parts of which.

use std::collections::BTreeMap;

use super::FindingCode;
use super::examination::{Examination, shown};
use crate::rules::graph::circles::{begin, end};
use crate::rules::graph::order::{ClosesCircle, Order};
use crate::rules::graph::part_tree::Tree;
use crate::rules::health::mending::Mend;
use crate::{Task, TaskId};

/// Returns the steps of the tasks, two for each, in an order that agrees with who is a part of whom.
pub(crate) fn ordered_parts(count: usize, tree: Option<&Tree>, edges: &[(usize, usize)]) -> Order {
    let mut steps: Vec<(usize, usize)> = (0..count).map(|place| (end(place), begin(place))).collect();
    let parts = (0..count).filter_map(|place| Some((place, tree?.above(place)?)));
    steps.extend(parts.flat_map(|(part, parent)| [(begin(part), begin(parent)), (end(parent), end(part))]));
    let is_new = |(task, on): &&(usize, usize)| !tree.is_some_and(|tree| tree.is_below(*on, *task));
    let all: Vec<(usize, usize)> =
        steps.iter().copied().chain(edges.iter().filter(is_new).map(|(task, on)| (begin(*task), end(*on)))).collect();
    let mut order = Order::of(count * 2, &all);
    for (task, on) in steps {
        // A tree has no circles, so that nothing is refused here.
        let _ = order.add(task, on);
    }
    order
}

impl Examination<'_> {
    /// Tells once of each parent that is not there, however many parts it has.
    pub(crate) fn look_for_missing_parents(&mut self, tasks: &[Task]) {
        let mut orphans: BTreeMap<TaskId, Vec<&TaskId>> = BTreeMap::new();
        for task in tasks {
            if let Some(parent) = task.parent().filter(|parent| !self.there.contains_key(parent))
                && !self.unreadable.contains(&parent)
            {
                orphans.entry(parent).or_default().push(&task.id);
            }
        }
        for (parent, parts) in orphans {
            let message = match &parts[..] {
                [part] => format!("task {} is a part of {}, and there is no such task", shown(part), shown(&parent)),
                parts => {
                    let named: Vec<String> = parts.iter().map(|part| shown(part).to_string()).collect();
                    let named = named.join(", ");
                    format!("tasks {named} are parts of {}, and there is no such task", shown(&parent))
                }
            };
            let first = parts[0].clone();
            let mend = Mend::ForgetParent { parts: parts.into_iter().cloned().collect() };
            self.tell(FindingCode::OrphanParent, &first, message, Some(mend));
        }
    }

    /// Tells of tasks that are parts of each other.
    pub(crate) fn look_for_circular_parents(&mut self, tasks: &[Task]) {
        let parent = |task: &Task| self.there.get(&task.parent()?).copied();
        let parts: Vec<(usize, usize)> =
            tasks.iter().enumerate().filter_map(|(at, task)| Some((at, parent(task)?))).collect();
        let mut tree = Order::of(tasks.len(), &parts);
        let mut circles = Vec::new();
        for (at, parent) in parts.into_iter().rev() {
            if let Err(ClosesCircle(circle)) = tree.add(at, parent) {
                circles.push((&tasks[at], drawn(&circle, tasks, " is a part of ")));
            }
        }
        for (task, circle) in circles.into_iter().rev() {
            let mend = Mend::ForgetParent { parts: vec![task.id.clone()] };
            let message = format!("tasks are parts of each other: {circle}");
            self.tell(FindingCode::ParentCycle, &task.id, message, Some(mend));
        }
    }
}

/// Draws a circle of steps: how each task holds up the one before it.
pub(crate) fn drawn_steps(circle: &[usize], tasks: &[Task]) -> String {
    let name = |step: usize| format!("#{}", shown(&tasks[step / 2].id));
    let mut line = circle.first().map(|step| name(*step)).unwrap_or_default();
    for pair in circle.windows(2).filter(|pair| pair[0] / 2 != pair[1] / 2) {
        line.push_str(match (pair[0] % 2, pair[1] % 2) {
            (0, 0) => " is a part of ",
            (1, 1) => " has the part ",
            _ => " waits for ",
        });
        line.push_str(&name(pair[1]));
    }
    line
}

fn drawn(circle: &[usize], tasks: &[Task], word: &str) -> String {
    let path: Vec<String> = circle.iter().map(|at| format!("#{}", shown(&tasks[*at].id))).collect();
    path.join(word)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::Task;
    use crate::rules::health::FindingCode;
    use crate::rules::health::told::{one, told};
    use crate::rules::samples::task;

    fn part(number: u64, parent: u64, blocked_by: &[u64], blocks: &[u64]) -> Task {
        Task { metadata: json!({ "parent": parent }).as_object().cloned(), ..task(number, blocked_by, blocks) }
    }

    #[test]
    fn a_part_that_waits_for_its_parent_is_one_finding() {
        let (code, message, fix) = one(&[task(1, &[], &[2]), part(2, 1, &[1], &[])]);
        assert_eq!((code.as_str(), fix.as_str()), ("cycle", "let 2 no longer wait for 1"));
        assert_eq!(message, "tasks wait for each other: #2 waits for #1 has the part #2");
        assert_eq!(told(&[task(1, &[2], &[]), part(2, 1, &[], &[1])]), []);
    }

    #[test]
    fn a_circle_through_two_families_is_one_finding() {
        let tasks = [task(1, &[2], &[]), task(2, &[], &[1]), part(3, 1, &[], &[4]), part(4, 2, &[3], &[])];
        let (code, message, _) = one(&tasks);
        assert_eq!(code, FindingCode::Cycle);
        assert_eq!(message, "tasks wait for each other: #1 waits for #2 has the part #4 waits for #3 is a part of #1");
    }

    #[test]
    fn a_parent_that_is_not_there_is_told_once_for_all_its_parts() {
        let tasks = [part(1, 9, &[], &[]), part(2, 9, &[], &[]), part(3, 8, &[], &[]), part(4, 9, &[], &[])];
        let told = told(&tasks);
        let messages: Vec<&str> = told.iter().map(|(_, message, _)| message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "task 3 is a part of 8, and there is no such task",
                "tasks 1, 2, 4 are parts of 9, and there is no such task"
            ]
        );
        assert_eq!(told[1].2, "take the parent out of the metadata of 1, 2, 4");
    }
}
