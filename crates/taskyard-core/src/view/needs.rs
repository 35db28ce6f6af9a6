//! What needs a person.

use crate::rules::claims::attempts::failed_attempts;
use crate::{Status, Task, TaskId, Timestamp};

/// A task that needs a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The task.
    pub task: TaskId,
    /// Why it does.
    pub kind: NeedKind,
}

/// Why a task needs a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedKind {
    /// It is open, and the moment it was due at is over.
    Overdue,
    /// So many attempts at it have failed, and it has no owner.
    Failed(u64),
    /// It is in progress for a session of the client that has ended (`stale_owner`). Nothing in the task itself tells that.
    StaleOwner,
}

impl NeedKind {
    /// Returns why a task needs a person at a moment; none where it does not.
    pub fn of(task: &Task, now: Timestamp) -> Option<Self> {
        Notable::of(task)?.need(now)
    }

    /// Returns it in a word or two.
    pub fn in_words(self) -> String {
        match self {
            Self::Overdue => "overdue".to_owned(),
            Self::StaleOwner => "its session has ended".to_owned(),
            Self::Failed(1) => "failed once".to_owned(),
            Self::Failed(times) => format!("failed {times} times"),
        }
    }
}

/// What of a task may make it need a person, or keep it from starting, sooner or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Notable {
    due: Option<Timestamp>,
    defer: Option<Timestamp>,
    failures: u64,
}

impl Notable {
    /// Looks at a task; none where there is nothing of the kind.
    pub(super) fn of(task: &Task) -> Option<Self> {
        if !task.status.is_open() || task.is_internal() {
            return None;
        }
        let failures = if task.status == Status::Pending { failed_attempts(task) } else { 0 };
        let (due, defer) = (task.due(), task.defer());
        (due.is_some() || defer.is_some() || failures > 0).then_some(Self { due, defer, failures })
    }

    /// Returns why the task needs a person at a moment.
    pub(super) fn need(&self, now: Timestamp) -> Option<NeedKind> {
        if self.due.is_some_and(|due| due < now) {
            return Some(NeedKind::Overdue);
        }
        (self.failures > 0).then_some(NeedKind::Failed(self.failures))
    }

    /// Returns when it next changes how the task stands: it comes to be overdue, or may start.
    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let is_to_come = |moment: &Timestamp| *moment >= now;
        self.due.filter(is_to_come).into_iter().chain(self.defer.filter(is_to_come)).min()
    }
}
