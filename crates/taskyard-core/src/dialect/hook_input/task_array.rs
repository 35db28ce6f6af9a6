//! The whole list as one array, for hooks that ask for it with `stdin = "tasks"`.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Status, Task, TaskId, Timestamp};

/// One task of the array.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayEntry<'a> {
    id: &'a str,
    subject: &'a str,
    description: &'a str,
    status: &'static str,
    priority: &'static str,
    dependencies: Vec<&'a str>,
    #[serde(rename = "blockedBy")]
    blocked_by: Vec<&'a str>,
    metadata: Map<String, Value>,
}

/// When a task was made, and when it last changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// When it was made.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

/// Returns the array of a list, in the list's order, without the client's own bookkeeping.
///
/// `dependencies` are all tasks one waits for, `blockedBy` those that are still open. Where there are any, an open task is
/// `blocked`. Times are given where the journal knows them; what a task says of itself counts over them.
pub fn task_array<'a>(tasks: &'a [Task], times: &HashMap<TaskId, Times>) -> Vec<ArrayEntry<'a>> {
    let open: HashMap<&TaskId, bool> = tasks.iter().map(|task| (&task.id, task.status.is_open())).collect();
    let shown = tasks.iter().filter(|task| !task.is_internal());
    shown
        .map(|task| {
            let blockers = task.blocked_by.iter();
            let blocked_by: Vec<&str> = blockers.filter(|id| open.get(id) == Some(&true)).map(TaskId::as_str).collect();
            ArrayEntry {
                id: task.id.as_str(),
                subject: &task.subject,
                description: &task.description,
                status: status(task, !blocked_by.is_empty()),
                priority: task.priority().as_str(),
                dependencies: task.blocked_by.iter().map(TaskId::as_str).collect(),
                blocked_by,
                metadata: metadata(task, times.get(&task.id)),
            }
        })
        .collect()
}

fn status(task: &Task, is_blocked: bool) -> &'static str {
    match task.status {
        Status::Completed if task.is_cancelled() => "cancelled",
        Status::Pending | Status::InProgress if is_blocked => "blocked",
        status => status.as_str(),
    }
}

fn metadata(task: &Task, times: Option<&Times>) -> Map<String, Value> {
    let mut metadata = Map::new();
    if let Some(owner) = task.owner() {
        metadata.insert("subagent_id".into(), owner.into());
    }
    if let Some(Times { created, updated }) = times {
        metadata.insert("created_at".into(), created.to_string().into());
        metadata.insert("updated_at".into(), updated.to_string().into());
    }
    for (key, value) in task.metadata.iter().flatten() {
        if key != "subagent_id" || task.owner().is_none() {
            metadata.insert(key.clone(), value.clone());
        }
    }
    metadata
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use serde_json::{Value, json};

    use super::{Times, task_array};
    use crate::{Status, Task, TaskId, Timestamp};

    fn task(number: u64, status: Status, waits_for: &[u64], metadata: Value) -> Task {
        Task {
            status,
            blocked_by: waits_for.iter().copied().map(TaskId::number).collect(),
            metadata: metadata.as_object().cloned(),
            ..Task::new(TaskId::number(number), format!("task {number}"))
        }
    }

    #[test]
    fn a_task_has_every_key_in_its_order() {
        let mut one = task(1, Status::InProgress, &[], json!({"priority": "high", "note": 1}));
        one.owner = Some("ana".into());
        one.description = "all of it".into();
        let times = Times { created: Timestamp(0), updated: Timestamp(1000) };
        let array = task_array(std::slice::from_ref(&one), &HashMap::from([(TaskId::number(1), times)])).remove(0);
        let text = r#"{"id":"1","subject":"task 1","description":"all of it","status":"in_progress","priority":"high","dependencies":[],"blockedBy":[],"metadata":{"subagent_id":"ana","created_at":"1970-01-01T00:00:00.000Z","updated_at":"1970-01-01T00:00:01.000Z","priority":"high","note":1}}"#;
        assert_eq!(serde_json::to_string(&array).unwrap(), text);
    }

    #[test]
    fn dependencies_are_all_and_blocked_by_only_what_is_open() {
        let tasks = [
            task(1, Status::Completed, &[], Value::Null),
            task(2, Status::Pending, &[], Value::Null),
            task(3, Status::Pending, &[1, 2, 9], Value::Null),
            task(4, Status::Pending, &[1], Value::Null),
            task(5, Status::Completed, &[2], json!({"cancelled": true})),
            task(6, Status::InProgress, &[], json!({"_internal": true})),
        ];
        let array = json!(task_array(&tasks, &HashMap::new()));
        let told: Vec<String> = array
            .as_array()
            .unwrap()
            .iter()
            .map(|task| format!("{} {} {}", task["status"], task["dependencies"], task["blockedBy"]))
            .collect();
        let expected = [
            r#""completed" [] []"#,
            r#""pending" [] []"#,
            r#""blocked" ["1","2","9"] ["2"]"#,
            r#""pending" ["1"] []"#,
            r#""cancelled" ["2"] ["2"]"#,
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_a_task_says_of_itself_is_kept() {
        let own = json!({"subagent_id": "old", "created_at": "then"});
        let mut one = task(1, Status::Pending, &[], own);
        let times = HashMap::from([(TaskId::number(1), Times { created: Timestamp(0), updated: Timestamp(0) })]);
        let told = |one: &Task| json!(task_array(std::slice::from_ref(one), &times))[0]["metadata"].clone();
        assert_eq!(told(&one)["subagent_id"], "old");
        assert_eq!(told(&one)["created_at"], "then");
        one.owner = Some("new".into());
        assert_eq!(told(&one)["subagent_id"], "new");
    }
}
