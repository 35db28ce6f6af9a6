//! What `task export` of Taskwarrior prints: an array of tasks, or with `json.array=0` one per line.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::imported::{BadSource, Imported};
use super::markdown::numbered_apart;
use super::objects::{Rest, set, set_priority};
use crate::json_text;
use crate::timing::parse_span;
use crate::{DEFER, DUE, ESTIMATE, Priority, Status, Task, TaskId, Timestamp};

const FORMAT: &str = "taskwarrior";

/// Reads every task.
pub fn read(text: &str) -> Result<Imported, BadSource> {
    let bad = |why: String| BadSource { format: "Taskwarrior export", why };
    let elements: Vec<Value> = if text.trim_start().starts_with('[') {
        json_text::from_str(text).map_err(|error| bad(error.to_string()))?
    } else {
        let lines = text.lines().map(|line| line.trim().trim_end_matches(',')).filter(|line| !line.is_empty());
        lines.map(json_text::from_str).collect::<Result<_, _>>().map_err(|error| bad(error.to_string()))?
    };
    let mut imported = Imported::default();
    let with_instances: HashSet<String> =
        elements.iter().filter_map(|one| one["parent"].as_str()).map(str::to_owned).collect();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, element) in elements.into_iter().enumerate() {
        match element {
            Value::Object(object) if is_template(&object, &with_instances) => {
                let rule = object.get("recur").and_then(Value::as_str).unwrap_or_default();
                let of = object.get("uuid").and_then(Value::as_str).unwrap_or_default();
                imported.lose(
                    of,
                    format!("the template of a recurring task: what it made came, `{rule}` does not recur here"),
                );
            }
            Value::Object(object) => take(Rest(object), &format!("task {}", place + 1), &mut seen, &mut imported),
            _ => imported.lose(format!("task {}", place + 1), "not an object"),
        }
    }
    Ok(imported.without_doubles())
}

/// Tells whether a task is only the template of others that are there.
fn is_template(object: &Map<String, Value>, with_instances: &HashSet<String>) -> bool {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    text("status") == Some("recurring") && text("uuid").is_some_and(|uuid| with_instances.contains(uuid))
}

fn take(mut object: Rest, place: &str, seen: &mut HashMap<String, usize>, imported: &mut Imported) {
    let Some(title) = object.text("description") else { return imported.lose(place, "a task without description") };
    let uuid = object.text("uuid").unwrap_or_else(|| numbered_apart(&title, seen));
    let mut task = Task::new(TaskId::stored(uuid), title);
    let word = object.text("status").unwrap_or_else(|| "pending".to_owned());
    let is_started = object.0.contains_key("start");
    task.status = match word.as_str() {
        "completed" | "deleted" => Status::Completed,
        "pending" if is_started => Status::InProgress,
        _ => Status::Pending,
    };
    let said = if word == "pending" && is_started { "pending, started" } else { &word };
    imported.map("status", said, task.status.as_str());
    match word.as_str() {
        "deleted" => set(&mut task, "cancelled", true),
        "pending" | "completed" => {}
        // Of a waiting task the moment is taken at which it comes up; that it waits is carried, as is how one recurs.
        _ => drop(object.0.insert("status".to_owned(), word.clone().into())),
    }
    if word == "recurring" {
        imported.lose(task.id.as_str(), "a recurring task does not recur here; its rule is kept in the metadata");
    }
    if let Some(letter) = object.text("priority") {
        let priority = match letter.as_str() {
            "H" => Some(Priority::High),
            "M" => Some(Priority::Medium),
            "L" => Some(Priority::Low),
            _ => None,
        };
        match priority {
            Some(priority) => {
                set_priority(&mut task, priority);
                imported.map("priority", &letter, priority.as_str());
            }
            None => drop(object.0.insert("priority".to_owned(), letter.into())),
        }
    }
    let tags = object.array("tags");
    if !tags.is_empty() {
        set(&mut task, "tags", tags);
    }
    // Before 2.6 the uuids were one text with commas.
    if let Some(text) = object.text("depends") {
        task.blocked_by = text.split(',').map(|uuid| TaskId::stored(uuid.trim())).collect();
    }
    task.blocked_by.extend(object.array("depends").iter().filter_map(Value::as_str).map(TaskId::stored));
    // A due date goes back exactly as it came, so that it is also carried.
    let mut times = Rest(object.0.clone());
    times.moment("due", &mut task, DUE, true);
    times.moment("scheduled", &mut task, DEFER, false);
    times.moment("wait", &mut task, DEFER, false);
    if let Some(seconds) = object.0.get(ESTIMATE).and_then(Value::as_str).and_then(seconds_of) {
        set(&mut task, ESTIMATE, seconds);
    }
    let notes: Vec<Value> = object.array("annotations").into_iter().map(note).collect();
    if !notes.is_empty() {
        set(&mut task, "notes", notes);
    }
    // Both change with every look: the place in the working set, and what the time makes of the rest.
    for key in ["id", "urgency"] {
        object.0.shift_remove(key);
    }
    object.carry(&mut task, FORMAT);
    imported.tasks.push(task);
}

/// Reads an estimate, a field that people give their tasks: a span as Taskwarrior prints it (`PT1H30M`), or as they type it.
fn seconds_of(text: &str) -> Option<u64> {
    let printed = || {
        let span: jiff::Span = text.parse().ok()?;
        let days = jiff::SpanRelativeTo::days_are_24_hours();
        u64::try_from(span.to_duration(days).ok()?.as_secs()).ok()
    };
    parse_span(text).ok().map(|span| span.as_secs()).or_else(printed)
}

