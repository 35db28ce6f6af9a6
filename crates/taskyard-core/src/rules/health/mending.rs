//! How defects of tasks are mended.

use std::collections::BTreeMap;

use crate::dialect::macf::set_parent;
use crate::rules::agents::departing::given_back;
use crate::{Task, TaskId};

/// How a defect of one task can be mended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mend {
    /// An id is added to the tasks that wait for this one.
    AddBlocks {
        /// The task to change.
        task: TaskId,
        /// The task that waits for it.
        id: TaskId,
    },
    /// An id is added to the tasks this one waits for.
    AddBlockedBy {
        /// The task to change.
        task: TaskId,
        /// The task it waits for.
        id: TaskId,
    },
    /// An id is taken out of the tasks that wait for this one.
    RemoveBlocks {
        /// The task to change.
        task: TaskId,
        /// The id that goes.
        id: TaskId,
    },
    /// Every edge to a task that is not there is taken away.
    ForgetMissing {
        /// The task that is not there.
        id: TaskId,
        /// The tasks that wait for it.
        waiting: Vec<TaskId>,
        /// The tasks that say that it waits for them.
        awaited: Vec<TaskId>,
    },
    /// Ids that stand twice in an edge array stand once.
    Deduplicate {
        /// The task to change.
        task: TaskId,
    },
    /// An edge is taken away at both ends.
    Disconnect {
        /// The task that waits.
        task: TaskId,
        /// The task it waits for.
        on: TaskId,
    },
    /// The id in the file becomes the file's name.
    RewriteId {
        /// The task to change.
        task: TaskId,
    },
    /// Tasks are no longer parts of another.
    ForgetParent {
        /// The tasks to change.
        parts: Vec<TaskId>,
    },
    /// The task is pending again, and without an owner.
    Release {
        /// The task to change.
        task: TaskId,
        /// Whose it is no more; `None` if it is in progress and names no owner.
        owner: Option<String>,
    },
}

impl Mend {
    /// Says in words what would be done.
    pub fn describe(&self) -> String {
        match self {
            Self::AddBlocks { task, id } => format!("add {id} to the blocks of {task}"),
            Self::AddBlockedBy { task, id } => format!("add {id} to the blockedBy of {task}"),
            Self::RemoveBlocks { task, id } => format!("take {id} out of the blocks of {task}"),
            Self::ForgetMissing { id, waiting, awaited } => {
                let of = |key: &str, tasks: &[TaskId]| {
                    let tasks: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
                    (!tasks.is_empty()).then(|| format!("the {key} of {}", tasks.join(", ")))
                };
                let places: Vec<String> = of("blockedBy", waiting).into_iter().chain(of("blocks", awaited)).collect();
                format!("take {id} out of {}", places.join(" and "))
            }
            Self::Deduplicate { task } => format!("name each task once in the edges of {task}"),
            Self::Disconnect { task, on } => format!("let {task} no longer wait for {on}"),
            Self::RewriteId { task } => format!("write {task} as the id into its file"),
            Self::ForgetParent { parts } => {
                let parts: Vec<&str> = parts.iter().map(TaskId::as_str).collect();
                format!("take the parent out of the metadata of {}", parts.join(", "))
            }
            Self::Release { task, .. } => format!("release {task}: it is pending again, and nobody's"),
        }
    }
}

