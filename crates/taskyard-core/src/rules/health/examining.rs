//! Examines the tasks of a list for defects and proposes repairs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use super::FindingCode;
use crate::rules::agents::is_same_agent;
use crate::rules::graph::circles::{ClosesCircle, Order, begin, end};
use crate::rules::graph::parts::Tree;
use crate::rules::health::defects::Mend;
use crate::{Entry, Image, Moment, Op, Status, Task, TaskId, Timestamp};

/// Returns the defects of a list. `tasks` must be sorted by id; `unreadable` are the ids whose files cannot be parsed.
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
        let says = format!("the file of task {} states the id `{}`", shown(&task.id), stated.escape_debug());
        let mend = Mend::RewriteId { task: task.id.clone() };
        let (code, message) = match self.claimants.get(stated.as_str()) {
            Some(count) if *count > 1 => (FindingCode::DuplicateId, format!("{says}, and so does another file")),
            _ => (FindingCode::IdMismatch, says),
        };
        self.tell(code, &task.id, message, Some(mend));
    }

    fn look_for_doubles(&mut self, task: &Task) {
        let double = first_double(&task.blocked_by).or_else(|| first_double(&task.blocks));
        if let Some(double) = double {
            let message = format!("task {} names {} more than once in its edges", shown(&task.id), shown(double));
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
                    let message = format!(
                        "task {} waits for {}, which does not list it as a \
                        dependent",
                        shown(waiting),
                        shown(on)
                    );
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
                    let message = format!("task {} lists itself as a dependent", shown(waiting));
                    let mend = Mend::RemoveBlocks { task: waiting.clone(), id: waiting.clone() };
                    self.tell(FindingCode::SelfEdge, waiting, message, Some(mend));
                }
            } else if self.there.contains_key(waiting) {
                if !self.waits.contains(&(waiting, &task.id)) {
                    let message = format!(
                        "task {} lists {} as a dependent, which does not list it as a \
                            blocker",
                        shown(&task.id),
                        shown(waiting)
                    );
                    let mend = self.mend_of_unknown_blocker(waiting, &task.id);
                    self.tell(FindingCode::OneSidedEdge, &task.id, message, Some(mend));
                }
            } else {
                self.tell_missing(waiting, &task.id);
            }
        }
    }

    /// Reports a missing task at its first mention, only once even if several tasks name it.
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
            [task] => Some(format!("task {} lists {} as a dependent", shown(task), shown(id))),
            tasks => Some(format!("tasks {} list {} as a dependent", those(tasks), shown(id))),
        };
        let said: Vec<String> = waits.into_iter().chain(is_awaited).collect();
        let message = format!("{}, which does not exist", said.join(" and "));
        let mend = Mend::ForgetMissing { id: id.clone(), waiting, awaited };
        self.tell(FindingCode::DanglingEdge, named_by, message, Some(mend));
    }

    /// Completes an edge that only the blocker states. If that would close a cycle, removes it from the blocker
    /// instead.
    fn mend_of_unknown_blocker(&mut self, waiting: &TaskId, blocker: &TaskId) -> Mend {
        let (task, id) = (waiting.clone(), blocker.clone());
        match self.let_wait(self.there[waiting], self.there[blocker]) {
            Ok(()) => Mend::AddBlockedBy { task, id },
            Err(ClosesCircle(_)) => Mend::RemoveBlocks { task: id, id: task },
        }
    }

    /// Adds a dependency to the order unless it closes a cycle. A task waits for its own parts in any case.
    fn let_wait(&mut self, task: usize, on: usize) -> Result<(), ClosesCircle> {
        if self.tree.as_ref().is_some_and(|tree| tree.is_below(on, task)) {
            return Ok(());
        }
        self.order.add(begin(task), end(on))
    }

    /// Orders the tasks by their stated blockers, and returns the cycles that prevent a complete order.
    ///
    /// Lower numbers are processed last, so that the repair removes the dependency of the lowest task in a cycle:
    /// authors usually create the first step first.
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

/// Returns the tasks that are named in edges but missing. Tasks that cannot be parsed are not missing.
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

/// A defect of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The kind of defect.
    pub code: FindingCode,
    /// The task it concerns.
    pub task: TaskId,
    /// A description of the defect.
    pub message: String,
    /// The repair, or `None` if only a person can decide.
    pub mend: Option<Mend>,
}

