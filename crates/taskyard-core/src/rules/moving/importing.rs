//! Imports tasks from another program's files into a list.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use serde_json::{Map, Value};

use crate::dialect::foreign::{ImportFormat, Imported, Loss};
use crate::dialect::macf::{set_parent, with_marks};
use crate::rules::changes::numbering::keep_numbers;
use crate::rules::graph::circles::find_circle;
use crate::rules::graph::dependencies::{Edge, find_cycle, tangled};
use crate::{Metadata, Task, TaskId};

/// The metadata key under which a task records its origin.
pub(crate) const MARK: &str = "imported";

/// The key in that record for the task's blockers in the source that were not imported.
pub(crate) const ABSENT: &str = "waitsFor";

/// Returns whether a task was imported from a format.
pub fn came_from(task: &Task, format: &str) -> bool {
    task.meta(MARK).and_then(|mark| mark.get("from")).and_then(Value::as_str) == Some(format)
}

/// The origin of imported tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The format of the source.
    pub format: ImportFormat,
    /// The name that identifies the source: its path, or a name given by the user.
    pub name: String,
}

/// The changes that an import makes to a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportPlan {
    /// The new tasks, with their ids in this list.
    pub created: Vec<Task>,
    /// The tasks that were imported before and change.
    pub updated: Vec<Task>,
    /// The tasks that were imported before and already match the source.
    pub unchanged: Vec<TaskId>,
    /// Each task's id in the source and in this list, in the order of the source.
    pub mapping: Vec<(TaskId, TaskId)>,
    /// What could not be imported.
    pub losses: Vec<Loss>,
}

/// Plans an import, given the tasks of the list and one new id for each incoming task.
///
/// A task that was imported from the same source before is updated. Anything that the source does not mention is kept,
/// including edges to tasks from elsewhere. A number that this list has not used yet is kept.
pub fn plan_import(tasks: &[Task], imported: &Imported, source: &Source, new_ids: &[TaskId]) -> ImportPlan {
    let here: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let known: HashMap<&str, &TaskId> = tasks.iter().filter_map(|task| Some((source.id_of(task)?, &task.id))).collect();
    let mapping = mapping(imported, &known, new_ids);
    let new_id: HashMap<&TaskId, &TaskId> = mapping.iter().map(|(from, to)| (from, to)).collect();
    let mut plan = ImportPlan { losses: imported.losses.clone(), ..ImportPlan::default() };
    let edges = edges(imported, &new_id, tasks, &mut plan.losses);

    let mut after: HashMap<TaskId, Task> = HashMap::new();
    for task in &imported.tasks {
        let id = new_id[&task.id];
        let arriving = arriving(task, id, here.get(id).copied(), source, &new_id, &mut plan.losses);
        after.insert(id.clone(), arriving);
    }
    let came: HashSet<&TaskId> = new_id.values().copied().collect();
    // A checklist without any edges does not state that there are none.
    if !(edges.is_empty() && source.may_be_without_edges()) {
        connect(&mut after, &came, &edges);
    }

    cut_circles(tasks, &mut after, &edges, &mapping, &mut plan.losses);

    for (_, id) in &mapping {
        let Some(task) = after.remove(id) else { continue };
        match here.get(id) {
            None => plan.created.push(task),
            Some(before) if **before == task => plan.unchanged.push(id.clone()),
            Some(_) => plan.updated.push(task),
        }
    }
    plan.mapping = mapping;
    plan
}

impl Source {
    /// Returns the id that a task has in this source, or `None` if it was not imported from it.
    pub fn id_of<'a>(&self, task: &'a Task) -> Option<&'a str> {
        let mark = task.meta(MARK)?;
        let is_here = mark.get("from")?.as_str() == Some(self.format.as_str())
            && (self.format.has_global_ids() || mark.get("source").and_then(Value::as_str) == Some(&self.name));
        is_here.then(|| mark.get("id")?.as_str()).flatten()
    }

    /// Returns the record of a task's origin, including the origin recorded before.
    fn mark(&self, task: &Task, new_id: &HashMap<&TaskId, &TaskId>) -> Value {
        let mut mark = Map::new();
        mark.insert("from".to_owned(), self.format.as_str().into());
        mark.insert("source".to_owned(), self.name.as_str().into());
        mark.insert("id".to_owned(), task.id.as_str().into());
        // When the task is exported back, it depends again on blockers that were not imported.
        let absent: Vec<&str> =
            task.blocked_by.iter().filter(|on| !new_id.contains_key(on)).map(TaskId::as_str).collect();
        if !absent.is_empty() {
            mark.insert(ABSENT.to_owned(), absent.into());
        }
        if let Some(before) = task.meta(MARK) {
            mark.insert("before".to_owned(), before.clone());
        }
        Value::Object(mark)
    }
}

