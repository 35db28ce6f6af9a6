//! Whether what a file holds is evidently the task that the journal knows under its number.

use std::collections::HashSet;

use serde_json::Value;

use super::fields::{Fields, fields};
use crate::{Status, Task, TaskField};

/// Tells whether a task is evidently the one that these states were recorded of, newest first. If in doubt it is another: what was
/// acknowledged for one task must not be written into a different one.
pub fn is_same_task(now: &Task, recorded: &[&Task]) -> bool {
    let recorded: Vec<Fields> = recorded.iter().map(|task| fields(task)).collect();
    is_evident(&fields(now), &recorded, &HashSet::new())
}

/// Tells the same, given the fields in which the file has an older value.
///
/// A client that writes what it read before leaves the file as one recorded state had it, apart from what it changed on purpose. The evidence
/// is one of:
/// - the file equals a recorded state, apart from what is taken back;
/// - it has that state's title and description, and either says something in the description or is no longer as tasks are made;
/// - it has one of the two texts, and carries something that the task only got during its life.
///
/// A title alone is none: two tasks may have the same.
pub(super) fn is_evident(now: &Fields, recorded: &[Fields], taken_back: &HashSet<TaskField>) -> bool {
    let Some(oldest) = recorded.last() else { return false };
    let says_something = text(now, &TaskField::Description).is_some_and(|text| !text.trim().is_empty());
    recorded.iter().any(|state| {
        let has_title = now.get(&TaskField::Subject) == state.get(&TaskField::Subject);
        let has_description = now.get(&TaskField::Description) == state.get(&TaskField::Description);
        let has_both = has_title && has_description && (says_something || !is_as_made(now));
        let has_one = has_title || (has_description && says_something);
        has_both || (has_one && carries_life(now, state, oldest)) || is_equal(now, state, taken_back)
    })
}

/// Tells whether a task is as new tasks are: pending, and without an owner or edges.
pub(super) fn is_as_made(fields: &Fields) -> bool {
    let is_tie = |field: &TaskField| matches!(field, TaskField::Blocks(_) | TaskField::BlockedBy(_));
    let is_pending = text(fields, &TaskField::Status) == Some(Status::Pending.as_str());
    is_pending && !fields.contains_key(&TaskField::Owner) && !fields.keys().any(is_tie)
}

/// Tells whether a file shares something with a recorded state that a task is not made with: its owner, a note, or a metadata value that the
/// oldest state did not have yet.
fn carries_life(now: &Fields, state: &Fields, oldest: &Fields) -> bool {
    now.iter().filter(|(field, value)| state.get(field) == Some(value)).any(|(field, value)| match field {
        TaskField::Owner | TaskField::Note(_) => true,
        TaskField::Metadata(_) => oldest.get(field) != Some(value),
        _ => false,
    })
}

fn is_equal(now: &Fields, state: &Fields, taken_back: &HashSet<TaskField>) -> bool {
    let without = |fields: &Fields| fields.keys().filter(|field| !taken_back.contains(*field)).count();
    let is_kept = |(field, value): (&TaskField, &Value)| taken_back.contains(field) || state.get(field) == Some(value);
    now.iter().all(is_kept) && without(now) == without(state)
}

fn text<'a>(fields: &'a Fields, field: &TaskField) -> Option<&'a str> {
    fields.get(field).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::is_same_task;
    use crate::{Status, Task, TaskId};

    fn task(subject: &str, description: &str) -> Task {
        Task { description: description.into(), ..Task::new(TaskId::number(1), subject) }
    }

    fn with_metadata(task: Task, metadata: &serde_json::Value) -> Task {
        Task { metadata: metadata.as_object().cloned(), ..task }
    }

    #[test]
    fn a_new_task_is_another_whatever_it_shares() {
        let old = task("Fix tests", "");
        for new in [
            task("Buy milk", ""),
            task("Fix tests", "The slow ones"),
            Task { active_form: Some("Fixing tests".into()), ..old.clone() },
            with_metadata(old.clone(), &json!({"priority": "high"})),
        ] {
            assert!(!is_same_task(&new, &[&Task { status: Status::Completed, ..old.clone() }, &old]), "{new:?}");
        }
        let told = with_metadata(task("Fix tests", "All of them"), &json!({"priority": "high"}));
        assert!(!is_same_task(&Task { subject: "Buy milk".into(), ..told.clone() }, &[&told]));
        assert!(!is_same_task(&Task { description: "The slow ones".into(), ..told.clone() }, &[&told]));
    }

    #[test]
    fn both_texts_show_that_it_is_the_same() {
        let old = task("Fix tests", "All of them");
        let changed = Task { active_form: Some("Fixing".into()), ..with_metadata(old.clone(), &json!({"theirs": 1})) };
        assert!(is_same_task(&changed, &[&Task { subject: "Ours".into(), ..old.clone() }, &old]));
        // Nothing in the description: what no task is made with shows it.
        let bare = task("Fix tests", " ");
        assert!(is_same_task(&bare, &[&bare]));
        assert!(is_same_task(&Task { status: Status::InProgress, ..bare.clone() }, &[&bare]));
        assert!(is_same_task(&Task { blocks: vec![TaskId::number(2)], ..bare.clone() }, &[&bare]));
    }

    #[test]
    fn what_a_task_got_in_its_life_shows_that_it_is_the_same() {
        let made = with_metadata(task("Fix tests", ""), &json!({"priority": "high"}));
        let later = with_metadata(made.clone(), &json!({"priority": "high", "branch": "main"}));
        let told = Task { description: "The slow ones".into(), ..later.clone() };
        assert!(is_same_task(&told, &[&later, &made]));
        assert!(!is_same_task(&Task { subject: "Buy milk".into(), ..told.clone() }, &[&later, &made]));
        let noted = with_metadata(made.clone(), &json!({"notes": ["one"]}));
        let told = with_metadata(task("Fix tests", "The slow ones"), &json!({"notes": ["one", "two"]}));
        assert!(is_same_task(&told, &[&noted]));
        let owned = Task { owner: Some("ana".into()), ..made.clone() };
        assert!(is_same_task(&Task { description: "The slow ones".into(), ..owned.clone() }, &[&owned]));
    }
}
