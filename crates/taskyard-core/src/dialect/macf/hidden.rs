//! Tasks hidden from the client under a dot name.

use crate::TaskId;

/// Returns the task that a file hides: a dot, a number, `.json`. The client passes such a name over.
pub fn hidden_task_of(file: &str) -> Option<TaskId> {
    let stem = file.strip_prefix('.')?.strip_suffix(".json")?;
    Some(TaskId::stored(stem)).filter(|id| id.as_number().is_some())
}

/// Returns the name of the file that hides a task; none where its id is no number.
pub fn hidden_name(id: &TaskId) -> Option<String> {
    id.as_number().map(|number| format!(".{number}.json"))
}

#[cfg(test)]
mod tests {
    use super::{hidden_name, hidden_task_of};

    #[test]
    fn only_a_number_behind_a_dot_is_a_hidden_task() {
        let id = hidden_task_of(".7.json").unwrap();
        assert_eq!((id.as_str(), hidden_name(&id).as_deref()), ("7", Some(".7.json")));
        for name in [
            "7.json",
            ".lock",
            ".highwatermark",
            ".taskyard.json",
            ".07.json",
            "..7.json",
            ".7.json.lock",
            ".json",
            ".x.json",
        ] {
            assert_eq!(hidden_task_of(name), None, "{name}");
        }
    }
}
