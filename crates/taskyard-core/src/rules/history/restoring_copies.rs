//! What becomes of a copy of a task, as a backup has it, when it comes back to a list.

use std::collections::HashMap;

use super::removed::{Absence, Removed};
use crate::{Task, TaskId};

/// What becomes of the copy of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFate {
    /// Its number is free and no agent meant it to be gone: it comes back.
    Returns,
    /// The list has the task as it is in the copy.
    Same,
    /// Something else stands under its number, which is never replaced.
    Different,
    /// An agent has meant it to be gone since, in this way.
    Meant(Absence),
}

/// What a list says of the numbers that copies have.
#[derive(Debug)]
pub struct NumbersNow<'a> {
    present: HashMap<&'a TaskId, Option<&'a Task>>,
    meant: HashMap<&'a TaskId, Absence>,
}

impl<'a> NumbersNow<'a> {
    /// Takes the tasks of a list, the names under which something else stands, and what its journal knows to be gone.
    pub fn of(tasks: &'a [Task], in_the_way: impl Iterator<Item = &'a TaskId>, removed: &'a [Removed]) -> Self {
        let mut present: HashMap<_, _> = in_the_way.map(|id| (id, None)).collect();
        present.extend(tasks.iter().map(|task| (&task.id, Some(task))));
        let meant = |removed: &&Removed| !removed.is_missing() && !removed.is_replaced();
        let meant = removed.iter().filter(meant).map(|removed| (&removed.task.id, removed.absence)).collect();
        Self { present, meant }
    }

    /// Says what becomes of the copy of a task; what an agent meant to go stays away.
    pub fn judge(&self, copy: &Task) -> CopyFate {
        match (self.present.get(&copy.id), self.meant.get(&copy.id)) {
            (Some(Some(task)), _) if *task == copy => CopyFate::Same,
            (Some(_), _) => CopyFate::Different,
            (None, Some(absence)) => CopyFate::Meant(*absence),
            (None, None) => CopyFate::Returns,
        }
    }

    /// Says the same where what an agent meant to go comes back, too.
    pub fn judge_with_deleted(&self, copy: &Task) -> CopyFate {
        match self.judge(copy) {
            CopyFate::Meant(_) => CopyFate::Returns,
            fate => fate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CopyFate, NumbersNow};
    use crate::rules::history::removed::Absence;
    use crate::rules::history::restoring::removed;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, Task, TaskId, Timestamp};

    fn task(id: &str, subject: &str) -> Task {
        Task::new(TaskId::stored(id), subject)
    }

    fn gone(id: &str, op: Op) -> [Entry; 2] {
        let image = format!(
            r#"{{"id":"{id}","subject":"was","description":"","status":"pending","blocks":[],"blockedBy":[]}}"#
        );
        let entry = |revision: u64, op: Op, before: bool| Entry {
            revision: Revision(revision),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op,
            task: TaskId::stored(id),
            before: before.then(|| Image::new(image.as_bytes())),
            after: (!before).then(|| Image::new(image.as_bytes())),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        };
        [entry(1, Op::Create, false), entry(2, op, true)]
    }

    #[test]
    fn a_copy_comes_back_only_where_its_number_is_free_and_nobody_meant_it_to_go() {
        let tasks = [task("1", "same"), task("2", "newer")];
        let broken = TaskId::stored("3");
        let entries: Vec<Entry> = [gone("4", Op::Delete), gone("5", Op::RemovedElsewhere)].concat();
        let removed = removed(&entries, &Default::default());
        let now = NumbersNow::of(&tasks, [&broken].into_iter(), &removed);
        assert_eq!(now.judge(&task("1", "same")), CopyFate::Same);
        assert_eq!(now.judge(&task("2", "older")), CopyFate::Different);
        assert_eq!(now.judge(&task("3", "whole")), CopyFate::Different);
        assert_eq!(now.judge(&task("4", "was")), CopyFate::Meant(Absence::Deleted));
        assert_eq!(now.judge_with_deleted(&task("4", "was")), CopyFate::Returns);
        assert_eq!(now.judge(&task("5", "was")), CopyFate::Returns);
        assert_eq!(now.judge(&task("6", "unknown")), CopyFate::Returns);
    }
}
