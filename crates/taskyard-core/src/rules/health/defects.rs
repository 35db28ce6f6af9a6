//! The kinds of defects that `doctor` reports, and their repairs.

use std::collections::BTreeMap;
use std::fmt;

use crate::dialect::macf::set_parent;
use crate::rules::agents::given_back;
use crate::{Task, TaskId};

/// The kind of a defect reported by `doctor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingCode {
    /// Only one end of an edge states it.
    OneSidedEdge,
    /// An edge leads to a task that does not exist.
    DanglingEdge,
    /// A task depends on itself.
    SelfEdge,
    /// An id occurs more than once in an edge array.
    DoubleEdge,
    /// Tasks form a dependency cycle.
    Cycle,
    /// The id in a file differs from the file's name.
    IdMismatch,
    /// The id in a file belongs to another task.
    DuplicateId,
    /// A task's parent does not exist.
    OrphanParent,
    /// Tasks are parts of each other in a cycle.
    ParentCycle,
    /// An open task's owner has no lease on it and shows no signs of life.
    StaleOwner,
    /// A file is almost a task, but the client ignores it.
    Invisible,
    /// A file among the tasks cannot be parsed as a task.
    Unreadable,
    /// A lock's holder is gone.
    StaleLock,
    /// Something that is not a lock is in a lock's place and would never expire.
    LockInTheWay,
    /// A temporary file is no longer needed by any process.
    Leftover,
    /// `.highwatermark` does not contain a number, or contains one that is too large.
    BadMark,
    /// `.highwatermark` is lower than a number already used.
    MarkTooLow,
    /// A task's number is too large to be incremented.
    NumberTooLarge,
    /// Another program removed every task of the list.
    EmptiedList,
    /// An open task disappeared although no agent deleted it on purpose.
    MissingTask,
    /// Another program overwrote an acknowledged change with stale data.
    TakenBack,
    /// Another program replaced an open task with a different one.
    ReplacedTask,
    /// The list's journal no longer contains what was written to it.
    JournalDamaged,
    /// The journal of a shared store lacks revisions, although it has later ones.
    HistoryGap,
    /// A change in the journal of a shared store was based on a different state than its predecessor left.
    HistoryMismatch,
    /// A shared store returned to an earlier state, or another server took it over.
    WentBack,
    /// A move between this list and another is complete in only one of them.
    UnfinishedMove,
    /// A file was written by a newer version: Taskyard's data on the list, this machine or teams, or a file of tasks.
    NewerFormat,
    /// The list's journal exceeds its size limit.
    LargeJournal,
    /// Taskyard keeps data on lists that no longer exist.
    GoneLists,
    /// The wall clock jumped by more than a month, or backwards. Nothing is pruned until the new time is confirmed.
    ClockInDoubt,
    /// This user is close to the kernel's limit on file watches.
    FewWatches,
    /// A job is recorded as running, but its process is gone.
    JobWithoutProcess,
    /// A team member's process is gone.
    MemberWithoutProcess,
    /// An inbox cannot be parsed.
    TornInbox,
    /// A team's file cannot be parsed.
    TornTeamFile,
    /// An open task has no text to show while it is in progress.
    NoActiveForm,
}