/// Maps each task to its id in this list: the one it already has here, its own number if that is free, or a new one.
fn mapping(imported: &Imported, known: &HashMap<&str, &TaskId>, new_ids: &[TaskId]) -> Vec<(TaskId, TaskId)> {
    let here = |task: &Task| known.get(task.id.as_str()).map(|id| (*id).clone());
    let new: Vec<Option<&TaskId>> =
        imported.tasks.iter().filter(|task| here(task).is_none()).map(|task| Some(&task.id)).collect();
    let mut given = keep_numbers(&new, new_ids).into_iter();
    let pairs = imported.tasks.iter().filter_map(|task| Some((task.id.clone(), here(task).or_else(|| given.next())?)));
    pairs.collect()
}

/// Returns the edges in terms of this list's ids, without invalid ones.
fn edges(imported: &Imported, new_id: &HashMap<&TaskId, &TaskId>, tasks: &[Task], losses: &mut Vec<Loss>) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    let mut seen: HashSet<Edge> = HashSet::new();
    let mut lose = |of: &TaskId, what: String| losses.push(Loss { of: of.as_str().to_owned(), what });
    let waits = imported.tasks.iter().flat_map(|task| task.blocked_by.iter().map(|on| (&task.id, on)));
    let awaited = imported.tasks.iter().flat_map(|task| task.blocks.iter().map(|waiting| (waiting, &task.id)));
    for (waiting, on) in waits.chain(awaited) {
        match (new_id.get(waiting), new_id.get(on)) {
            _ if waiting == on => lose(waiting, "it waits for itself".to_owned()),
            (Some(waiting), Some(on)) => {
                let edge = Edge::new((*waiting).clone(), (*on).clone());
                if seen.insert(edge.clone()) {
                    edges.push(edge);
                }
            }
            (Some(_), None) => lose(waiting, format!("it waits for {on}, which does not exist")),
            (None, _) => lose(on, format!("{waiting} waits for it, but does not exist")),
        }
    }
    let came: HashSet<&TaskId> = new_id.values().copied().collect();
    let staying = |task: &Task| {
        let stays = |on: &&TaskId| !(came.contains(&task.id) && came.contains(on));
        task.blocked_by.iter().filter(stays).cloned().collect()
    };
    let there: HashMap<&TaskId, Vec<TaskId>> = tasks.iter().map(|task| (&task.id, staying(task))).collect();
    let blockers_of = |id: &TaskId| Ok::<_, Infallible>(there.get(id).cloned().unwrap_or_default());
    loop {
        let suspect = in_or_behind_circles(&there, &edges);
        let suspects: Vec<Edge> =
            edges.iter().filter(|edge| suspect.contains(&edge.task) && suspect.contains(&edge.on)).cloned().collect();
        let Ok(Some(circle)) = find_cycle(&suspects, blockers_of) else { break };
        let steps: HashSet<(&TaskId, &TaskId)> = circle.windows(2).map(|pair| (&pair[0], &pair[1])).collect();
        let Some(place) = edges.iter().rposition(|edge| steps.contains(&(&edge.task, &edge.on))) else { break };
        let closing = edges.remove(place);
        let way: Vec<String> = circle.iter().map(|id| format!("#{id}")).collect();
        let there = new_id.iter().find(|(_, id)| ***id == closing.task).map_or(&closing.task, |(from, _)| *from);
        lose(there, format!("waiting for #{} would create the cycle {}", closing.on, way.join(" → ")));
    }
    edges
}

/// Returns the tasks that may be in a cycle. For nearly every import there are none, which one pass finds out.
fn in_or_behind_circles(there: &HashMap<&TaskId, Vec<TaskId>>, edges: &[Edge]) -> HashSet<TaskId> {
    let mut blockers: HashMap<TaskId, Vec<TaskId>> = there
        .iter()
        .map(|(id, on)| ((*id).clone(), on.iter().filter(|on| there.contains_key(on)).cloned().collect()))
        .collect();
    for edge in edges {
        blockers.entry(edge.on.clone()).or_default();
        blockers.entry(edge.task.clone()).or_default().push(edge.on.clone());
    }
    tangled(&blockers)
}

