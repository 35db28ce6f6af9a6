//! Whether a list without tasks is new, or has lost what was in it.

use super::removed::Removed;
use crate::Timestamp;

/// What is gone from a list of which no task file is left, though no agent deleted it on purpose. Internal tasks are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// How many of the tasks were open.
    pub open: usize,
    /// How many were completed. The client clears a list away when everything in it is.
    pub completed: usize,
    /// What the list was kept in, where that is gone, too.
    pub with: Option<KeptIn>,
    /// When one of them was last known to be there.
    pub last_seen: Timestamp,
    /// When a reader first looked and found none.
    pub noticed: Timestamp,
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
    let visible = || missing.iter().filter(|removed| removed.is_missing() && !removed.task.is_internal());
    let open = visible().filter(|removed| removed.task.status.is_open()).count();
    let last_seen = visible().map(|removed| removed.last_seen).max()?;
    // What is not in the journal yet is noticed now.
    let noticed = visible().map(|removed| if removed.entry.after.is_some() { now } else { removed.entry.at }).max()?;
    // A look after that found other tasks, which have been deleted since.
    let last_look = last_look.filter(|last_look| *last_look <= noticed);
    let last_seen = last_look.map_or(last_seen, |last_look| last_look.max(last_seen));
    Some(Gone { open, completed: visible().count() - open, with, last_seen, noticed })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Gone, KeptIn, gone};
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
    fn what_is_gone_is_counted_and_bounded_by_two_looks() {
        let journal = [
            entry(1, 1, Op::Create, None, image(1, Status::Pending)),
            entry(2, 2, Op::Create, None, image(2, Status::Completed)),
            entry(3, 3, Op::Create, None, image(3, Status::Pending)),
            entry(4, 3, Op::Delete, image(3, Status::Pending), None),
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
