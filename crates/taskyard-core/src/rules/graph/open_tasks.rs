//! Which tasks of a list are open, and which of those can start.

use super::parts::OpenParts;
use super::positions::Positions;
use crate::{Rules, Status, Task, TaskId, Timestamp};

/// The open tasks of a list, and what they hold up.
#[derive(Debug)]
pub struct OpenTasks {
    positions: Positions,
    /// What parts mean; none where no task is a part of another, and to the client, which knows no parts.
    parts: Option<OpenParts>,
    /// Whether tasks can be deferred; to the client they start at any time.
    minds_time: bool,
}

impl OpenTasks {
    /// Notes which tasks of a list are open, and which parts.
    pub fn of(tasks: &[Task], rules: Rules) -> Self {
        let positions = Positions::of(tasks, |task| task.status.is_open());
        let parts = if rules.is_client() { None } else { OpenParts::of(tasks, &positions) };
        Self { positions, parts, minds_time: !rules.is_client() }
    }

    /// Returns the open tasks that a task waits for, and those that hold it up because the task it is a part of waits for them. One
    /// that does not exist is not open.
    pub fn blockers(&self, task: &Task) -> Vec<TaskId> {
        let mut blockers: Vec<TaskId> =
            task.blocked_by.iter().filter(|id| self.positions.contains(id)).cloned().collect();
        for id in self.of_parts(task, OpenParts::blockers) {
            if !blockers.contains(id) {
                blockers.push(id.clone());
            }
        }
        blockers
    }

    /// Tells whether a task waits for others, without naming them.
    pub(crate) fn has_blockers(&self, task: &Task) -> bool {
        task.blocked_by.iter().any(|id| self.positions.contains(id))
            || !self.of_parts(task, OpenParts::blockers).is_empty()
    }

    /// Returns the open parts of an open task.
    pub(crate) fn parts(&self, task: &Task) -> &[TaskId] {
        self.of_parts(task, OpenParts::parts)
    }

    /// Tells whether a task can start now: pending, without an owner, not internal, nothing open before it, no part of it open, and not
    /// deferred.
    pub(crate) fn can_start(&self, task: &Task, open_blockers: &[TaskId], now: Timestamp) -> bool {
        open_blockers.is_empty() && self.is_ready(task, now)
    }

    /// Tells whether a task can start now, whose blockers were not looked for yet.
    pub(crate) fn is_ready(&self, task: &Task, now: Timestamp) -> bool {
        self.waits_for_time_alone(task) && self.deferred(task).is_none_or(|defer| defer <= now)
    }

    /// Returns when a task can start that only waits for that moment; none for one that can start now or waits for something else.
    pub(crate) fn starts_at(&self, task: &Task, now: Timestamp) -> Option<Timestamp> {
        let later = self.deferred(task).filter(|defer| *defer > now)?;
        self.waits_for_time_alone(task).then_some(later)
    }

    fn waits_for_time_alone(&self, task: &Task) -> bool {
        task.status == Status::Pending
            && task.owner().is_none()
            && !task.is_internal()
            && !self.has_blockers(task)
            && self.parts(task).is_empty()
    }

    /// Returns the moment to which a task, or one that it is a part of, is deferred.
    fn deferred(&self, task: &Task) -> Option<Timestamp> {
        if !self.minds_time {
            return None;
        }
        let parts = self.parts.as_ref();
        let above = parts.and_then(|parts| parts.deferred(self.positions.get(&task.id)?));
        task.defer().max(above)
    }

    fn of_parts(&self, task: &Task, wanted: fn(&OpenParts, usize) -> &[TaskId]) -> &[TaskId] {
        match (&self.parts, self.parts.as_ref().and_then(|_| self.positions.get(&task.id))) {
            (Some(parts), Some(position)) => wanted(parts, position),
            _ => &[],
        }
    }
}