/// Mends one defect among the tasks of a list, and returns which of them changed; none where there is nothing to mend.
pub fn mend(tasks: &mut BTreeMap<TaskId, Task>, mend: &Mend) -> Vec<TaskId> {
    match mend {
        Mend::AddBlocks { task, id } => change(tasks, task, |task| add(&mut task.blocks, id)),
        Mend::AddBlockedBy { task, id } => change(tasks, task, |task| add(&mut task.blocked_by, id)),
        Mend::RemoveBlocks { task, id } => change(tasks, task, |task| task.blocks.retain(|other| other != id)),
        Mend::ForgetMissing { id, waiting, awaited } => {
            let mut changed = Vec::new();
            for task in waiting {
                changed.extend(change(tasks, task, |task| task.blocked_by.retain(|other| other != id)));
            }
            for task in awaited {
                for task in change(tasks, task, |task| task.blocks.retain(|other| other != id)) {
                    add(&mut changed, &task);
                }
            }
            changed
        }
        Mend::Deduplicate { task } => change(tasks, task, |task| {
            deduplicate(&mut task.blocks);
            deduplicate(&mut task.blocked_by);
        }),
        Mend::Disconnect { task, on } => {
            let mut changed = change(tasks, task, |task| task.blocked_by.retain(|other| other != on));
            for id in change(tasks, on, |blocker| blocker.blocks.retain(|other| other != task)) {
                add(&mut changed, &id);
            }
            changed
        }
        Mend::RewriteId { task } => change(tasks, task, |task| task.stated_id = None),
        Mend::ForgetParent { parts } => {
            parts.iter().flat_map(|part| change(tasks, part, |task| set_parent(task, None))).collect()
        }
        Mend::Release { task, owner } => change(tasks, task, |task| {
            if task.owner() == owner.as_deref() {
                *task = given_back(task);
            }
        }),
    }
}

fn change(tasks: &mut BTreeMap<TaskId, Task>, id: &TaskId, change: impl FnOnce(&mut Task)) -> Vec<TaskId> {
    let Some(task) = tasks.get_mut(id) else { return Vec::new() };
    let before = task.clone();
    change(task);
    if *task == before { Vec::new() } else { vec![id.clone()] }
}

fn add(ids: &mut Vec<TaskId>, id: &TaskId) {
    if !ids.contains(id) {
        ids.push(id.clone());
    }
}

fn deduplicate(ids: &mut Vec<TaskId>) {
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::{Mend, mend};
    use crate::{Task, TaskId};

    fn id(number: u64) -> TaskId {
        TaskId::number(number)
    }

    fn list() -> BTreeMap<TaskId, Task> {
        let mut one = Task::new(id(1), "one");
        one.blocks = vec![id(2), id(2), id(1)];
        one.blocked_by = vec![id(1)];
        let mut two = Task::new(id(2), "two");
        two.stated_id = Some("22".into());
        two.metadata = json!({ "parent": "9" }).as_object().cloned();
        [one, two].into_iter().map(|task| (task.id.clone(), task)).collect()
    }

    #[test]
    fn each_defect_is_mended_and_nothing_else() {
        let mut tasks = list();
        assert_eq!(mend(&mut tasks, &Mend::Disconnect { task: id(1), on: id(1) }), [id(1)]);
        assert_eq!((&tasks[&id(1)].blocks, &tasks[&id(1)].blocked_by), (&vec![id(2), id(2)], &vec![]));
        assert_eq!(mend(&mut tasks, &Mend::Deduplicate { task: id(1) }), [id(1)]);
        assert_eq!(tasks[&id(1)].blocks, [id(2)]);
        assert_eq!(mend(&mut tasks, &Mend::AddBlockedBy { task: id(2), id: id(1) }), [id(2)]);
        assert_eq!(tasks[&id(2)].blocked_by, [id(1)]);
        mend(&mut tasks, &Mend::RewriteId { task: id(2) });
        mend(&mut tasks, &Mend::ForgetParent { parts: vec![id(2)] });
        assert_eq!((tasks[&id(2)].shown_id(), tasks[&id(2)].parent()), ("2", None));
    }

    #[test]
    fn what_is_mended_already_is_left_alone() {
        let mut tasks = list();
        assert!(mend(&mut tasks, &Mend::AddBlocks { task: id(1), id: id(2) }).is_empty());
        assert!(mend(&mut tasks, &Mend::RemoveBlocks { task: id(2), id: id(7) }).is_empty());
        assert!(mend(&mut tasks, &Mend::RewriteId { task: id(5) }).is_empty());
        assert_eq!(tasks, list());
    }

    #[test]
    fn a_fix_says_what_it_does() {
        assert_eq!(Mend::AddBlocks { task: id(1), id: id(2) }.describe(), "add 2 to the blocks of 1");
    }
}
