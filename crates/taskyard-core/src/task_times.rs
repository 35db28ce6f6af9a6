//! When a task is due, when it may start, and how long it should take.

use std::time::Duration;

use serde_json::Value;

use crate::{Task, Timestamp};

/// The key of the moment by which a task is to be done.
pub const DUE: &str = "due";
/// The key of the moment before which a task is not to start.
pub const DEFER: &str = "defer";
/// The key of the seconds a task is expected to take.
pub const ESTIMATE: &str = "estimate";

impl Task {
    /// Returns the moment by which the task is to be done.
    pub fn due(&self) -> Option<Timestamp> {
        moment(self.meta(DUE)?, "T23:59:59.999Z")
    }

    /// Returns the moment before which the task is not to start.
    pub fn defer(&self) -> Option<Timestamp> {
        moment(self.meta(DEFER)?, "T00:00:00Z")
    }

    /// Returns how long the task is expected to take.
    pub fn estimate(&self) -> Option<Duration> {
        let seconds = self.meta(ESTIMATE)?.as_f64()?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Tells whether the task is open and its due date has passed.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.status.is_open() && self.due().is_some_and(|due| due < now)
    }

    /// Tells whether the task is open and not to start yet.
    pub fn is_deferred(&self, now: Timestamp) -> bool {
        self.status.is_open() && self.defer().is_some_and(|defer| defer > now)
    }
}

/// Reads a moment. Taskyard writes it in full; of a bare date, which another program may have written, this part of the day is meant.
fn moment(value: &Value, part_of_day: &str) -> Option<Timestamp> {
    let text = value.as_str()?;
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}{part_of_day}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::{Status, Task, TaskId, Timestamp};

    fn task(metadata: &Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "x") }
    }

    #[test]
    fn a_bare_date_is_due_at_its_end_and_deferred_to_its_beginning() {
        let dated = task(&json!({"due": "2026-11-16", "defer": "2026-11-16"}));
        assert_eq!(dated.due().unwrap().to_string(), "2026-11-16T23:59:59.999Z");
        assert_eq!(dated.defer().unwrap().to_string(), "2026-11-16T00:00:00.000Z");
    }

    #[test]
    fn what_is_no_moment_or_span_is_none() {
        let odd = task(&json!({"due": "soon", "defer": 7, "estimate": -3}));
        assert_eq!((odd.due(), odd.defer(), odd.estimate()), (None, None, None));
    }

    #[test]
    fn only_open_tasks_are_overdue_or_deferred() {
        let moment = json!({"due": "2026-11-16T10:00:00Z", "defer": "2026-11-16T10:00:00Z"});
        let (open, at) = (task(&moment), Timestamp::parse("2026-11-16T10:00:00Z").unwrap());
        let (before, after) = (Timestamp(at.0 - 1), Timestamp(at.0 + 1));
        assert_eq!((open.is_overdue(at), open.is_overdue(after)), (false, true));
        assert_eq!((open.is_deferred(before), open.is_deferred(at)), (true, false));
        let done = Task { status: Status::Completed, ..open };
        assert!(!done.is_overdue(after) && !done.is_deferred(before));
    }
}