/// The tasks that name a missing task.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    /// The tasks that name it as a blocker.
    pub(crate) waiting: Vec<TaskId>,
    /// The tasks that name it as a dependent.
    pub(crate) awaited: Vec<TaskId>,
}

/// The graph of a list, and the defects found in it.
#[derive(Debug)]
pub(crate) struct Examination<'a> {
    /// The index of each task.
    pub(crate) there: HashMap<&'a TaskId, usize>,
    pub(crate) unreadable: &'a HashSet<TaskId>,
    /// Stated dependencies, as (dependent, blocker).
    pub(crate) waits: HashSet<(&'a TaskId, &'a TaskId)>,
    /// Stated blocks, as (blocker, dependent).
    pub(crate) blocks: HashSet<(&'a TaskId, &'a TaskId)>,
    /// The missing tasks that are not reported yet.
    pub(crate) missing: HashMap<TaskId, Missing>,
    /// The number of files that claim each id. Empty if no file's id differs from its name.
    pub(crate) claimants: HashMap<&'a str, usize>,
    /// The parent of each part.
    pub(crate) tree: Option<Tree>,
    /// An order in which all tasks could be started and finished after the repairs.
    pub(crate) order: Order,
    pub(crate) defects: Vec<Defect>,
}

impl Examination<'_> {
    /// Records a defect.
    pub(crate) fn tell(&mut self, code: FindingCode, task: &TaskId, message: String, mend: Option<Mend>) {
        self.defects.push(Defect { code, task: task.clone(), message, mend });
    }
}

/// Escapes control characters in an id: ids in files written by other programs may contain anything.
pub(crate) fn shown(id: &TaskId) -> impl fmt::Display {
    id.as_str().escape_debug()
}

/// Returns an order of the tasks' steps, two for each task, that satisfies the parent relations.
pub(crate) fn ordered_parts(count: usize, tree: Option<&Tree>, edges: &[(usize, usize)]) -> Order {
    let mut steps: Vec<(usize, usize)> = (0..count).map(|place| (end(place), begin(place))).collect();
    let parts = (0..count).filter_map(|place| Some((place, tree?.above(place)?)));
    steps.extend(parts.flat_map(|(part, parent)| [(begin(part), begin(parent)), (end(parent), end(part))]));
    let is_new = |(task, on): &&(usize, usize)| !tree.is_some_and(|tree| tree.is_below(*on, *task));
    let all: Vec<(usize, usize)> =
        steps.iter().copied().chain(edges.iter().filter(is_new).map(|(task, on)| (begin(*task), end(*on)))).collect();
    let mut order = Order::of(count * 2, &all);
    for (task, on) in steps {
        // A tree has no cycles, so no edge is rejected.
        let _ = order.add(task, on);
    }
    order
}

impl Examination<'_> {
    /// Reports each missing parent once, however many parts it has.
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
                [part] => format!("task {} is a part of {}, which does not exist", shown(part), shown(&parent)),
                parts => {
                    let named: Vec<String> = parts.iter().map(|part| shown(part).to_string()).collect();
                    let named = named.join(", ");
                    format!("tasks {named} are parts of {}, which does not exist", shown(&parent))
                }
            };
            let first = parts[0].clone();
            let mend = Mend::ForgetParent { parts: parts.into_iter().cloned().collect() };
            self.tell(FindingCode::OrphanParent, &first, message, Some(mend));
        }
    }

    /// Reports tasks that are parts of each other.
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

/// Describes a cycle of steps: why each task waits for the next.
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

/// How long the owner of a task may show no signs of life, by default.
pub const OWNER_SILENCE: Duration = Duration::from_secs(24 * 3600);

/// Returns whether a task could remain with an absent owner: it is open and has an owner. Only meaningful for tasks
/// without a lease.
pub fn may_be_abandoned(task: &Task) -> bool {
    task.status.is_open() && !task.is_internal() && task.owner().is_some()
}

/// Returns whether a journal entry is a sign of life of the task's owner: the owner made the change, or received the
/// task in it, or another program, which does not record its actor, changed the task.
pub fn is_sign_of_owner(entry: &Entry, task: &Task) -> bool {
    let Some(owner) = task.owner() else { return false };
    let is_owners = |name: &str| is_same_agent(name, owner);
    let has_it = |image: &Option<Image>| {
        let task = image.as_ref().and_then(|image| image.task(&entry.task).ok());
        task.is_some_and(|task| task.owner().is_some_and(is_owners))
    };
    if is_owners(entry.actor.as_str()) {
        return entry.op != Op::Expire;
    }
    entry.task == task.id && (is_of_another_program(entry) || has_it(&entry.after) && !has_it(&entry.before))
}

