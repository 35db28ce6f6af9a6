//! Which checks a task demands before it may be completed.

use serde_json::Value;

use crate::Task;

/// Returns the names of the checks that `metadata.verify` demands: one name, or several.
///
/// A value that is no name is returned as its JSON text: nothing can be defined for it, so that what was meant as a demand is
/// never taken for none.
pub fn demanded_checks(task: &Task) -> Vec<String> {
    let name = |value: &Value| match value {
        Value::String(name) => name.clone(),
        other => other.to_string(),
    };
    match task.meta("verify") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(names)) => names.iter().map(name).collect(),
        Some(value) => vec![name(value)],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::demanded_checks;
    use crate::{Task, TaskId};

    fn demanded(verify: Value) -> Vec<String> {
        let metadata = json!({ "verify": verify }).as_object().cloned();
        demanded_checks(&Task { metadata, ..Task::new(TaskId::number(1), "x") })
    }

    #[test]
    fn one_name_or_several_are_demanded() {
        assert_eq!(demanded(json!("tests")), ["tests"]);
        assert_eq!(demanded(json!(["tests", "lint"])), ["tests", "lint"]);
    }

    #[test]
    fn nothing_is_demanded_where_nothing_is_said() {
        assert!(demanded_checks(&Task::new(TaskId::number(1), "x")).is_empty());
        assert!(demanded(Value::Null).is_empty());
        assert!(demanded(json!([])).is_empty());
    }

    #[test]
    fn a_demand_nobody_can_read_is_still_a_demand() {
        assert_eq!(demanded(json!(true)), ["true"]);
        assert_eq!(demanded(json!(["tests", 7])), ["tests", "7"]);
    }
}
