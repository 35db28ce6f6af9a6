//! The JSON lines of beads: one issue per line.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::imported::{BadSource, Imported};
use crate::dialect::foreign::checklists::numbered_apart;
use crate::dialect::foreign::imported::{Rest, add_part, carried, put_moment, set, set_priority, take_part};
use crate::dialect::hook_input::Times;
use crate::task::{NoteRead, notes_of, read_note};
use crate::{DEFER, DUE, ESTIMATE, Priority, Status, Task, TaskId, Timestamp, json_text};

const FORMAT: &str = "beads";

/// Reads every issue.
pub fn read(text: &str) -> Result<Imported, BadSource> {
    let mut imported = Imported::default();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |why: String| BadSource { format: "beads JSONL", why: format!("line {}: {why}", number + 1) };
        match json_text::from_str(line) {
            Ok(Value::Object(issue)) => take(Rest(issue), &format!("line {}", number + 1), &mut seen, &mut imported),
            Ok(_) => return Err(bad("not an object".to_owned())),
            Err(error) => return Err(bad(error.to_string())),
        }
    }
    Ok(imported.without_doubles())
}

fn take(mut issue: Rest, place: &str, seen: &mut HashMap<String, usize>, imported: &mut Imported) {
    let Some(title) = issue.text("title") else { return imported.lose(place, "an issue without title") };
    // An issue without an id is identified by its title, since its line changes.
    let id = issue.word("id").unwrap_or_else(|| numbered_apart(&title, seen));
    let word = issue.text("status").unwrap_or_else(|| "open".to_owned());
    if word == "tombstone" {
        return imported.lose(id, "deleted there");
    }
    let mut task = Task::new(TaskId::stored(id), title);
    task.status = match word.as_str() {
        "closed" => Status::Completed,
        "in_progress" | "hooked" => Status::InProgress,
        _ => Status::Pending,
    };
    imported.map("status", &word, task.status.as_str());
    // A state with its own meaning stays readable; `blocked` follows from the edges.
    if !["open", "in_progress", "blocked", "closed"].contains(&word.as_str()) {
        issue.0.insert("status".to_owned(), word.into());
    }
    task.description = issue.text("description").unwrap_or_default();
    for (key, heading) in [("design", "Design"), ("acceptance_criteria", "Acceptance criteria"), ("notes", "Notes")] {
        if let Some(text) = issue.text(key) {
            add_part(&mut task, heading, &text);
        }
    }
    task.owner = issue.text("assignee");
    if let Some(number) = issue.0.get("priority").and_then(Value::as_u64) {
        let priority = match number {
            0 | 1 => Priority::High,
            2 => Priority::Medium,
            _ => Priority::Low,
        };
        // Five levels become three, so the original number is carried.
        set_priority(&mut task, priority);
        imported.map("priority", &number.to_string(), priority.as_str());
    }
    let labels = issue.array("labels");
    if !labels.is_empty() {
        set(&mut task, "tags", labels);
    }
    let mut times = Rest(issue.0.clone());
    times.moment("due_at", &mut task, DUE, true);
    times.moment("defer_until", &mut task, DEFER, false);
    if let Some(minutes) = issue.0.get("estimated_minutes").and_then(Value::as_u64) {
        set(&mut task, ESTIMATE, minutes.saturating_mul(60));
    }
    // The default type of an issue is task.
    if let Some(kind) = issue.0.get("issue_type").and_then(Value::as_str).filter(|kind| !["", "task"].contains(kind)) {
        let kind = kind.to_owned();
        set(&mut task, "kind", kind);
    }
    take_dependencies(&mut issue, &mut task, imported);
    let notes: Vec<Value> = issue.array("comments").into_iter().map(note).collect();
    if !notes.is_empty() {
        set(&mut task, "notes", notes);
    }
    issue.carry(&mut task, FORMAT);
    imported.tasks.push(task);
}

/// Reads the edges and the parent; every other relation is carried unchanged.
fn take_dependencies(issue: &mut Rest, task: &mut Task, imported: &mut Imported) {
    let mut others = Vec::new();
    for dependency in issue.array("dependencies") {
        let on = dependency.get("depends_on_id").and_then(Value::as_str).map(TaskId::stored);
        match (dependency.get("type").and_then(Value::as_str).unwrap_or("blocks"), on) {
            ("blocks", Some(on)) => task.blocked_by.push(on),
            ("parent-child", Some(on)) if task.parent().is_none() => set(task, "parent", on.as_str()),
            (kind, _) => {
                if ["waits-for", "conditional-blocks"].contains(&kind) {
                    imported.lose(
                        task.id.as_str(),
                        format!("`{kind}` is not a blocking dependency; it is kept in the metadata"),
                    );
                }
                others.push(dependency);
            }
        }
    }
    if !others.is_empty() {
        issue.0.insert("dependencies".to_owned(), others.into());
    }
}

