//! The task that another is a part of: metadata says it, and so may a block.

use serde_json::Value;

use super::block::{Block, PARENT, stated_parent};
use crate::{Task, TaskId};

impl Task {
    /// Returns the task this one is a part of: the one its block names, where it has such a block, or else the one its metadata
    /// does. Only Taskyard writes both; where they differ, another program moved the task.
    pub fn parent(&self) -> Option<TaskId> {
        stated_parent(&self.description).or_else(|| stated_beside(self))
    }
}

/// Returns the parent that a task's metadata names.
fn stated_beside(task: &Task) -> Option<TaskId> {
    match task.meta("parent")? {
        Value::String(id) if !id.is_empty() => Some(TaskId::stored(id.as_str())),
        Value::Number(number) => Some(TaskId::number(number.as_u64()?)),
        _ => None,
    }
}

/// Makes a task a part of another, or of none, wherever it says so.
pub(crate) fn set_parent(task: &mut Task, parent: Option<&TaskId>) {
    let stated = Block::find(&task.description).and_then(|block| block.get(PARENT));
    if let Some(stated) = &stated {
        let value = parent.map(|parent| parent_value(&Value::from(parent.as_str()), Some(stated)));
        let changed = match &value {
            Some(value) => Block::set(&task.description, PARENT, value),
            None => Block::without(&task.description, PARENT),
        };
        if let Ok(changed) = changed {
            task.description = changed;
        }
    }
    let is_beside = task.meta("parent").is_some();
    let Some(parent) = parent else {
        if let Some(metadata) = &mut task.metadata {
            metadata.shift_remove("parent");
        }
        return;
    };
    if stated.is_none() || is_beside {
        let value = match (task.meta("parent"), parent.as_number()) {
            (Some(Value::Number(_)), Some(number)) => Value::from(number),
            _ => Value::from(parent.as_str()),
        };
        task.metadata.get_or_insert_default().insert("parent".to_owned(), value);
    }
}

/// Returns the parent as a block says it: a number, unless it is none or was text before.
pub(super) fn parent_value(parent: &Value, before: Option<&Value>) -> Value {
    let text = match parent {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let was_text = before.is_some_and(Value::is_string);
    match TaskId::stored(text.as_str()).as_number().filter(|_| !was_text) {
        Some(number) => Value::from(number),
        None => Value::String(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::set_parent;
    use crate::{Task, TaskId};

    fn part(metadata: serde_json::Value, facts: &str) -> Task {
        let description = format!("<macf_task_metadata version=\"1.0\">\n{facts}</macf_task_metadata>");
        Task { description, metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(5), "x") }
    }

    #[test]
    fn a_parent_changes_wherever_it_is_said() {
        for (before, after) in [
            (part(json!(null), "parent_id: 1\n"), part(json!(null), "parent_id: 2\n")),
            (part(json!(null), "parent_id: '1'\n"), part(json!(null), "parent_id: '2'\n")),
            (part(json!({"parent": "1"}), "parent_id: 1\n"), part(json!({"parent": "2"}), "parent_id: 2\n")),
            (part(json!({"parent": 1}), "a: 1\n"), part(json!({"parent": 2}), "a: 1\n")),
            (part(json!(null), "a: 1\n"), part(json!({"parent": "2"}), "a: 1\n")),
        ] {
            let mut task = before.clone();
            set_parent(&mut task, Some(&TaskId::number(2)));
            assert_eq!(task, after);
            assert_eq!(task.parent(), Some(TaskId::number(2)));
            set_parent(&mut task, None);
            assert_eq!(task.parent(), None, "{before:?}");
        }
    }

    #[test]
    fn the_block_counts_where_another_program_moved_the_task() {
        assert_eq!(part(json!({"parent": "1"}), "parent_id: 7\n").parent(), Some(TaskId::number(7)));
        assert_eq!(part(json!({"parent": "1"}), "parent_id: null\n").parent(), Some(TaskId::number(1)));
    }
}