/// Returns whether another program made the change. The entry's time is then when the change was noticed, not when it
/// was made.
pub fn is_of_another_program(entry: &Entry) -> bool {
    matches!(entry.op, Op::CreatedElsewhere | Op::ChangedElsewhere)
}

/// Judges the owner of a task without a lease, given its last sign of life. Returns a defect if the owner has been
/// silent for at least `silence`.
pub fn judge_owner(task: &Task, last_sign: Timestamp, now: Timestamp, silence: Duration) -> Option<Defect> {
    let owner = task.owner().filter(|_| may_be_abandoned(task))?;
    let silent_for = Duration::from_millis(u64::try_from(now.0.saturating_sub(last_sign.0)).unwrap_or_default());
    (silent_for >= silence).then(|| Defect {
        code: FindingCode::StaleOwner,
        task: task.id.clone(),
        message: format!(
            "task {} belongs to {}, who has no lease on it and has been silent since {last_sign}",
            task.id.as_str().escape_debug(),
            owner.escape_debug()
        ),
        mend: Some(Mend::Release { task: task.id.clone(), owner: Some(owner.to_owned()) }),
    })
}

/// Returns whether a task may be in progress for a client session that is not recorded anywhere: the client's own tools
/// set no owner and take no lease.
pub fn may_be_of_ended_session(task: &Task) -> bool {
    task.status == Status::InProgress && !task.is_internal() && task.owner().is_none()
}

/// How far, in milliseconds, two clocks of one machine may disagree about when a client started.
const CLOCK_DIFFERENCE: i64 = 2_000;

/// Returns whether one of the running clients was already running when a file was written, so that it may have written
/// it. `clients` are their start times in milliseconds since boot.
pub fn ran_when_written(written: Timestamp, now: &Moment, clients: &[i64]) -> bool {
    let age = now.wall.0.saturating_sub(written.0);
    let then = now.since_boot.saturating_sub(age).saturating_add(CLOCK_DIFFERENCE);
    clients.iter().any(|started| *started <= then)
}