fn note(comment: Value) -> Value {
    match (&comment["created_at"], &comment["author"], &comment["text"]) {
        (time @ Value::String(_), author @ Value::String(_), text @ Value::String(_)) => {
            json!({ "at": time, "author": author, "text": text })
        }
        _ => comment,
    }
}

/// Writes one issue per line. Tasks whose creation and change times are unknown get `now`.
pub fn write(tasks: &[Task], times: &HashMap<TaskId, Times>, now: Timestamp) -> String {
    let issue = |task| Value::Object(issue(task, times, now)).to_string() + "\n";
    tasks.iter().map(issue).collect()
}

fn issue(task: &Task, times: &HashMap<TaskId, Times>, now: Timestamp) -> Map<String, Value> {
    let known = times.get(&task.id);
    let created = known.map_or(now, |times| times.created).to_string();
    let updated = known.map_or(now, |times| times.updated).to_string();
    let mut object = carried(task, FORMAT);
    let was = object.shift_remove("status");
    let id = beads_id(&task.id);
    let status = match (task.status, was.as_ref().and_then(Value::as_str)) {
        (Status::Completed, _) => "closed",
        (Status::InProgress, Some("hooked")) => "hooked",
        (Status::InProgress, _) => "in_progress",
        (Status::Pending, Some(word)) => word,
        (Status::Pending, None) => "open",
    };
    let mut description = task.description.clone();
    for (key, heading) in [("notes", "Notes"), ("acceptance_criteria", "Acceptance criteria"), ("design", "Design")] {
        object.extend(take_part(&mut description, heading).map(|text| (key.to_owned(), text.into())));
    }
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("id", id.clone().into());
    put("title", task.subject.as_str().into());
    put("description", description.into());
    put("status", status.into());
    let was = task.meta(FORMAT).and_then(|carried| carried.get("priority")).and_then(Value::as_u64);
    let read_as = |number: u64| match number {
        0 | 1 => Priority::High,
        2 => Priority::Medium,
        _ => Priority::Low,
    };
    let number = was.filter(|number| read_as(*number) == task.priority()).unwrap_or(match task.priority() {
        Priority::High => 1,
        Priority::Medium => 2,
        Priority::Low => 3,
    });
    put("priority", number.into());
    put("issue_type", task.meta("kind").and_then(Value::as_str).unwrap_or("task").into());
    if let Some(owner) = task.owner() {
        put("assignee", owner.into());
    }
    let labels: Vec<&str> = task.tags().collect();
    if !labels.is_empty() {
        put("labels", labels.into());
    }
    if status == "closed" {
        let closed = was_closed(task).unwrap_or_else(|| updated.clone());
        put("closed_at", closed.into());
        if task.is_cancelled() {
            put("close_reason", "Cancelled".into());
        }
    }
    let dependency = |on: &TaskId, kind: &str| json!({"issue_id": id, "depends_on_id": beads_id(on), "type": kind, "created_at": created, "created_by": "taskyard"});
    let mut dependencies: Vec<Value> = task.blocked_by.iter().map(|on| dependency(on, "blocks")).collect();
    dependencies.extend(task.parent().map(|parent| dependency(&parent, "parent-child")));
    let comment = |(number, note): (usize, &Value)| {
        let NoteRead { at, author, text } = read_note(note);
        json!({"id": number + 1, "issue_id": id, "author": author.unwrap_or("taskyard"), "text": text, "created_at": at.unwrap_or(&created)})
    };
    let comments: Vec<Value> = notes_of(task).iter().enumerate().map(comment).collect();
    if let Some(Value::Array(others)) = object.shift_remove("dependencies") {
        dependencies.extend(others);
    }
    for (key, values) in [("dependencies", dependencies), ("comments", comments)] {
        object.extend((!values.is_empty()).then(|| (key.to_owned(), values.into())));
    }
    put_moment(&mut object, "due_at", task.due(), true, |moment| moment.to_string());
    put_moment(&mut object, "defer_until", task.defer(), false, |moment| moment.to_string());
    let minutes = task.estimate().map(|span| span.as_secs().div_ceil(60));
    object.extend(minutes.map(|minutes| ("estimated_minutes".to_owned(), minutes.into())));
    for (key, moment) in [("created_at", created), ("updated_at", updated)] {
        object.entry(key).or_insert_with(|| moment.into());
    }
    object
}

