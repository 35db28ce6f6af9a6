//! Which inputs are repaired before they are checked, and the repairs that several tools share.

use serde_json::{Map, Value};

use crate::{ClientVersion, Rules, TaskId};

/// Tells whether input is repaired: as the newest client does it, and in our own rules.
pub(super) fn is_repaired(rules: Rules) -> bool {
    rules.client_version() >= ClientVersion::V2_1_325
}

/// Gives a key its right name where it holds a text that says something, unless there is one of that name already.
pub(super) fn rename(input: &mut Map<String, Value>, from: &str, to: &str) {
    if !input.contains_key(to)
        && is_filled(input.get(from))
        && let Some(value) = input.shift_remove(from)
    {
        input.insert(to.to_owned(), value);
    }
}

/// Tells whether a value is a text that says something.
pub(super) fn is_filled(value: Option<&Value>) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
}

/// Returns input in which a task may be named by `id` or `task_id`, too.
pub(super) fn with_task_id(input: &Value, rules: Rules) -> Value {
    let Value::Object(given) = input else { return input.clone() };
    let mut repaired = given.clone();
    if is_repaired(rules) {
        rename(&mut repaired, "id", "taskId");
        rename(&mut repaired, "task_id", "taskId");
    }
    Value::Object(repaired)
}

/// Returns input in which a job may be named by other keys than `task_id`, too. The client takes none of them.
pub(super) fn with_job_id(input: &Value, others: &[&str], rules: Rules) -> Value {
    let Value::Object(given) = input else { return input.clone() };
    let mut repaired = given.clone();
    if !rules.is_client() {
        for other in others {
            rename(&mut repaired, other, "task_id");
        }
    }
    Value::Object(repaired)
}

/// Takes the word of a model for a task. In our own rules it may have the mark before it that every display has; to the client
/// that is another name.
pub(super) fn task_id(text: String, rules: Rules) -> TaskId {
    match text.strip_prefix('#') {
        Some(bare) if !rules.is_client() => TaskId::stored(bare),
        _ => TaskId::stored(text),
    }
}
