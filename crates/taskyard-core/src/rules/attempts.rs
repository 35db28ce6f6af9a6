//! How often a task was tried in vain, when that is enough, and what is noted about it.

use serde_json::{Value, json};

use crate::{AgentName, Task, Timestamp};

/// The metadata key that counts the attempts that failed.
const ATTEMPTS: &str = "attempts";
/// The metadata key of what was noted.
const NOTES: &str = "notes";

/// Something noted about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub author: AgentName,
    /// What.
    pub text: String,
}

/// Returns how many attempts at a task have failed.
pub fn failed_attempts(task: &Task) -> u64 {
    task.meta(ATTEMPTS).and_then(Value::as_u64).unwrap_or_default()
}

/// Tells whether a task failed the first time and in every attempt after that.
pub fn is_given_up(task: &Task, retries: u64) -> bool {
    task.status.is_open() && failed_attempts(task) > retries
}

/// Returns a task with a note added to those it has. What somebody wrote there in another form stays as the first note.
#[must_use]
pub fn with_note(task: &Task, note: &Note) -> Task {
    let mut task = task.clone();
    let metadata = task.metadata.get_or_insert_default();
    let notes = metadata.entry(NOTES).or_insert_with(|| Value::Array(Vec::new()));
    let noted = json!({ "at": note.at.to_string(), "author": note.author.as_str(), "text": note.text });
    match notes {
        Value::Array(notes) => notes.push(noted),
        empty @ Value::Null => *empty = Value::Array(vec![noted]),
        other => *other = Value::Array(vec![other.take(), noted]),
    }
    task
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

    use super::{Note, failed_attempts, is_given_up, with_failed_attempt, with_note};
    use crate::{AgentName, Status, Task, TaskId, Timestamp};

    fn task(metadata: serde_json::Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(1), "x") }
    }

    fn note(text: &str) -> Note {
        Note { at: Timestamp(0), author: AgentName::new("ana").unwrap(), text: text.into() }
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

    #[test]
    fn notes_are_added_and_what_others_wrote_stays() {
        let mine = json!({ "at": "1970-01-01T00:00:00.000Z", "author": "ana", "text": "late" });
        for (before, kept) in
            [(json!({}), None), (json!({ "notes": null }), None), (json!({ "notes": "by hand" }), Some("by hand"))]
        {
            let after = with_note(&task(before), &note("late"));
            let mut expected: Vec<_> = kept.map(|kept| json!(kept)).into_iter().collect();
            expected.push(mine.clone());
            assert_eq!(after.meta("notes"), Some(&json!(expected)));
        }
        let twice = with_note(&with_note(&task(json!({})), &note("one")), &note("two"));
        let texts: Vec<_> =
            twice.meta("notes").unwrap().as_array().unwrap().iter().map(|note| note["text"].clone()).collect();
        assert_eq!(texts, ["one", "two"]);
        // The order of the keys stays.
        let ordered = with_note(&task(json!({ "notes": [], "attempts": 1, "kind": "x" })), &note("one"));
        assert!(ordered.metadata.unwrap().keys().eq(["notes", "attempts", "kind"]));
    }
}