fn was_closed(task: &Task) -> Option<String> {
    task.meta(FORMAT)?.get("closed_at")?.as_str().map(str::to_owned)
}

/// Returns an id with a prefix before its hyphen, as every issue id has.
fn beads_id(id: &TaskId) -> String {
    if id.as_number().is_some() { format!("yd-{id}") } else { id.as_str().to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;
    use crate::{Status, TaskId};

    const ISSUES: &str = r#"{"id":"bd-a1","title":"Epic","description":"All of it","status":"open","priority":1,"issue_type":"epic","created_at":"2025-10-14T12:00:00Z","updated_at":"2025-10-14T12:00:00Z"}
{"id":"bd-a1.1","title":"Schema","status":"closed","priority":2,"issue_type":"task","assignee":"ana","labels":["db"],"closed_at":"2025-10-15T12:00:00Z","close_reason":"Completed","created_at":"2025-10-14T12:00:00Z","updated_at":"2025-10-15T12:00:00Z","dependencies":[{"issue_id":"bd-a1.1","depends_on_id":"bd-a1","type":"parent-child","created_at":"2025-10-14T12:00:00Z","created_by":"ana"}]}

{"id":"bd-f3","title":"API","acceptance_criteria":"It answers","status":"blocked","priority":4,"issue_type":"feature","created_at":"2025-10-14T12:00:00Z","updated_at":"2025-10-14T12:00:00Z","dependencies":[{"issue_id":"bd-f3","depends_on_id":"bd-a1.1","type":"blocks"},{"issue_id":"bd-f3","depends_on_id":"bd-a1","type":"discovered-from"}],"comments":[{"id":1,"issue_id":"bd-f3","author":"bob","text":"Soon","created_at":"2025-10-16T12:00:00Z"}]}
{"id":"bd-x","title":"Gone","status":"tombstone","priority":2,"issue_type":"task"}"#;

    #[test]
    fn issues_come_with_their_states_edges_and_parents() {
        let imported = read(ISSUES).unwrap();
        let [epic, schema, api] = imported.tasks.as_slice() else { panic!("{:?}", imported.tasks) };
        assert_eq!((epic.status, schema.status, api.status), (Status::Pending, Status::Completed, Status::Pending));
        assert_eq!((schema.parent(), schema.owner()), (Some(epic.id.clone()), Some("ana")));
        assert_eq!(api.blocked_by, [TaskId::stored("bd-a1.1")]);
        assert_eq!(api.description, "## Acceptance criteria\n\nIt answers");
        assert_eq!(api.meta("notes"), Some(&json!([{"at": "2025-10-16T12:00:00Z", "author": "bob", "text": "Soon"}])));
        assert_eq!(imported.losses.len(), 1, "{:?}", imported.losses);
    }

    #[test]
    fn what_has_no_place_of_its_own_is_carried() {
        let imported = read(ISSUES).unwrap();
        let carried = imported.tasks[2].meta("beads").unwrap();
        assert_eq!((&carried["issue_type"], &carried["priority"]), (&json!("feature"), &json!(4)));
        assert_eq!(carried["dependencies"][0]["type"], "discovered-from");
        assert_eq!(imported.tasks[1].meta("beads").unwrap()["close_reason"], "Completed");
        let kinds: Vec<_> = imported.tasks.iter().map(|task| task.meta("kind").cloned()).collect();
        assert_eq!(kinds, [Some(json!("epic")), None, Some(json!("feature"))]);
    }

    #[test]
    fn times_are_taken_and_go_back_as_they_came() {
        let issue = r#"{"id":"a","title":"t","due_at":"2026-11-20T17:00:00+01:00","defer_until":"2026-11-18","estimated_minutes":90}"#;
        let task = read(issue).unwrap().tasks.remove(0);
        let times = ["due", "defer", "estimate"].map(|key| task.meta(key).cloned().unwrap_or_default());
        assert_eq!(times, [json!("2026-11-20T16:00:00.000Z"), json!("2026-11-18T00:00:00.000Z"), json!(5400)]);
        assert_eq!(task.meta("beads").unwrap()["due_at"], "2026-11-20T17:00:00+01:00");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let tasks = read(ISSUES).unwrap().tasks;
        let text = super::write(&tasks, &std::collections::HashMap::new(), crate::Timestamp(0));
        assert_eq!(read(&text).unwrap().tasks, tasks, "{text}");
    }

    #[test]
    fn a_line_that_is_no_json_is_named() {
        assert!(read("{\"id\":\"a\",\"title\":\"t\"}\n{").unwrap_err().why.starts_with("line 2: "));
    }
}
