//! Whether a missing task was lost, cleared or deleted, according to the journal.

use crate::{Entry, Image, Op, Revision, Task, TaskId, Timestamp};

/// The tasks gone from a list that has no task file left, although no agent deleted them on purpose. Excludes internal
/// tasks and tasks that a client deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Number of open tasks among them.
    pub open: usize,
    /// Number of completed tasks among them. The client clears a list once all of its tasks are completed.
    pub(crate) completed: usize,
    /// What contained the list, if that is gone too.
    pub with: Option<KeptIn>,
    /// When any of them was last known to exist.
    pub(crate) last_seen: Timestamp,
    /// When a reader first found none.
    pub(crate) noticed: Timestamp,
}

/// What contains a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptIn {
    /// A directory, with one file for each task.
    Directory,
    /// A single file.
    File,
}

impl Gone {
    /// Returns whether open tasks were lost, and not only completed ones.
    pub fn is_loss(&self) -> bool {
        self.open > 0
    }
}

/// Describes what is gone from a list without any task file left. `with` is what contained the list, if that is gone
/// too; `last_look` is when a reader last found tasks in it, if known. Returns `None` if nothing is gone.
pub fn gone(missing: &[Removed], with: Option<KeptIn>, last_look: Option<Timestamp>, now: Timestamp) -> Option<Gone> {
    let is_lost = |removed: &&Removed| removed.is_missing() && !removed.is_deleted_elsewhere();
    let visible = || missing.iter().filter(is_lost).filter(|removed| !removed.task.is_internal());
    let open = visible().filter(|removed| removed.task.status.is_open()).count();
    let last_seen = visible().map(|removed| removed.last_seen).max()?;
    // A loss that is not recorded in the journal yet is noticed now.
    let noticed = visible().map(|removed| if removed.entry.after.is_some() { now } else { removed.entry.at }).max()?;
    // A later look found other tasks, which have been deleted since.
    let last_look = last_look.filter(|last_look| *last_look <= noticed);
    let last_seen = last_look.map_or(last_seen, |last_look| last_look.max(last_seen));
    Some(Gone { open, completed: visible().count() - open, with, last_seen, noticed })
}

/// What is left of a list after another program removed a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Other tasks are left.
    Others,
    /// Several tasks were removed at once, and none is left.
    NoneOfSeveral,
    /// It was the only task.
    NoneOfOne {
        /// Whether the task was open. The client clears a list once all of its tasks are completed.
        was_open: bool,
        /// Whether a team was created on this list since the task was last seen. The client resets the list of a new
        /// team.
        is_for_new_team: bool,
    },
}

/// Returns whether another program removed a task in the way Claude Code deletes, given `.highwatermark` and what is
/// left of the list.
///
/// The client raises the mark to the task's number before it deletes the file. It also does so when it resets or clears
/// a list, but then no task is left. `rm` does not change the mark; if the mark was already that high, a single file
/// removed by hand looks like a deletion.
pub fn is_deletion(task: &TaskId, mark: f64, rest: Rest) -> bool {
    let is_marked = task.as_number().is_some_and(|number| number as f64 <= mark);
    is_marked
        && match rest {
            Rest::Others => true,
            Rest::NoneOfSeveral => false,
            Rest::NoneOfOne { was_open, is_for_new_team } => was_open && !is_for_new_team,
        }
}

/// What an entry says about the existence of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The revision of the entry.
    pub revision: Revision,
    /// The operation of the entry.
    pub op: Op,
    /// The revisions that an undo reverted.
    pub undoes: Vec<Revision>,
    /// Whether the file existed before.
    pub was_there: bool,
    /// Whether it was a valid task.
    pub was_task: bool,
    /// Whether the file exists afterwards.
    pub is_there: bool,
}

impl Step {
    /// Returns the step without its states before and after.
    #[must_use]
    pub(crate) fn without_images(&self) -> Self {
        Self { was_there: false, was_task: false, is_there: false, ..self.clone() }
    }
}

impl From<&Entry> for Step {
    fn from(entry: &Entry) -> Self {
        Self {
            revision: entry.revision,
            op: entry.op,
            undoes: entry.undoes.clone(),
            was_there: entry.before.is_some(),
            // Only needed for repairs.
            was_task: entry.op == Op::Mend
                && entry.before.as_ref().is_some_and(|image| image.task(&entry.task).is_ok()),
            is_there: entry.after.is_some(),
        }
    }
}

/// Returns why a task is absent after each entry of its journal, oldest first. `None` means that it exists.
pub fn absences(past: &[Step]) -> Vec<Option<Absence>> {
    let mut now = match past.first() {
        Some(first) if first.was_there => None,
        _ => Some(Absence::Unmade),
    };
    let mut before_each: Vec<(Revision, Option<Absence>)> = Vec::with_capacity(past.len());
    let mut after_each = Vec::with_capacity(past.len());
    for step in past {
        before_each.push((step.revision, now));
        now = match step.op {
            _ if step.is_there => None,
            Op::Delete | Op::Clear => Some(Absence::Deleted),
            Op::Merge | Op::Rename => Some(Absence::Moved),
            // A repair removes files that are not tasks, and the old number of a renumbered task.
            Op::Mend if step.was_task => Some(Absence::Renumbered),
            Op::Undo => Some(after_undo(step, &before_each, now)),
            _ => Some(Absence::Missing),
        };
        after_each.push(now);
    }
    after_each
}

