//! Who made a task.

use crate::Op;

/// Tells whether a verb by which a task came that was not there makes it. What brings a task back does not make it; where a number was
/// given twice, the later task is meant.
pub fn makes(op: Op) -> bool {
    !matches!(op, Op::Undo | Op::Restore)
}

#[cfg(test)]
mod tests {
    use super::makes;
    use crate::dialect::native;
    use crate::{AgentName, Entry, Op, Remark, Revision, Rules, Task, TaskId, Timestamp};

    /// Returns a journal, each entry with whether the task was there before and after.
    fn journal(entries: &[(Op, bool, bool)]) -> Vec<Entry> {
        let image = native::write(None, &Task::new(TaskId::number(1), "task"), Rules::Strict).unwrap();
        let entry = |(number, (op, before, after)): (usize, &(Op, bool, bool))| Entry {
            revision: Revision(number as u64 + 1),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op: *op,
            task: TaskId::number(1),
            before: before.then(|| image.clone()),
            after: after.then(|| image.clone()),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        };
        entries.iter().enumerate().map(entry).collect()
    }

    fn revision(entries: &[(Op, bool, bool)]) -> Option<u64> {
        let is_arrival = |entry: &&Entry| entry.before.is_none() && entry.after.is_some();
        let journal = journal(entries);
        journal.iter().filter(is_arrival).rfind(|entry| makes(entry.op)).map(|entry| entry.revision.0)
    }

    #[test]
    fn gaining_an_edge_beside_a_new_task_is_not_being_made() {
        assert_eq!(revision(&[(Op::Create, false, true), (Op::Create, true, true)]), Some(1));
        assert_eq!(revision(&[(Op::Create, true, true)]), None);
    }

    #[test]
    fn a_task_that_comes_back_was_made_when_it_first_came() {
        let gone_and_back = [(Op::Create, false, true), (Op::Delete, true, false), (Op::Restore, false, true)];
        assert_eq!(revision(&gone_and_back), Some(1));
        assert_eq!(revision(&[(Op::Import, false, true), (Op::Undo, true, false), (Op::Undo, false, true)]), Some(1));
        let twice =
            [(Op::Create, false, true), (Op::RemovedElsewhere, true, false), (Op::CreatedElsewhere, false, true)];
        assert_eq!(revision(&twice), Some(3));
    }
}
