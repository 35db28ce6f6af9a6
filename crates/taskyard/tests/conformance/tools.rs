//! The client's tools, as far as the replay needs them: the input is known to be valid, and each call is one operation. What
//! the tools answer is made of what the operations return.

use serde_json::{Map, Value, json};
use taskyard::core::rules::listing::{ClientLine, as_the_client_lists};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{ClientVersion, TaskId};
use taskyard::operations::{Field, Filter, NewTask, OwnerChange, Patch, Update};
use taskyard::{Outcome, Yard};

use crate::recording::Step;

/// What a tool answers: the text the model reads, and the structure behind it.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) structured: Value,
    pub(crate) is_error: bool,
}

impl Answer {
    fn new(text: String, structured: Value) -> Self {
        Self { text, structured, is_error: false }
    }
}

/// Makes a recorded call.
pub(crate) fn call(yard: &Yard, client: ClientVersion, step: &Step) -> Answer {
    let input = step.input.as_object().unwrap();
    match step.tool.as_str() {
        "TaskCreate" => create(yard, client, &repaired_as_the_newest_client_does(input)),
        "TaskGet" => get(yard, &id(input)),
        "TaskUpdate" if input.get("status").is_some_and(|status| status == "deleted") => delete(yard, &id(input)),
        "TaskUpdate" => update(yard, &id(input), input),
        "TaskList" => list(yard, client),
        other => panic!("{other} is not among the tools recorded here"),
    }
}

/// Mends the input of `TaskCreate` as 2.1.325 does. 2.1.34 refuses such input, so that nothing of it comes here.
fn repaired_as_the_newest_client_does(input: &Map<String, Value>) -> Map<String, Value> {
    const KNOWN: [&str; 4] = ["subject", "description", "activeForm", "metadata"];
    let mut repaired = input.clone();
    repaired.retain(|key, value| match key.as_str() {
        "activeForm" => value.is_string(),
        "metadata" => value.is_object(),
        key => KNOWN.contains(&key),
    });
    if let Some(subject) = repaired.get("subject").cloned() {
        repaired.entry("description").or_insert(subject);
    }
    repaired
}

fn create(yard: &Yard, client: ClientVersion, input: &Map<String, Value>) -> Answer {
    let new = NewTask {
        subject: text(input, "subject").unwrap(),
        description: text(input, "description").unwrap(),
        active_form: text(input, "activeForm"),
        metadata: input.get("metadata").and_then(Value::as_object).cloned(),
        ..NewTask::default()
    };
    let task = match yard.create(new).unwrap() {
        Outcome::Done(created) => created.task,
        // The client has made the task by then and taken it away again: to it that is an error.
        Outcome::Refused(Refusal::HookBlocked { feedback, .. }) => {
            return Answer { text: feedback, structured: Value::Null, is_error: true };
        }
        Outcome::Refused(refusal) => panic!("the client refuses nothing else: {refusal}"),
    };
    let mut told = json!({ "id": task.id.as_str(), "subject": task.subject });
    if client == ClientVersion::V2_1_325 {
        told["description"] = json!(task.description);
    }
    Answer::new(format!("Task #{} created successfully: {}", task.id, task.subject), json!({ "task": told }))
}

fn get(yard: &Yard, id: &TaskId) -> Answer {
    let Some(shown) = found(yard.show(id)) else {
        return Answer::new("Task not found".into(), json!({ "task": null }));
    };
    let task = shown.task;
    let mut lines = vec![
        format!("Task #{}: {}", task.shown_id(), task.subject),
        format!("Status: {}", task.status),
        format!("Description: {}", task.description),
    ];
    if !task.blocked_by.is_empty() {
        lines.push(format!("Blocked by: {}", numbered(&task.blocked_by)));
    }
    if !task.blocks.is_empty() {
        lines.push(format!("Blocks: {}", numbered(&task.blocks)));
    }
    let structured = json!({ "task": {
        "id": task.shown_id(),
        "subject": task.subject,
        "description": task.description,
        "status": task.status.as_str(),
        "blocks": plain(&task.blocks),
        "blockedBy": plain(&task.blocked_by),
    }});
    Answer::new(lines.join("\n"), structured)
}

