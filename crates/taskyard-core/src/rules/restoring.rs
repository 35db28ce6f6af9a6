//! Which removed tasks can be brought back, and from what.

use std::collections::{BTreeMap, HashSet};

use crate::{Entry, Image, Op, Task, TaskId};

/// A removed task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The task as it last was.
    pub task: Task,
    /// The exact form it had.
    pub image: Image,
    /// The last the journal says of it, which in nearly every case is that it was removed.
    pub entry: Entry,
}

impl Removed {
    /// Tells whether the task was lost: removed by somebody, not moved to another list and not taken back by an undo.
    pub fn is_lost(&self) -> bool {
        !matches!(self.entry.op, Op::Merge | Op::Undo)
    }
}

/// Returns the tasks that the journal knows and the list no longer holds, by number, given the journal, oldest entry first,
/// and the names that are taken. What was no task when it was removed is left out.
pub fn removed(entries: Vec<Entry>, taken: &HashSet<TaskId>) -> Vec<Removed> {
    let mut last: BTreeMap<TaskId, Entry> = BTreeMap::new();
    for entry in entries {
        if !taken.contains(&entry.task) {
            last.insert(entry.task.clone(), entry);
        }
    }
    // A removal by another program may not be in the journal yet; then the last entry still has the task in it.
    let found = last.into_values().filter_map(|entry| {
        let image = entry.after.as_ref().or(entry.before.as_ref())?.clone();
        Some(Removed { task: image.task(&entry.task).ok()?, image, entry })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::removed;
    use crate::dialect::native;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, Rules, Task, TaskId, Timestamp};

    fn image(number: u64, subject: &str) -> Option<Image> {
        native::write(None, &Task::new(TaskId::number(number), subject), Rules::Strict).ok()
    }

    fn entry(revision: u64, task: u64, before: Option<Image>, after: Option<Image>) -> Entry {
        Entry {
            revision: Revision(revision),
            at: Timestamp(0),
            actor: AgentName::elsewhere(),
            op: Op::RemovedElsewhere,
            task: TaskId::number(task),
            before,
            after,
            undoes: Vec::new(),
            remark: Remark::default(),
        }
    }

    #[test]
    fn a_task_is_brought_back_as_it_last_was() {
        let journal = vec![
            entry(1, 1, None, image(1, "old")),
            entry(2, 1, image(1, "old"), image(1, "new")),
            entry(3, 2, None, image(2, "there")),
            entry(4, 1, image(1, "new"), None),
        ];
        let found = removed(journal, &HashSet::from([TaskId::number(2)]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].task.subject.as_str(), found[0].entry.revision), ("new", Revision(4)));
    }

    #[test]
    fn a_removal_nobody_recorded_counts_too() {
        let found = removed(vec![entry(1, 1, None, image(1, "gone"))], &HashSet::new());
        assert_eq!(found[0].task.subject, "gone");
    }

    #[test]
    fn a_task_that_moved_or_was_taken_back_is_removed_and_not_lost() {
        for (op, lost) in [(Op::Delete, true), (Op::RemovedElsewhere, true), (Op::Merge, false), (Op::Undo, false)] {
            let journal = vec![Entry { op, ..entry(1, 1, image(1, "x"), None) }];
            assert_eq!(removed(journal, &HashSet::new())[0].is_lost(), lost, "{op}");
        }
    }

    #[test]
    fn what_was_no_task_does_not_come_back() {
        let rubbish = Some(Image::new(b"{".as_slice()));
        assert!(removed(vec![entry(1, 1, rubbish, None)], &HashSet::new()).is_empty());
    }
}
