//! Looking the tasks of a list over.

use std::collections::{HashMap, HashSet};

use super::FindingCode;
use super::examination::{Defect, Examination, Missing, shown};
use super::families::{drawn_steps, ordered_parts};
use crate::rules::graph::circles::{begin, end};
use crate::rules::graph::order::ClosesCircle;
use crate::rules::graph::part_tree::Tree;
use crate::rules::health::mending::Mend;
use crate::{Task, TaskId};

/// Looks the tasks of a list over, given them by number and the names of what cannot be read.
pub fn examine(tasks: &[Task], unreadable: &HashSet<TaskId>) -> Vec<Defect> {
    let there: HashMap<&TaskId, usize> = tasks.iter().enumerate().map(|(at, task)| (&task.id, at)).collect();
    let waits: HashSet<(&TaskId, &TaskId)> =
        tasks.iter().flat_map(|task| task.blocked_by.iter().map(|on| (&task.id, on))).collect();
    let blocks: HashSet<(&TaskId, &TaskId)> =
        tasks.iter().flat_map(|task| task.blocks.iter().map(|waiting| (&task.id, waiting))).collect();
    let mut claimants: HashMap<&str, usize> = HashMap::new();
    if tasks.iter().any(|task| task.stated_id.is_some()) {
        tasks.iter().for_each(|task| *claimants.entry(task.shown_id()).or_default() += 1);
    }
    let said =
        waits.iter().copied().chain(blocks.iter().map(|(on, task)| (*task, *on))).filter(|(task, on)| task != on);
    let edges: Vec<(usize, usize)> = said.filter_map(|(task, on)| Some((*there.get(task)?, *there.get(on)?))).collect();
    let tree = Tree::of(tasks);
    let order = ordered_parts(tasks.len(), tree.as_ref(), &edges);
    let missing = missing(tasks, &there, unreadable);
    let defects = Vec::new();
    let mut examination = Examination { there, waits, blocks, unreadable, missing, claimants, tree, order, defects };
    let circles = examination.put_in_order(tasks);
    for task in tasks {
        examination.look_at_id(task);
        examination.look_for_doubles(task);
        examination.look_at_blockers(task);
        examination.look_at_dependents(task);
    }
    examination.look_for_missing_parents(tasks);
    examination.defects.extend(circles);
    examination.look_for_circular_parents(tasks);
    examination.defects
}