/// Returns the defect of a task that is in progress for a session that has ended. It is repaired automatically only if
/// `is_free`.
pub fn of_ended_session(task: &Task, written: Timestamp, is_free: bool) -> Defect {
    let id = task.id.as_str().escape_debug();
    Defect {
        code: FindingCode::StaleOwner,
        task: task.id.clone(),
        message: format!(
            "task {id} is in progress for a session that has ended: it was last written at {written}, and no Claude Code \
             process from that time is still running"
        ),
        mend: is_free.then(|| Mend::Release { task: task.id.clone(), owner: None }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use serde_json::json;

    use super::examine;
    use crate::rules::health::FindingCode;
    use crate::rules::health::defects::{Mend, mend};
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
        assert_eq!(message, "task 2 waits for 1, which does not list it as a dependent");
        let (_, _, fix) = one(&[task(1, &[], &[2]), task(2, &[], &[])]);
        assert_eq!(fix, "add 1 to the blockedBy of 2");
    }

    #[test]
    fn one_sided_edge_that_would_close_a_cycle_is_dropped() {
        let (_, _, fix) = one(&[task(1, &[2], &[2]), task(2, &[], &[1])]);
        assert_eq!(fix, "remove 2 from the blocks of 1");
        let fixes: Vec<String> =
            told(&[task(1, &[], &[2]), task(2, &[], &[1])]).into_iter().map(|(_, _, fix)| fix).collect();
        assert_eq!(fixes, ["add 1 to the blockedBy of 2", "remove 1 from the blocks of 2"]);
    }

    #[test]
    fn an_edge_to_no_task_is_taken_out() {
        let (code, _, fix) = one(&[task(2, &[7], &[])]);
        assert_eq!((code.as_str(), fix.as_str()), ("dangling_edge", "remove 7 from the blockedBy of 2"));
        let (_, _, fix) = one(&[task(2, &[], &[7])]);
        assert_eq!(fix, "remove 7 from the blocks of 2");
    }

    #[test]
    fn many_edges_to_one_task_that_is_not_there_are_one_finding() {
        let tasks = [task(1, &[7], &[]), task(2, &[7], &[7]), task(3, &[7], &[8]), task(4, &[], &[8])];
        let told = told(&tasks);
        let (codes, fixes): (Vec<_>, Vec<_>) = told.iter().map(|(code, _, fix)| (code.as_str(), fix.as_str())).unzip();
        assert_eq!(codes, ["dangling_edge"; 2]);
        assert_eq!(
            fixes,
            ["remove 7 from the blockedBy of 1, 2, 3 and the blocks of 2", "remove 8 from the blocks of 3, 4"]
        );
        assert_eq!(told[0].1, "tasks 1, 2, 3 wait for 7 and task 2 lists 7 as a dependent, which does not exist");
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
        assert_eq!((code.as_str(), fix.as_str()), ("self_edge", "remove the dependency of 2 on 2"));
        assert_eq!(one(&[task(2, &[], &[2])]).0, FindingCode::SelfEdge);
    }

    #[test]
    fn a_circle_is_shown_and_cut_where_its_lowest_number_waits() {
        let tasks = [task(1, &[2], &[3]), task(2, &[3], &[1]), task(3, &[1], &[2]), task(4, &[], &[])];
        let (code, message, fix) = one(&tasks);
        assert_eq!((code.as_str(), fix.as_str()), ("cycle", "remove the dependency of 1 on 2"));
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
        assert_eq!(fixes[29_999], "remove 1 from the blocks of 30000");
        // The same in reverse order.
        let tasks: Vec<Task> = (first..last).map(|number| task(number + 1, &[], &[number])).collect();
        assert_eq!(told(&tasks).len(), 29_999);
    }

    #[test]
    fn taken_id_is_told_apart_from_unused_one() {
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

#[cfg(test)]
mod families_tests {
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
        assert_eq!((code.as_str(), fix.as_str()), ("cycle", "remove the dependency of 2 on 1"));
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
            ["task 3 is a part of 8, which does not exist", "tasks 1, 2, 4 are parts of 9, which does not exist"]
        );
        assert_eq!(told[1].2, "remove the parent from the metadata of 1, 2, 4");
    }
}

#[cfg(test)]
mod owners_tests {
    use super::{OWNER_SILENCE, judge_owner, may_be_of_ended_session, ran_when_written};
    use crate::rules::health::FindingCode;
    use crate::{Moment, Status, Task, TaskId, Timestamp};

    fn owned(status: Status) -> Task {
        Task { owner: Some("ana".into()), status, ..Task::new(TaskId::number(1), "one") }
    }

    #[test]
    fn an_owner_is_stale_after_a_day_without_a_sign_of_life() {
        let day = i64::try_from(OWNER_SILENCE.as_millis()).unwrap();
        for status in [Status::Pending, Status::InProgress] {
            let judge = |now| judge_owner(&owned(status), Timestamp(5), Timestamp(now), OWNER_SILENCE);
            assert_eq!(judge(day + 4), None);
            let defect = judge(day + 5).unwrap();
            assert_eq!(defect.code, FindingCode::StaleOwner);
            assert_eq!(defect.mend.unwrap().describe(), "release 1: it becomes pending and has no owner");
        }
    }

    #[test]
    fn client_that_started_later_did_not_write_it() {
        let now = Moment { wall: Timestamp(1_000_000), boot: "b".into(), since_boot: 500_000 };
        let written = Timestamp(900_000);
        assert!(!ran_when_written(written, &now, &[]));
        assert!(ran_when_written(written, &now, &[450_000, 399_000]), "started a second before");
        assert!(!ran_when_written(written, &now, &[450_000]), "started fifty seconds after");
        assert!(ran_when_written(written, &now, &[401_000]), "clocks differ");
    }

    #[test]
    fn only_unowned_work_in_progress_may_be_of_a_session() {
        let unowned = |status| Task { status, ..Task::new(TaskId::number(1), "one") };
        assert!(may_be_of_ended_session(&unowned(Status::InProgress)));
        assert!(!may_be_of_ended_session(&unowned(Status::Pending)));
        assert!(!may_be_of_ended_session(&owned(Status::InProgress)));
    }

    #[test]
    fn what_is_done_or_nobodys_has_no_stale_owner() {
        let never = Timestamp(i64::MAX);
        assert_eq!(judge_owner(&owned(Status::Completed), Timestamp(0), never, OWNER_SILENCE), None);
        assert_eq!(judge_owner(&Task::new(TaskId::number(1), "one"), Timestamp(0), never, OWNER_SILENCE), None);
        assert_eq!(judge_owner(&owned(Status::Pending), never, Timestamp(0), OWNER_SILENCE), None, "clocks go back");
    }
}