fn note(annotation: Value) -> Value {
    match (&annotation["entry"], &annotation["description"]) {
        (Value::String(time), text @ Value::String(_)) => json!({ "at": moment(time), "text": text }),
        _ => annotation,
    }
}

/// Writes `20260101T120000Z` as every other time is written.
fn moment(text: &str) -> String {
    Timestamp::parse(text).map_or_else(|| text.to_owned(), |moment| moment.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;
    use crate::{Priority, Status, TaskId};

    const EXPORT: &str = r#"[
{"id":1,"description":"Design schema","entry":"20260101T120000Z","modified":"20260102T120000Z","priority":"H","project":"rocket","start":"20260102T120000Z","status":"pending","tags":["db","next"],"uuid":"00000000-0000-4000-8000-000000000001","annotations":[{"entry":"20260102T120000Z","description":"ask ana"}],"urgency":15.8},
{"id":2,"depends":["00000000-0000-4000-8000-000000000001"],"description":"Write API","due":"20260301T000000Z","entry":"20260101T120000Z","status":"pending","uuid":"00000000-0000-4000-8000-000000000002","urgency":1},
{"id":0,"description":"Old idea","end":"20260103T120000Z","entry":"20260101T120000Z","status":"deleted","uuid":"00000000-0000-4000-8000-000000000003","urgency":0}
]"#;

    #[test]
    fn tasks_come_with_their_states_and_edges() {
        let imported = read(EXPORT).unwrap();
        let [schema, api, old] = imported.tasks.as_slice() else { panic!("{:?}", imported.tasks) };
        assert_eq!((schema.status, api.status), (Status::InProgress, Status::Pending));
        assert!(old.is_cancelled());
        assert_eq!(schema.priority(), Priority::High);
        assert_eq!(schema.tags().collect::<Vec<_>>(), ["db", "next"]);
        assert_eq!(schema.meta("notes"), Some(&json!([{"at": "2026-01-02T12:00:00.000Z", "text": "ask ana"}])));
        assert_eq!(api.blocked_by, [TaskId::stored("00000000-0000-4000-8000-000000000001")]);
        assert_eq!(api.meta("taskwarrior").unwrap()["due"], "20260301T000000Z");
        assert_eq!(api.meta("due").unwrap(), "2026-03-01T00:00:00.000Z");
        assert_eq!(schema.meta("taskwarrior").unwrap()["project"], "rocket");
    }

    #[test]
    fn lines_and_the_old_form_of_dependencies_are_read() {
        let lines = "{\"uuid\":\"a\",\"description\":\"x\",\"status\":\"pending\",\"depends\":\"b,c\"},\n{\"uuid\":\"b\",\"description\":\"y\",\"status\":\"completed\"}\n";
        let imported = read(lines).unwrap();
        assert_eq!(imported.tasks[0].blocked_by, ["b", "c"].map(TaskId::stored));
        assert_eq!(imported.tasks[1].status, Status::Completed);
    }

    #[test]
    fn a_template_is_no_second_task_beside_what_it_made() {
        let text = r#"[{"uuid":"a","description":"Water","status":"recurring","recur":"weekly","mask":"-"},
            {"uuid":"b","description":"Water","status":"pending","recur":"weekly","parent":"a","imask":0},
            {"description":"By hand","status":"pending"}]"#;
        let imported = read(text).unwrap();
        let ids: Vec<&str> = imported.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["b", "By hand"]);
        assert_eq!(imported.losses.len(), 1);
        assert!(imported.losses[0].of == "a" && imported.losses[0].what.contains("`weekly`"), "{imported:?}");
    }

    #[test]
    fn a_recurring_task_is_pointed_out() {
        let imported = read(r#"[{"uuid":"a","description":"x","status":"recurring","recur":"weekly"}]"#).unwrap();
        assert_eq!((imported.tasks.len(), imported.losses.len()), (1, 1));
        assert_eq!(imported.tasks[0].meta("taskwarrior"), Some(&json!({"recur": "weekly", "status": "recurring"})));
    }

    #[test]
    fn an_estimate_is_taken_in_any_form_a_span_has() {
        let estimate = |text: &str| {
            let task = format!(r#"[{{"description":"a","status":"pending","uuid":"u","estimate":"{text}"}}]"#);
            let task = read(&task).unwrap().tasks.remove(0);
            assert_eq!(task.meta("taskwarrior").unwrap()["estimate"], text);
            task.meta("estimate").cloned()
        };
        let forms = ["PT1H30M", "P1DT1H", "90min", "soon"].map(estimate);
        assert_eq!(forms, [Some(json!(5400)), Some(json!(90_000)), Some(json!(5400)), None]);
    }

    #[test]
    fn a_waiting_task_is_deferred_to_the_moment_at_which_it_comes_up() {
        let text = r#"[{"description":"a","status":"waiting","uuid":"u","scheduled":"20260301T000000Z","wait":"20260401T120000Z"}]"#;
        let task = read(text).unwrap().tasks.remove(0);
        assert_eq!(task.meta("defer").unwrap(), "2026-04-01T12:00:00.000Z");
        assert_eq!(task.meta("taskwarrior").unwrap()["wait"], "20260401T120000Z");
    }
}