/// Returns a task as it arrives. Its edges to other incoming tasks are added later.
fn arriving(
    task: &Task,
    id: &TaskId,
    before: Option<&Task>,
    source: &Source,
    new_id: &HashMap<&TaskId, &TaskId>,
    losses: &mut Vec<Loss>,
) -> Task {
    let mut moved = task.clone();
    if let Some(parent) = task.parent() {
        match new_id.get(&parent) {
            _ if parent == task.id => {
                set_parent(&mut moved, None);
                losses.push(Loss { of: task.id.as_str().to_owned(), what: "it is a part of itself".to_owned() });
            }
            Some(same) if **same == parent => {}
            Some(other) => set_parent(&mut moved, Some(other)),
            None => {
                set_parent(&mut moved, None);
                losses.push(Loss {
                    of: task.id.as_str().to_owned(),
                    what: format!("its parent {parent} does not exist"),
                });
            }
        }
    }
    let mut said: Metadata = moved.metadata.take().unwrap_or_default();
    said.insert(MARK.to_owned(), source.mark(task, new_id));
    let mut metadata = before.and_then(|before| before.metadata.clone()).unwrap_or_default();
    // A task no longer cancelled in the source is not cancelled here, and data kept for the source is replaced by the
    // source.
    for key in ["cancelled", source.format.as_str()] {
        if !said.contains_key(key) {
            metadata.shift_remove(key);
        }
    }
    metadata.extend(said);
    let translated = |ids: &[TaskId]| ids.iter().filter_map(|id| new_id.get(id)).map(|id| (*id).clone()).collect();
    let mut extra = before.map(|before| before.extra.clone()).unwrap_or_default();
    extra.extend(task.extra.clone());
    let mut arrived = Task {
        id: id.clone(),
        stated_id: before.and_then(|before| before.stated_id.clone()),
        owner: task.owner.clone().or_else(|| before.filter(|_| source.is_without_owners())?.owner.clone()),
        active_form: task.active_form.clone().or_else(|| before?.active_form.clone()),
        blocks: before.map_or_else(|| translated(&task.blocks), |before| before.blocks.clone()),
        blocked_by: before.map_or_else(|| translated(&task.blocked_by), |before| before.blocked_by.clone()),
        metadata: Some(metadata),
        extra,
        ..moved
    };
    // The marks before the title contain task numbers.
    if let Some(subject) = with_marks(task, &arrived, None) {
        arrived.subject = subject;
    }
    arrived
}

impl Source {
    /// Returns whether the format cannot express an owner, so that a missing owner means nothing.
    fn is_without_owners(&self) -> bool {
        matches!(self.format, ImportFormat::Markdown | ImportFormat::Todos | ImportFormat::Taskwarrior)
    }

    /// Returns whether files in this format usually contain no dependencies.
    fn may_be_without_edges(&self) -> bool {
        matches!(self.format, ImportFormat::Markdown | ImportFormat::Todos)
    }
}

/// Writes the edges to both ends. Edges among imported tasks are replaced by those of the source; all others are kept.
fn connect(after: &mut HashMap<TaskId, Task>, came: &HashSet<&TaskId>, edges: &[Edge]) {
    let said: HashSet<(&TaskId, &TaskId)> = edges.iter().map(|edge| (&edge.task, &edge.on)).collect();
    for task in after.values_mut() {
        let id = task.id.clone();
        task.blocked_by.retain(|on| !came.contains(on) || said.contains(&(&id, on)));
        task.blocks.retain(|waiting| !came.contains(waiting) || said.contains(&(waiting, &id)));
    }
    for edge in edges {
        if let Some(task) = after.get_mut(&edge.task) {
            add(&mut task.blocked_by, &edge.on);
        }
        if let Some(task) = after.get_mut(&edge.on) {
            add(&mut task.blocks, &edge.task);
        }
    }
}

fn add(ids: &mut Vec<TaskId>, id: &TaskId) {
    if !ids.contains(id) {
        ids.push(id.clone());
    }
}

