//! How often a task was tried in vain, and when that is enough.

use serde_json::Value;

use crate::Task;

/// The metadata key that counts the attempts that failed.
pub const ATTEMPTS: &str = "attempts";

/// Returns how many attempts at a task have failed.
pub fn failed_attempts(task: &Task) -> u64 {
    task.meta(ATTEMPTS).and_then(Value::as_u64).unwrap_or_default()
}

/// Tells whether a task failed the first time and in every attempt after that.
pub fn is_given_up(task: &Task, retries: u64) -> bool {
    task.status.is_open() && failed_attempts(task) > retries
}

/// Returns a task with one more failed attempt counted.
#[must_use]
pub fn with_failed_attempt(task: &Task) -> Task {
    let mut task = task.clone();
    let attempts = failed_attempts(&task).saturating_add(1);
    task.metadata.get_or_insert_default().insert(ATTEMPTS.to_owned(), attempts.into());
    task
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{failed_attempts, is_given_up, with_failed_attempt};
    use crate::{Status, Task, TaskId};

    fn task(metadata: serde_json::Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "x") }
    }

    #[test]
    fn a_task_is_given_up_after_the_first_attempt_and_all_retries_failed() {
        let mut task = task(json!({}));
        for (failed, given_up) in [(0, false), (1, false), (2, false), (3, true)] {
            assert_eq!((failed_attempts(&task), is_given_up(&task, 2)), (failed, given_up));
            task = with_failed_attempt(&task);
        }
        assert!(!is_given_up(&Task { status: Status::Completed, ..task }, 2));
    }

    #[test]
    fn a_count_in_another_form_counts_as_none() {
        for metadata in [json!({ "attempts": "3" }), json!({ "attempts": -1 }), json!({ "attempts": null })] {
            let task = task(metadata);
            assert_eq!(failed_attempts(&task), 0);
            assert_eq!(failed_attempts(&with_failed_attempt(&task)), 1);
        }
    }
}