impl Examination<'_> {
    fn look_at_id(&mut self, task: &Task) {
        let Some(stated) = &task.stated_id else { return };
        let says = format!("the file of task {} says that it is `{}`", shown(&task.id), stated.escape_debug());
        let mend = Mend::RewriteId { task: task.id.clone() };
        let (code, message) = match self.claimants.get(stated.as_str()) {
            Some(count) if *count > 1 => (FindingCode::DuplicateId, format!("{says}, and so does another")),
            _ => (FindingCode::IdMismatch, says),
        };
        self.tell(code, &task.id, message, Some(mend));
    }

    fn look_for_doubles(&mut self, task: &Task) {
        let double = first_double(&task.blocked_by).or_else(|| first_double(&task.blocks));
        if let Some(double) = double {
            let message = format!("task {} names {} more than once among its edges", shown(&task.id), shown(double));
            let mend = Mend::Deduplicate { task: task.id.clone() };
            self.tell(FindingCode::DoubleEdge, &task.id, message, Some(mend));
        }
    }

    fn look_at_blockers(&mut self, task: &Task) {
        for on in once(&task.blocked_by) {
            if *on == task.id {
                let message = format!("task {} waits for itself", shown(on));
                let mend = Mend::Disconnect { task: on.clone(), on: on.clone() };
                self.tell(FindingCode::SelfEdge, on, message, Some(mend));
            } else if self.there.contains_key(on) {
                if !self.blocks.contains(&(on, &task.id)) {
                    let waiting = &task.id;
                    let message = format!("task {} waits for {}, which does not know it", shown(waiting), shown(on));
                    let mend = Mend::AddBlocks { task: on.clone(), id: waiting.clone() };
                    self.tell(FindingCode::OneSidedEdge, waiting, message, Some(mend));
                }
            } else {
                self.tell_missing(on, &task.id);
            }
        }
    }

    fn look_at_dependents(&mut self, task: &Task) {
        for waiting in once(&task.blocks) {
            if *waiting == task.id {
                if !task.blocked_by.contains(waiting) {
                    let message = format!("task {} is said to wait for itself", shown(waiting));
                    let mend = Mend::RemoveBlocks { task: waiting.clone(), id: waiting.clone() };
                    self.tell(FindingCode::SelfEdge, waiting, message, Some(mend));
                }
            } else if self.there.contains_key(waiting) {
                if !self.waits.contains(&(waiting, &task.id)) {
                    let message =
                        format!("task {} says that {} waits for it, which does not", shown(&task.id), shown(waiting));
                    let mend = self.mend_of_unknown_blocker(waiting, &task.id);
                    self.tell(FindingCode::OneSidedEdge, &task.id, message, Some(mend));
                }
            } else {
                self.tell_missing(waiting, &task.id);
            }
        }
    }

    /// Tells of a task that is not there where it is first named: once, however many tasks name it.
    fn tell_missing(&mut self, id: &TaskId, named_by: &TaskId) {
        let Some(Missing { waiting, awaited }) = self.missing.remove(id) else { return };
        let those = |tasks: &[TaskId]| tasks.iter().map(|task| shown(task).to_string()).collect::<Vec<_>>().join(", ");
        let waits = match &waiting[..] {
            [] => None,
            [task] => Some(format!("task {} waits for {}", shown(task), shown(id))),
            tasks => Some(format!("tasks {} wait for {}", those(tasks), shown(id))),
        };
        let is_awaited = match &awaited[..] {
            [] => None,
            [task] => Some(format!("task {} says that {} waits for it", shown(task), shown(id))),
            tasks => Some(format!("tasks {} say that {} waits for them", those(tasks), shown(id))),
        };
        let said: Vec<String> = waits.into_iter().chain(is_awaited).collect();
        let message = format!("{}, and there is no such task", said.join(" and "));
        let mend = Mend::ForgetMissing { id: id.clone(), waiting, awaited };
        self.tell(FindingCode::DanglingEdge, named_by, message, Some(mend));
    }

    /// Completes an edge that only the blocker knows of; where that would close a circle, the blocker forgets it.
    fn mend_of_unknown_blocker(&mut self, waiting: &TaskId, blocker: &TaskId) -> Mend {
        let (task, id) = (waiting.clone(), blocker.clone());
        match self.let_wait(self.there[waiting], self.there[blocker]) {
            Ok(()) => Mend::AddBlockedBy { task, id },
            Err(ClosesCircle(_)) => Mend::RemoveBlocks { task: id, id: task },
        }
    }

    /// Lets a task wait for another, unless that closes a circle. That a task waits for its own parts is so anyway.
    fn let_wait(&mut self, task: usize, on: usize) -> Result<(), ClosesCircle> {
        if self.tree.as_ref().is_some_and(|tree| tree.is_below(on, task)) {
            return Ok(());
        }
        self.order.add(begin(task), end(on))
    }

    /// Puts the tasks into an order by what each says that it waits for, and returns the circles that stand in the way.
    ///
    /// The lowest numbers come last, so that the lowest of a circle is the one to wait no longer: who made the tasks wrote the
    /// first step first.
    fn put_in_order(&mut self, tasks: &[Task]) -> Vec<Defect> {
        let mut circles = Vec::new();
        for (at, task) in tasks.iter().enumerate().rev() {
            for on in once(&task.blocked_by).filter(|on| **on != task.id) {
                let Some(other) = self.there.get(on).copied() else { continue };
                if let Err(ClosesCircle(circle)) = self.let_wait(at, other) {
                    circles.push(Defect {
                        code: FindingCode::Cycle,
                        task: task.id.clone(),
                        message: format!("tasks wait for each other: {}", drawn_steps(&circle, tasks)),
                        mend: Some(Mend::Disconnect { task: task.id.clone(), on: on.clone() }),
                    });
                }
            }
        }
        circles.reverse();
        circles
    }
}

