//! The JSON that a hook reads on stdin, specified in `docs/formats/hooks.md`.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Status, Task, TaskId, Timestamp};

/// The keys that every event has.
#[derive(Clone, Debug, Serialize)]
pub struct Common<'a> {
    /// The id of the client's session; empty if there is none.
    pub session_id: &'a str,
    /// The session's transcript file; empty if there is none.
    pub transcript_path: &'a str,
    /// The working directory.
    pub cwd: &'a str,
}

/// A member of a team.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Teammate {
    /// The member's name.
    #[serde(rename = "teammate_name")]
    pub name: String,
    /// The team's name.
    #[serde(rename = "team_name")]
    pub team: String,
}

/// `TaskCreated` and `TaskCompleted`.
#[derive(Clone, Debug, Serialize)]
pub struct TaskEventInput<'a> {
    /// The keys that every event has.
    #[serde(flatten)]
    pub common: Common<'a>,
    /// The name of the event.
    pub hook_event_name: &'static str,
    /// The task.
    pub task_id: &'a str,
    /// The title before the change.
    pub task_subject: &'a str,
    /// The description before the change.
    pub task_description: &'a str,
    /// The acting team member, if any.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub teammate: Option<&'a Teammate>,
}

/// `SubagentStop`: the client's keys, then those of the document format.
#[derive(Clone, Debug, Serialize)]
pub struct SubagentStopInput<'a> {
    /// The keys that every event has.
    #[serde(flatten)]
    pub common: Common<'a>,
    /// The agent's permission mode.
    pub permission_mode: &'a str,
    /// The name of the event.
    pub hook_event_name: &'static str,
    /// Whether the agent only continues because a hook blocked its end before.
    pub stop_hook_active: bool,
    /// The agent.
    pub agent_id: &'a str,
    /// The agent's transcript file; empty if there is none.
    pub agent_transcript_path: &'a str,
    /// The type of the agent.
    pub agent_type: &'a str,
    /// The tasks it completed.
    pub tasks_completed: Vec<&'a str>,
    /// The result of its work.
    pub result: &'a Value,
}

/// `TeammateIdle`.
#[derive(Clone, Debug, Serialize)]
pub struct TeammateIdleInput<'a> {
    /// The keys that every event has.
    #[serde(flatten)]
    pub common: Common<'a>,
    /// The agent's permission mode.
    pub permission_mode: &'a str,
    /// The name of the event.
    pub hook_event_name: &'static str,
    /// The idle member.
    #[serde(flatten)]
    pub teammate: &'a Teammate,
}

/// One element of the task array.
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

/// When a task was created and last changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// When it was created.
    pub created: Timestamp,
    /// When it last changed.
    pub updated: Timestamp,
}

/// Returns the tasks of a list in order, without the client's own bookkeeping.
///
/// `dependencies` lists all blockers, `blockedBy` the open ones. An open task with open blockers has the status
/// `blocked`. Times come from the journal if it has them, but times in a task's own metadata take precedence.
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
    use serde_json::json;

    use super::{Common, SubagentStopInput, TaskEventInput, Teammate, TeammateIdleInput};

    const COMMON: Common<'static> = Common { session_id: "s", transcript_path: "/t.jsonl", cwd: "/w" };

    #[test]
    fn a_task_event_has_the_clients_keys_in_its_order() {
        let bob = Teammate { name: "bob".into(), team: "alpha".into() };
        let mut input = TaskEventInput {
            common: COMMON,
            hook_event_name: "TaskCompleted",
            task_id: "1",
            task_subject: "A",
            task_description: "B",
            teammate: None,
        };
        let alone = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/w","hook_event_name":"TaskCompleted","task_id":"1","task_subject":"A","task_description":"B"}"#;
        assert_eq!(serde_json::to_string(&input).unwrap(), alone);
        input.teammate = Some(&bob);
        let together = alone.replace('}', r#","teammate_name":"bob","team_name":"alpha"}"#);
        assert_eq!(serde_json::to_string(&input).unwrap(), together);
    }

    #[test]
    fn agent_end_has_client_keys_then_document_keys() {
        let result = json!({"exitCode": 0});
        let input = SubagentStopInput {
            common: COMMON,
            permission_mode: "default",
            hook_event_name: "SubagentStop",
            stop_hook_active: false,
            agent_id: "a1",
            agent_transcript_path: "",
            agent_type: "builder",
            tasks_completed: vec!["3"],
            result: &result,
        };
        let text = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/w","permission_mode":"default","hook_event_name":"SubagentStop","stop_hook_active":false,"agent_id":"a1","agent_transcript_path":"","agent_type":"builder","tasks_completed":["3"],"result":{"exitCode":0}}"#;
        assert_eq!(serde_json::to_string(&input).unwrap(), text);
    }

    #[test]
    fn an_idle_teammate_is_named_last() {
        let bob = Teammate { name: "bob".into(), team: "alpha".into() };
        let input = TeammateIdleInput {
            common: COMMON,
            permission_mode: "default",
            hook_event_name: "TeammateIdle",
            teammate: &bob,
        };
        let text = r#"{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/w","permission_mode":"default","hook_event_name":"TeammateIdle","teammate_name":"bob","team_name":"alpha"}"#;
        assert_eq!(serde_json::to_string(&input).unwrap(), text);
    }
}

#[cfg(test)]
mod task_array_tests {
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