/// Removes the edges and parents that close a cycle through edges and parts together, and records each as a loss.
pub(crate) fn cut_circles(
    tasks: &[Task],
    after: &mut HashMap<TaskId, Task>,
    edges: &[Edge],
    mapping: &[(TaskId, TaskId)],
    losses: &mut Vec<Loss>,
) {
    let parts: Vec<TaskId> = mapping
        .iter()
        .map(|(_, id)| id)
        .filter(|id| after.get(id).is_some_and(|task| task.parent().is_some()))
        .cloned()
        .collect();
    if parts.is_empty() && tasks.iter().all(|task| task.parent().is_none()) {
        return;
    }
    loop {
        let stay = tasks.iter().filter(|task| !after.contains_key(&task.id));
        let all: Vec<Task> = stay.chain(after.values()).cloned().collect();
        let Some(circle) = find_circle(&all, edges, &parts) else { return };
        // The first step of the cycle is a new one.
        let [first, second, ..] = &circle[..] else { return };
        let waits = after.get(first).is_some_and(|task| task.blocked_by.contains(second));
        let is_part = |part: &TaskId, of: &TaskId| after.get(part).and_then(Task::parent).as_ref() == Some(of);
        let way = circle.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(" → ");
        let (of, what) = if waits {
            (first.clone(), format!("waiting for #{second} would create the cycle {way}"))
        } else if is_part(first, second) {
            (first.clone(), format!("being a part of #{second} would create the cycle {way}"))
        } else {
            (second.clone(), format!("being a part of #{first} would create the cycle {way}"))
        };
        let Some(task) = after.get_mut(&of) else { return };
        match waits {
            true => task.blocked_by.retain(|id| id != second),
            false => set_parent(task, None),
        }
        if waits && let Some(blocker) = after.get_mut(second) {
            blocker.blocks.retain(|id| *id != of);
        }
        let source = mapping.iter().find(|(_, id)| *id == of).map_or(&of, |(from, _)| from);
        losses.push(Loss { of: source.as_str().to_owned(), what });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ImportPlan, Source, plan_import};
    use crate::dialect::foreign::{ImportFormat, Imported};
    use crate::{Status, Task, TaskId};

    fn source(format: ImportFormat) -> Source {
        Source { format, name: "/tasks.json".to_owned() }
    }

    fn task(id: &str, on: &[&str]) -> Task {
        let blocked_by = on.iter().copied().map(TaskId::stored).collect();
        Task { blocked_by, ..Task::new(TaskId::stored(id), format!("task {id}")) }
    }

    fn plan(here: &[Task], tasks: &[Task], format: ImportFormat) -> ImportPlan {
        let first = here.iter().filter_map(|task| task.id.as_number()).max().unwrap_or(0) + 1;
        let new_ids: Vec<TaskId> = (first..).map(TaskId::number).take(tasks.len()).collect();
        plan_import(here, &Imported::of(tasks.to_vec()), &source(format), &new_ids)
    }

    #[test]
    fn edges_and_parents_follow_the_new_ids() {
        let mut part = task("bd-2", &["bd-1"]);
        part.metadata = json!({"parent": "bd-3"}).as_object().cloned();
        let plan = plan(&[task("1", &[])], &[task("bd-1", &[]), part, task("bd-3", &[])], ImportFormat::Beads);
        let [one, two, three] = plan.created.as_slice() else { panic!("{plan:?}") };
        assert_eq!((one.id.as_str(), two.id.as_str()), ("2", "3"));
        assert_eq!((&two.blocked_by, &one.blocks), (&vec![one.id.clone()], &vec![two.id.clone()]));
        assert_eq!(two.parent(), Some(three.id.clone()));
        assert_eq!(two.meta("imported"), Some(&json!({"from": "beads", "source": "/tasks.json", "id": "bd-2"})));
    }

    #[test]
    fn import_updates_known_tasks_and_keeps_other_fields() {
        let mut here = plan(&[], &[task("a", &[]), task("b", &["a"])], ImportFormat::Beads).created;
        here.push(task("3", &[]));
        here[1].blocked_by.push(TaskId::number(3));
        here[2].blocks.push(TaskId::number(2));
        here[1].metadata.as_mut().unwrap().insert("own".into(), json!(1));
        let again = [task("a", &[]), Task { status: Status::Completed, ..task("b", &[]) }];
        let plan = plan(&here, &again, ImportFormat::Beads);
        assert_eq!(plan.created, []);
        let [a, b] = plan.updated.as_slice() else { panic!("{plan:?}") };
        assert_eq!((b.status, b.meta("own")), (Status::Completed, Some(&json!(1))));
        assert_eq!((&a.blocks, &b.blocked_by), (&vec![], &vec![TaskId::number(3)]));
    }

    #[test]
    fn the_same_again_changes_nothing() {
        let tasks = [task("7", &[]), task("9", &["7"]), task("x", &["9", "7"])];
        let here = plan(&[], &tasks, ImportFormat::Native).created;
        let plan = plan(&here, &tasks, ImportFormat::Native);
        assert_eq!((plan.created.len(), plan.updated.len(), plan.unchanged.len()), (0, 0, 3));
    }

    #[test]
    fn a_number_that_is_free_is_kept() {
        let plan = plan(&[task("5", &[])], &[task("3", &[]), task("8", &[]), task("x", &[])], ImportFormat::Native);
        let ids: Vec<&str> = plan.mapping.iter().map(|(_, id)| id.as_str()).collect();
        assert_eq!(ids, ["9", "8", "10"]);
    }

    #[test]
    fn the_same_ids_from_another_file_are_other_tasks() {
        let here = plan(&[], &[task("1", &[])], ImportFormat::Taskmaster).created;
        let other = Source { format: ImportFormat::Taskmaster, name: "/other.json".to_owned() };
        let plan = plan_import(&here, &Imported::of(vec![task("1", &[])]), &other, &[TaskId::number(2)]);
        assert_eq!((plan.created.len(), plan.updated.len()), (1, 0));
    }

    #[test]
    fn edges_that_cannot_be_are_told_of() {
        let tasks = [task("a", &["b"]), task("b", &["c"]), task("c", &["a", "c", "gone"])];
        let plan = plan(&[], &tasks, ImportFormat::Beads);
        assert_eq!(plan.losses.len(), 3, "{:?}", plan.losses);
        let edges: usize = plan.created.iter().map(|task| task.blocked_by.len()).sum();
        assert_eq!(edges, 2);
    }

    #[test]
    fn a_circle_through_tasks_that_were_here_is_not_closed() {
        let mut here = plan(&[], &[task("a", &[]), task("b", &[])], ImportFormat::Beads).created;
        here.push(task("3", &["2"]));
        here[0].blocked_by.push(TaskId::number(3));
        let plan = plan(&here, &[task("a", &[]), task("b", &["a"])], ImportFormat::Beads);
        assert_eq!((plan.updated.len(), plan.losses.len()), (0, 1), "{plan:?}");
    }

    #[test]
    fn a_checklist_without_edges_leaves_them_as_they_are() {
        let mut here = plan(&[], &[task("a", &[]), task("b", &[])], ImportFormat::Todos).created;
        here[1].blocked_by.push(TaskId::number(1));
        here[0].blocks.push(TaskId::number(2));
        let plan = plan(&here, &[task("a", &[]), task("b", &[])], ImportFormat::Todos);
        assert_eq!(plan.unchanged.len(), 2, "{plan:?}");
    }
}