/// Returns the tasks that are named in edges and not there. What cannot be read is there.
fn missing(tasks: &[Task], there: &HashMap<&TaskId, usize>, unreadable: &HashSet<TaskId>) -> HashMap<TaskId, Missing> {
    let mut missing: HashMap<TaskId, Missing> = HashMap::new();
    let is_missing = |id: &&TaskId| !there.contains_key(id) && !unreadable.contains(*id);
    for task in tasks {
        for id in once(&task.blocked_by).filter(is_missing) {
            missing.entry(id.clone()).or_default().waiting.push(task.id.clone());
        }
        for id in once(&task.blocks).filter(is_missing) {
            missing.entry(id.clone()).or_default().awaited.push(task.id.clone());
        }
    }
    missing
}

fn first_double(ids: &[TaskId]) -> Option<&TaskId> {
    let mut seen = HashSet::new();
    ids.iter().find(|id| !seen.insert(*id))
}

fn once(ids: &[TaskId]) -> impl Iterator<Item = &TaskId> {
    let mut seen = HashSet::new();
    ids.iter().filter(move |id| seen.insert(*id))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use serde_json::json;

    use super::examine;
    use crate::rules::health::FindingCode;
    use crate::rules::health::mending::{Mend, mend};
    use crate::rules::health::told::{one, told};
    use crate::rules::samples::{id, task};
    use crate::{Task, TaskId};

    #[test]
    fn a_list_in_order_has_no_defects() {
        assert_eq!(told(&[task(1, &[], &[2]), task(2, &[1], &[])]), []);
    }

    #[test]
    fn an_edge_known_at_one_end_is_completed() {
        let (code, message, fix) = one(&[task(1, &[], &[]), task(2, &[1], &[])]);
        assert_eq!((code.as_str(), fix.as_str()), ("one_sided_edge", "add 2 to the blocks of 1"));
        assert_eq!(message, "task 2 waits for 1, which does not know it");
        let (_, _, fix) = one(&[task(1, &[], &[2]), task(2, &[], &[])]);
        assert_eq!(fix, "add 1 to the blockedBy of 2");
    }

    #[test]
    fn an_edge_known_at_one_end_that_would_close_a_circle_is_forgotten() {
        let (_, _, fix) = one(&[task(1, &[2], &[2]), task(2, &[], &[1])]);
        assert_eq!(fix, "take 2 out of the blocks of 1");
        let fixes: Vec<String> =
            told(&[task(1, &[], &[2]), task(2, &[], &[1])]).into_iter().map(|(_, _, fix)| fix).collect();
        assert_eq!(fixes, ["add 1 to the blockedBy of 2", "take 1 out of the blocks of 2"]);
    }

    #[test]
    fn an_edge_to_no_task_is_taken_out() {
        let (code, _, fix) = one(&[task(2, &[7], &[])]);
        assert_eq!((code.as_str(), fix.as_str()), ("dangling_edge", "take 7 out of the blockedBy of 2"));
        let (_, _, fix) = one(&[task(2, &[], &[7])]);
        assert_eq!(fix, "take 7 out of the blocks of 2");
    }

    #[test]
    fn many_edges_to_one_task_that_is_not_there_are_one_finding() {
        let tasks = [task(1, &[7], &[]), task(2, &[7], &[7]), task(3, &[7], &[8]), task(4, &[], &[8])];
        let told = told(&tasks);
        let (codes, fixes): (Vec<_>, Vec<_>) = told.iter().map(|(code, _, fix)| (code.as_str(), fix.as_str())).unzip();
        assert_eq!(codes, ["dangling_edge"; 2]);
        assert_eq!(
            fixes,
            ["take 7 out of the blockedBy of 1, 2, 3 and the blocks of 2", "take 8 out of the blocks of 3, 4"]
        );
        assert_eq!(
            told[0].1,
            "tasks 1, 2, 3 wait for 7 and task 2 says that 7 waits for it, and there is no such task"
        );
        let mut by_id = tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
        for defect in examine(&listed(&by_id), &HashSet::new()) {
            mend(&mut by_id, &defect.mend.unwrap());
        }
        assert_eq!(examine(&listed(&by_id), &HashSet::new()), []);
    }

    fn listed(tasks: &BTreeMap<TaskId, Task>) -> Vec<Task> {
        tasks.values().cloned().collect()
    }

    #[test]
    fn an_edge_to_something_unreadable_is_left_alone() {
        assert_eq!(examine(&[task(2, &[7], &[8])], &HashSet::from([id(7), id(8)])), []);
    }

    #[test]
    fn a_task_waiting_for_itself_is_told_once() {
        let (code, _, fix) = one(&[task(2, &[2], &[2])]);
        assert_eq!((code.as_str(), fix.as_str()), ("self_edge", "let 2 no longer wait for 2"));
        assert_eq!(one(&[task(2, &[], &[2])]).0, FindingCode::SelfEdge);
    }

    #[test]
    fn a_circle_is_shown_and_cut_where_its_lowest_number_waits() {
        let tasks = [task(1, &[2], &[3]), task(2, &[3], &[1]), task(3, &[1], &[2]), task(4, &[], &[])];
        let (code, message, fix) = one(&tasks);
        assert_eq!((code.as_str(), fix.as_str()), ("cycle", "let 1 no longer wait for 2"));
        assert_eq!(message, "tasks wait for each other: #1 waits for #2 waits for #3 waits for #1");
    }

    #[test]
    fn two_circles_are_two_findings() {
        let tasks = [task(1, &[2], &[2]), task(2, &[1], &[1, 3]), task(3, &[4, 2], &[4]), task(4, &[3], &[3])];
        assert_eq!(told(&tasks).len(), 2);
    }

    #[test]
    fn circles_that_share_a_task_are_all_cut() {
        let mut tasks: Vec<Task> = (1..=30)
            .map(|number| {
                let others: Vec<u64> = (1..=30).filter(|other| *other != number).collect();
                task(number, &others, &others)
            })
            .collect();
        for defect in examine(&tasks, &HashSet::new()) {
            let Some(Mend::Disconnect { task, on }) = defect.mend else { panic!("{defect:?}") };
            tasks.iter_mut().filter(|other| other.id == task).for_each(|other| other.blocked_by.retain(|id| *id != on));
            tasks.iter_mut().filter(|other| other.id == on).for_each(|other| other.blocks.retain(|id| *id != task));
        }
        assert_eq!(told(&tasks), []);
    }

    #[test]
    fn a_long_list_of_one_sided_edges_is_looked_over_in_no_time() {
        let (last, first) = (30_000, 1);
        let mut tasks: Vec<Task> = (first..last).map(|number| task(number, &[], &[number + 1])).collect();
        tasks.push(task(last, &[], &[first]));
        let fixes: Vec<String> = told(&tasks).into_iter().map(|(_, _, fix)| fix).collect();
        assert_eq!(fixes.len(), 30_000);
        assert_eq!(fixes[29_999], "take 1 out of the blocks of 30000");
        // And the wrong way round.
        let tasks: Vec<Task> = (first..last).map(|number| task(number + 1, &[], &[number])).collect();
        assert_eq!(told(&tasks).len(), 29_999);
    }

    #[test]
    fn an_id_that_is_anothers_is_told_apart_from_one_that_is_nobodys() {
        let mut tasks = [task(1, &[], &[]), task(2, &[], &[]), task(3, &[], &[]), task(4, &[], &[])];
        tasks[1].stated_id = Some("1".into());
        tasks[2].stated_id = Some("9".into());
        tasks[3].stated_id = Some("9".into());
        let codes: Vec<&str> = told(&tasks).iter().map(|(code, _, _)| code.as_str()).collect();
        assert_eq!(codes, ["duplicate_id"; 3]);
        tasks[1].stated_id = None;
        tasks[3].stated_id = None;
        assert_eq!(one(&tasks).0, FindingCode::IdMismatch);
    }

    #[test]
    fn other_defects_have_their_names_too() {
        let mut tasks = [task(1, &[], &[2, 2]), task(2, &[1], &[]), task(7, &[], &[]), task(8, &[], &[])];
        tasks[1].metadata = json!({ "parent": "99" }).as_object().cloned();
        tasks[2].stated_id = Some("77".into());
        tasks[3].metadata = json!({ "parent": 8 }).as_object().cloned();
        let codes: Vec<&str> = told(&tasks).iter().map(|(code, _, _)| code.as_str()).collect();
        assert_eq!(codes, ["double_edge", "id_mismatch", "orphan_parent", "parent_cycle"]);
    }
}
