//! Whether what is gone from a list was lost, cleared away or deleted: a list without tasks may also be new.

use super::removed::Removed;
use crate::{TaskId, Timestamp};

/// What is gone from a list of which no task file is left, though no agent deleted it on purpose. Internal tasks are not counted, nor is
/// what a client deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// How many of the tasks were open.
    pub open: usize,
    /// How many were completed. The client clears a list away when everything in it is.
    pub(crate) completed: usize,
    /// What the list was kept in, where that is gone, too.
    pub with: Option<KeptIn>,
    /// When one of them was last known to be there.
    pub(crate) last_seen: Timestamp,
    /// When a reader first looked and found none.
    pub(crate) noticed: Timestamp,
}

/// What a list is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptIn {
    /// A directory, each task in a file of its own.
    Directory,
    /// One file.
    File,
}

impl Gone {
    /// Tells whether work is lost, and not only what was done with.
    pub fn is_loss(&self) -> bool {
        self.open > 0
    }
}

/// Tells what is gone from a list of which no task file is left, given what of it is missing, what it was kept in where that is gone,
/// too, when a look last found tasks in it where that is known, and the time. None where nothing is gone.
pub fn gone(missing: &[Removed], with: Option<KeptIn>, last_look: Option<Timestamp>, now: Timestamp) -> Option<Gone> {
    let is_lost = |removed: &&Removed| removed.is_missing() && !removed.is_deleted_elsewhere();
    let visible = || missing.iter().filter(is_lost).filter(|removed| !removed.task.is_internal());
    let open = visible().filter(|removed| removed.task.status.is_open()).count();
    let last_seen = visible().map(|removed| removed.last_seen).max()?;
    // What is not in the journal yet is noticed now.
    let noticed = visible().map(|removed| if removed.entry.after.is_some() { now } else { removed.entry.at }).max()?;
    // A look after that found other tasks, which have been deleted since.
    let last_look = last_look.filter(|last_look| *last_look <= noticed);
    let last_seen = last_look.map_or(last_seen, |last_look| last_look.max(last_seen));
    Some(Gone { open, completed: visible().count() - open, with, last_seen, noticed })
}

/// What is left of a list from which another program removed a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Other tasks are still there.
    Others,
    /// Several tasks went at once, and none of them is left.
    NoneOfSeveral,
    /// It was the only task of the list.
    NoneOfOne {
        /// Whether the task was open. The client clears a list away when everything in it is completed.
        was_open: bool,
        /// Whether a team was made on this list since the task was last seen. The client resets a team's list.
        is_for_new_team: bool,
    },
}

/// Tells whether another program removed a task as Claude Code deletes, given `.highwatermark` and what is left of the list.
///
/// The client raises the mark to the task's number before it deletes the file. It does the same when it resets or clears a list, and
/// then no task is left. `rm` leaves the mark alone, but if the mark was already that high, a single file that was removed by hand looks
/// like a deletion.
pub fn is_deletion(task: &TaskId, mark: f64, rest: Rest) -> bool {
    let is_marked = task.as_number().is_some_and(|number| number as f64 <= mark);
    is_marked
        && match rest {
            Rest::Others => true,
            Rest::NoneOfSeveral => false,
            Rest::NoneOfOne { was_open, is_for_new_team } => was_open && !is_for_new_team,
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