impl FindingCode {
    /// Returns the code used in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneSidedEdge => "one_sided_edge",
            Self::DanglingEdge => "dangling_edge",
            Self::SelfEdge => "self_edge",
            Self::DoubleEdge => "double_edge",
            Self::Cycle => "cycle",
            Self::IdMismatch => "id_mismatch",
            Self::DuplicateId => "duplicate_id",
            Self::OrphanParent => "orphan_parent",
            Self::ParentCycle => "parent_cycle",
            Self::StaleOwner => "stale_owner",
            Self::Invisible => "invisible_task",
            Self::Unreadable => "unreadable",
            Self::StaleLock => "stale_lock",
            Self::LockInTheWay => "lock_in_the_way",
            Self::Leftover => "leftover",
            Self::BadMark => "bad_mark",
            Self::MarkTooLow => "mark_too_low",
            Self::NumberTooLarge => "number_too_large",
            Self::EmptiedList => "emptied_list",
            Self::MissingTask => "missing_task",
            Self::TakenBack => "taken_back",
            Self::ReplacedTask => "replaced_task",
            Self::JournalDamaged => "journal_damaged",
            Self::HistoryGap => "history_gap",
            Self::HistoryMismatch => "history_mismatch",
            Self::WentBack => "database_went_back",
            Self::UnfinishedMove => "unfinished_move",
            Self::NewerFormat => "newer_format",
            Self::LargeJournal => "journal_too_large",
            Self::GoneLists => "gone_lists",
            Self::ClockInDoubt => "clock_in_doubt",
            Self::FewWatches => "inotify_near_limit",
            Self::JobWithoutProcess => "job_without_process",
            Self::MemberWithoutProcess => "member_without_process",
            Self::TornInbox => "torn_inbox",
            Self::TornTeamFile => "torn_team_file",
            Self::NoActiveForm => "no_active_form",
        }
    }

    /// Returns whether this is only a warning: worth knowing, but nothing is broken yet and no repair is needed because
    /// of it.
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::LargeJournal
                | Self::GoneLists
                | Self::ClockInDoubt
                | Self::FewWatches
                | Self::WentBack
                | Self::NoActiveForm
        )
    }

    /// Returns the consequence of leaving the defect unrepaired.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::OneSidedEdge => {
                "one task shows a dependency that the other does not; deleting or completing one misses it"
            }
            Self::DanglingEdge => "the client shows the task as blocked forever, or as blocking an unknown task",
            Self::SelfEdge => "the client never hands the task out: it waits for itself",
            Self::DoubleEdge => "the dependency is shown more than once",
            Self::Cycle => "none of these tasks can ever start",
            Self::IdMismatch => "the client lists it under one id and finds it under the other",
            Self::DuplicateId => "the client lists two tasks under one id, and the id reaches only one of them",
            Self::OrphanParent => "it is shown as a part of a task that does not exist",
            Self::ParentCycle => "none of these tasks appears in the tree",
            Self::StaleOwner => "no one else can take it, and nothing releases it",
            Self::Invisible => "the client treats it as absent: no list shows it, and no call finds it",
            Self::Unreadable => "no program can read a task from it",
            Self::StaleLock => "the client waits for it, then takes it over or gives up",
            Self::LockInTheWay => "under the client's rules it never expires: every program waits for it and gives up",
            Self::Leftover => "it takes up space; the process that wrote it died",
            Self::BadMark => "the client reads it as zero or cannot count on from it, and may assign a number twice",
            Self::MarkTooLow => "the client would give a used number to a new task",
            Self::NumberTooLarge => "the client's next number is the same again, so a new task overwrites this one",
            Self::EmptiedList => "the tasks are gone from the list, but still in the journal",
            Self::MissingTask => "the task is gone from the list, but still in the journal; no one works on it",
            Self::TakenBack => {
                "the other program wrote the whole file from stale data; the agent that made the change was told that it succeeded"
            }
            Self::ReplacedTask => {
                "the task is gone from the list, but still in the journal; references to its number now lead to a different task"
            }
            Self::JournalDamaged => "history, restore and undo are unreliable; the task files are not affected",
            Self::HistoryGap => {
                "these commits are lost; compare the tasks with what the agents report, and redo what is missing"
            }
            Self::HistoryMismatch => {
                "a change was lost, or was based on a lost state; see `taskyard history ID`, and correct the task by hand"
            }
            Self::WentBack => "recently acknowledged changes may be lost; have the agents check their tasks",
            Self::UnfinishedMove => {
                "tasks may be in both lists; no command changes the list they are leaving until this is resolved"
            }
            Self::NewerFormat => "this taskyard does not read or write that file, so nothing in it is lost",
            Self::LargeJournal => "it takes up space; `taskyard gc` thins out old history",
            Self::GoneLists => {
                "they take up space, but `taskyard restore` can bring their tasks back; `taskyard gc` removes old ones"
            }
            Self::ClockInDoubt => {
                "old history is kept until the clock is right again, or until someone confirms the clock with `taskyard gc`"
            }
            Self::FewWatches => {
                "past the limit, a program that watches a list is not notified of changes and polls once a second instead"
            }
            Self::JobWithoutProcess => "it is shown as running, but nothing runs",
            Self::NoActiveForm => {
                "the client shows the title while the task is in progress, and some tools do not recognize the task"
            }
            Self::TornInbox => "no one can write to its owner, and the owner can read nothing",
            Self::TornTeamFile => "the team appears not to exist, and its members appear to be in no team",
            Self::MemberWithoutProcess => {
                "messages to it reach no process, and its tasks stay with a member that is gone"
            }
        }
    }
}