#[cfg(test)]
mod import_circles_tests {
    use serde_json::json;

    use crate::dialect::foreign::{ImportFormat, Imported};
    use crate::rules::moving::importing::{ImportPlan, Source, plan_import};
    use crate::{Task, TaskId};

    fn part(id: &str, parent: &str, on: &[&str]) -> Task {
        Task {
            blocked_by: on.iter().copied().map(TaskId::stored).collect(),
            metadata: (!parent.is_empty())
                .then(|| json!({ "parent": parent }))
                .and_then(|value| value.as_object().cloned()),
            ..Task::new(TaskId::stored(id), id)
        }
    }

    fn plan(tasks: Vec<Task>) -> ImportPlan {
        let new_ids: Vec<TaskId> = (1..).map(TaskId::number).take(tasks.len()).collect();
        let source = Source { format: ImportFormat::Beads, name: "/tasks".to_owned() };
        plan_import(&[], &Imported::of(tasks), &source, &new_ids)
    }

    fn losses(plan: &ImportPlan) -> Vec<(&str, &str)> {
        plan.losses.iter().map(|loss| (loss.of.as_str(), loss.what.as_str())).collect()
    }

    #[test]
    fn a_part_that_waits_for_its_parent_does_so_no_longer() {
        let plan = plan(vec![part("a", "", &[]), part("b", "a", &["a"])]);
        assert_eq!(losses(&plan), [("b", "waiting for #1 would create the cycle #2 → #1 → #2")]);
        assert_eq!((&plan.created[1].blocked_by, &plan.created[0].blocks), (&vec![], &vec![]));
        assert_eq!(plan.created[1].parent(), Some(TaskId::number(1)));
    }

    #[test]
    fn nobody_is_a_part_of_itself_or_of_its_parts() {
        let plan = plan(vec![part("a", "b", &[]), part("b", "a", &[]), part("c", "c", &[])]);
        assert_eq!(
            losses(&plan),
            [("c", "it is a part of itself"), ("a", "being a part of #2 would create the cycle #1 → #2 → #1")]
        );
        let parents: Vec<Option<TaskId>> = plan.created.iter().map(Task::parent).collect();
        assert_eq!(parents, [None, Some(TaskId::number(1)), None]);
    }
}
