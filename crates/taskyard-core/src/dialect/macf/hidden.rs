//! Tasks hidden from the client under a dot name.

use crate::TaskId;

/// Returns the task that a file hides: a dot, a number, `.json`; two dots where it was hidden twice. The client passes such names
/// over.
pub fn hidden_task_of(file: &str) -> Option<TaskId> {
    let name = file.strip_prefix('.')?.strip_suffix(".json")?;
    let stem = name.strip_prefix('.').unwrap_or(name);
    Some(TaskId::stored(stem)).filter(|id| id.as_number().is_some())
}

/// Tells whether a file hides a task that was hidden already.
pub fn is_hidden_twice(file: &str) -> bool {
    file.starts_with("..") && hidden_task_of(file).is_some()
}

/// Returns the names of the files that may hide a task, the one that counts first; none where its id is no number.
pub fn hidden_names(id: &TaskId) -> impl Iterator<Item = String> + use<> {
    let number = id.as_number();
    [".", ".."].into_iter().filter_map(move |dots| Some(format!("{dots}{}.json", number?)))
}

#[cfg(test)]
mod tests {
    use super::{hidden_names, hidden_task_of, is_hidden_twice};

    #[test]
    fn only_a_number_behind_one_or_two_dots_is_a_hidden_task() {
        for name in [".7.json", "..7.json"] {
            let id = hidden_task_of(name).unwrap();
            assert_eq!(id.as_str(), "7");
            assert_eq!(hidden_names(&id).collect::<Vec<_>>(), [".7.json", "..7.json"]);
            assert_eq!(is_hidden_twice(name), name == "..7.json");
        }
        for name in [
            "7.json",
            ".lock",
            ".highwatermark",
            ".taskyard.json",
            ".07.json",
            "...7.json",
            ".7.json.lock",
            ".json",
            "..json",
            ".x.json",
        ] {
            assert_eq!((hidden_task_of(name), is_hidden_twice(name)), (None, false), "{name}");
        }
    }
}