fn update(yard: &Yard, id: &TaskId, input: &Map<String, Value>) -> Answer {
    let update = Update {
        patch: Patch {
            subject: text(input, "subject"),
            description: text(input, "description"),
            active_form: text(input, "activeForm"),
            status: text(input, "status").map(|status| status.parse().unwrap()),
            owner: text(input, "owner").map(OwnerChange::Set),
            metadata: input.get("metadata").and_then(Value::as_object).cloned(),
        },
        add_blocks: ids(input, "addBlocks"),
        add_blocked_by: ids(input, "addBlockedBy"),
        ..Update::default()
    };
    let outcome = yard.update(id, update);
    if let Ok(Outcome::Refused(Refusal::HookBlocked { feedback, .. })) = &outcome {
        return Answer::new(feedback.clone(), Value::Null);
    }
    let Some(updated) = found(outcome) else { return not_found(id) };
    let fields: Vec<&str> = updated.updated.iter().copied().map(Field::as_str).collect();
    let mut structured = json!({ "success": true, "taskId": id.as_str(), "updatedFields": fields });
    if let Some((from, to)) = updated.status_change {
        structured["statusChange"] = json!({ "from": from.as_str(), "to": to.as_str() });
    }
    Answer::new(format!("Updated task #{id} {}", fields.join(", ")), structured)
}

fn delete(yard: &Yard, id: &TaskId) -> Answer {
    let Some(deleted) = found(yard.delete(std::slice::from_ref(id))) else { return not_found(id) };
    let change = json!({ "from": deleted.tasks[0].status.as_str(), "to": "deleted" });
    let structured =
        json!({ "success": true, "taskId": id.as_str(), "updatedFields": ["deleted"], "statusChange": change });
    Answer::new(format!("Updated task #{id} deleted"), structured)
}

fn list(yard: &Yard, client: ClientVersion) -> Answer {
    let listing = yard.list(&Filter::default()).unwrap();
    let lines = as_the_client_lists(listing.tasks, client);
    let shown: Vec<String> = lines.iter().map(line).collect();
    let tasks: Vec<Value> = lines.iter().map(entry).collect();
    let text = if shown.is_empty() { "No tasks found".to_owned() } else { shown.join("\n") };
    Answer::new(text, json!({ "tasks": tasks }))
}

fn line(task: &ClientLine) -> String {
    let mut line = format!("#{} [{}] {}", task.id, task.status, task.subject);
    if let Some(owner) = task.owner.as_deref().filter(|owner| !owner.is_empty()) {
        line.push_str(&format!(" ({owner})"));
    }
    if !task.blocked_by.is_empty() {
        line.push_str(&format!(" [blocked by {}]", numbered(&task.blocked_by)));
    }
    line
}

fn entry(task: &ClientLine) -> Value {
    let mut entry = json!({ "id": task.id, "subject": task.subject, "status": task.status.as_str() });
    if let Some(owner) = &task.owner {
        entry["owner"] = json!(owner);
    }
    entry["blockedBy"] = json!(plain(&task.blocked_by));
    entry
}

/// Returns what was done; none where there was no such task.
fn found<T>(outcome: Result<Outcome<T>, taskyard::Error>) -> Option<T> {
    match outcome.unwrap() {
        Outcome::Done(done) => Some(done),
        Outcome::Refused(Refusal::NoSuchTask { .. }) => None,
        Outcome::Refused(refusal) => panic!("the client refuses nothing else: {refusal}"),
    }
}

fn not_found(id: &TaskId) -> Answer {
    let structured = json!({ "success": false, "taskId": id.as_str(), "updatedFields": [], "error": "Task not found" });
    Answer::new("Task not found".into(), structured)
}

fn id(input: &Map<String, Value>) -> TaskId {
    TaskId::stored(text(input, "taskId").unwrap())
}

fn text(input: &Map<String, Value>, key: &str) -> Option<String> {
    input.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn ids(input: &Map<String, Value>, key: &str) -> Vec<TaskId> {
    let ids = input.get(key).and_then(Value::as_array);
    ids.into_iter().flatten().map(|id| TaskId::stored(id.as_str().unwrap())).collect()
}

fn numbered(ids: &[TaskId]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")
}

fn plain(ids: &[TaskId]) -> Vec<&str> {
    ids.iter().map(TaskId::as_str).collect()
}