impl fmt::Display for FindingCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A repair of a defect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Mend {
    /// Adds an id to a task's `blocks`.
    AddBlocks {
        /// The task to change.
        task: TaskId,
        /// The dependent to add.
        id: TaskId,
    },
    /// Adds an id to a task's `blockedBy`.
    AddBlockedBy {
        /// The task to change.
        task: TaskId,
        /// The blocker to add.
        id: TaskId,
    },
    /// Removes an id from a task's `blocks`.
    RemoveBlocks {
        /// The task to change.
        task: TaskId,
        /// The id to remove.
        id: TaskId,
    },
    /// Removes every edge to a missing task.
    ForgetMissing {
        /// The missing task.
        id: TaskId,
        /// The tasks that name it as a blocker.
        waiting: Vec<TaskId>,
        /// The tasks that name it as a dependent.
        awaited: Vec<TaskId>,
    },
    /// Removes duplicate ids from a task's edge arrays.
    Deduplicate {
        /// The task to change.
        task: TaskId,
    },
    /// Removes an edge at both ends.
    Disconnect {
        /// The dependent.
        task: TaskId,
        /// The blocker.
        on: TaskId,
    },
    /// Sets the id in the file to the file's name.
    RewriteId {
        /// The task to change.
        task: TaskId,
    },
    /// Removes the parent of tasks.
    ForgetParent {
        /// The tasks to change.
        parts: Vec<TaskId>,
    },
    /// Makes the task pending and removes its owner.
    Release {
        /// The task to change.
        task: TaskId,
        /// The owner to remove, or `None` if the task is in progress without an owner.
        owner: Option<String>,
    },
}

impl Mend {
    /// Describes the repair in words.
    pub fn describe(&self) -> String {
        match self {
            Self::AddBlocks { task, id } => format!("add {id} to the blocks of {task}"),
            Self::AddBlockedBy { task, id } => format!("add {id} to the blockedBy of {task}"),
            Self::RemoveBlocks { task, id } => format!("remove {id} from the blocks of {task}"),
            Self::ForgetMissing { id, waiting, awaited } => {
                let of = |key: &str, tasks: &[TaskId]| {
                    let tasks: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
                    (!tasks.is_empty()).then(|| format!("the {key} of {}", tasks.join(", ")))
                };
                let places: Vec<String> = of("blockedBy", waiting).into_iter().chain(of("blocks", awaited)).collect();
                format!("remove {id} from {}", places.join(" and "))
            }
            Self::Deduplicate { task } => format!("remove duplicate edges of {task}"),
            Self::Disconnect { task, on } => format!("remove the dependency of {task} on {on}"),
            Self::RewriteId { task } => format!("set the id in its file to {task}"),
            Self::ForgetParent { parts } => {
                let parts: Vec<&str> = parts.iter().map(TaskId::as_str).collect();
                format!("remove the parent from the metadata of {}", parts.join(", "))
            }
            Self::Release { task, .. } => format!("release {task}: it becomes pending and has no owner"),
        }
    }
}

/// Applies a repair to the tasks of a list. Returns the ids of the changed tasks, which are none if there was nothing
/// to repair.
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