/// Returns why a task is absent after an undo: for the reason that held before the oldest undone revision. If those
/// revisions did not change the reason, neither does the undo, since an agent may have deleted the task on purpose in
/// the meantime.
fn after_undo(undo: &Step, before_each: &[(Revision, Option<Absence>)], now: Option<Absence>) -> Absence {
    let is_undone = |(revision, _): &(Revision, Option<Absence>)| undo.undoes.contains(revision);
    let oldest = before_each.iter().find(|before| is_undone(before)).and_then(|(_, absence)| *absence);
    // The undo itself is last, so every undone revision has a successor.
    let newest = before_each.iter().rposition(is_undone).and_then(|place| before_each.get(place + 1)?.1);
    let absence = if oldest == newest { now } else { oldest };
    absence.unwrap_or(Absence::Missing)
}

/// Why a task that is in the journal is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absence {
    /// Another program removed it, or a restore of it was undone. No agent deleted it on purpose.
    Missing,
    /// An agent deleted it, or cleared the list, through Taskyard.
    Deleted,
    /// It was moved to another list.
    Moved,
    /// It was renumbered.
    Renumbered,
    /// Its creation was undone.
    Unmade,
    /// Another program put a different task under its number.
    Replaced,
}

/// An absent task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its last state.
    pub task: Task,
    /// The exact form of that state.
    pub image: Image,
    /// Why it is absent.
    pub absence: Absence,
    /// The entry that removed it. If no reader has noticed the removal yet, the last entry in which it exists.
    pub entry: Entry,
    /// The first revision without it.
    pub since: Revision,
    /// When it was last known to exist.
    pub(crate) last_seen: Timestamp,
}

impl Removed {
    /// Returns whether it disappeared although no agent removed it on purpose, and its number is free.
    pub fn is_missing(&self) -> bool {
        self.absence == Absence::Missing
    }

    /// Returns whether it was deleted by Claude Code. Nothing is damaged then, although no agent deleted it through
    /// Taskyard.
    pub fn is_deleted_elsewhere(&self) -> bool {
        self.is_missing() && self.entry.op == Op::DeletedElsewhere
    }

    /// Returns whether another task has its number.
    pub fn is_replaced(&self) -> bool {
        self.absence == Absence::Replaced
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Gone, KeptIn, Rest, gone, is_deletion};
    use crate::dialect::native;
    use crate::rules::history::restoring::removed;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, Rules, Status, Task, TaskId, Timestamp};

    fn image(number: u64, status: Status) -> Option<Image> {
        native::write(None, &Task { status, ..Task::new(TaskId::number(number), "x") }, Rules::Strict).ok()
    }

    fn entry(at: i64, task: u64, op: Op, before: Option<Image>, after: Option<Image>) -> Entry {
        Entry {
            revision: Revision(at.unsigned_abs()),
            at: Timestamp(at),
            actor: AgentName::elsewhere(),
            op,
            task: TaskId::number(task),
            before,
            after,
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        }
    }

    #[test]
    fn a_reset_and_a_clearing_are_no_deletions() {
        let only = |was_open, is_for_new_team| Rest::NoneOfOne { was_open, is_for_new_team };
        let three = TaskId::number(3);
        assert!(is_deletion(&three, 3.0, Rest::Others) && is_deletion(&three, 8.0, only(true, false)));
        let (cleared, reset) = (only(false, false), only(true, true));
        assert!(![Rest::NoneOfSeveral, cleared, reset].into_iter().any(|rest| is_deletion(&three, 3.0, rest)));
        assert!(!is_deletion(&three, 2.0, Rest::Others), "`rm` does not raise the mark");
        assert!(!is_deletion(&TaskId::stored("plan"), 3.0, Rest::Others));
    }

    #[test]
    fn what_is_gone_is_counted_and_bounded_by_two_looks() {
        let journal = [
            entry(1, 1, Op::Create, None, image(1, Status::Pending)),
            entry(2, 2, Op::Create, None, image(2, Status::Completed)),
            entry(3, 3, Op::Create, None, image(3, Status::Pending)),
            entry(4, 3, Op::Delete, image(3, Status::Pending), None),
            entry(5, 4, Op::Create, None, image(4, Status::Pending)),
            entry(6, 4, Op::DeletedElsewhere, image(4, Status::Pending), None),
            entry(7, 1, Op::RemovedElsewhere, image(1, Status::Pending), None),
        ];
        let missing = removed(&journal, &HashSet::new());
        let told = gone(&missing, Some(KeptIn::Directory), None, Timestamp(9)).unwrap();
        let expected = Gone {
            open: 1,
            completed: 1,
            with: Some(KeptIn::Directory),
            last_seen: Timestamp(2),
            noticed: Timestamp(9),
        };
        assert_eq!((told, told.is_loss()), (expected, true));
        let seen = |look| gone(&missing, None, Some(Timestamp(look)), Timestamp(9)).unwrap().last_seen;
        assert_eq!([1, 6, 10].map(seen), [Timestamp(2), Timestamp(6), Timestamp(2)]);
        assert_eq!(gone(&removed(&journal[2..4], &HashSet::new()), None, None, Timestamp(9)), None);
    }
}
