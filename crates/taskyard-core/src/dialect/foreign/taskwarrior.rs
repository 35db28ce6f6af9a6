//! What `task export` of Taskwarrior prints: an array of tasks, or with `json.array=0` one per line.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::imported::{BadSource, Imported};
use crate::dialect::foreign::checklists::numbered_apart;
use crate::dialect::foreign::imported::{Rest, carried, put_moment, set, set_priority};
use crate::task::{NoteRead, notes_of, read_note};
use crate::timing::parse_span;
use crate::{DEFER, DUE, ESTIMATE, Priority, Status, Task, TaskId, Timestamp, json_text};

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
                    format!("the template of a recurring task: the tasks it made are imported, but `{rule}` does not recur here"),
                );
            }
            Value::Object(object) => take(Rest(object), &format!("task {}", place + 1), &mut seen, &mut imported),
            _ => imported.lose(format!("task {}", place + 1), "not an object"),
        }
    }
    Ok(imported.without_doubles())
}

/// Returns whether a task is only the template of other existing tasks.
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
        // For a waiting task we use the time at which it becomes visible; its state and recurrence are carried.
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
    // Before 2.6 the UUIDs were one string separated by commas.
    if let Some(text) = object.text("depends") {
        task.blocked_by = text.split(',').map(|uuid| TaskId::stored(uuid.trim())).collect();
    }
    task.blocked_by.extend(object.array("depends").iter().filter_map(Value::as_str).map(TaskId::stored));
    // A due date is exported exactly as it was imported, so it is also carried.
    let mut times = Rest(object.0.clone());
    times.moment("due", &mut task, DUE, true);
    times.moment("scheduled", &mut task, DEFER, false);
    times.moment("wait", &mut task, DEFER, false);
    if let Some(seconds) = object.0.get(ESTIMATE).and_then(Value::as_str).and_then(seconds_of) {
        set(&mut task, ESTIMATE, seconds);
    }
    if let Some(project) = object.0.get("project").and_then(Value::as_str).filter(|project| !project.is_empty()) {
        let project = project.to_owned();
        set(&mut task, "project", project);
    }
    let notes: Vec<Value> = object.array("annotations").into_iter().map(note).collect();
    if !notes.is_empty() {
        set(&mut task, "notes", notes);
    }
    // Both change with every export: the position in the working set, and the urgency.
    for key in ["id", "urgency"] {
        object.0.shift_remove(key);
    }
    object.carry(&mut task, FORMAT);
    imported.tasks.push(task);
}

/// Reads an estimate, a user-defined field: a duration as Taskwarrior prints it (`PT1H30M`), or as people type it.
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

/// Converts `20260101T120000Z` to the usual form of a time.
fn moment(text: &str) -> String {
    Timestamp::parse(text).map_or_else(|| text.to_owned(), |moment| moment.to_string())
}

/// Writes tasks as `task import` reads them. Ids that are not UUIDs are replaced by UUIDs, always the same for the same
/// `source` and id.
pub fn write(tasks: &[Task], source: &str) -> String {
    let elements = tasks.iter().map(|task| Value::Object(element(task, source)));
    let lines: Vec<String> = elements.map(|element| element.to_string()).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

fn element(task: &Task, source: &str) -> Map<String, Value> {
    let mut object = carried(task, FORMAT);
    let was = object.shift_remove("status");
    let status = match task.status {
        Status::Completed if task.is_cancelled() => "deleted",
        Status::Completed => "completed",
        // Recurrence and waiting are in the carried fields.
        Status::Pending if was == Some("waiting".into()) => "waiting",
        Status::InProgress | Status::Pending => "pending",
    };
    object.insert("uuid".to_owned(), uuid(&task.id, source).into());
    object.insert("description".to_owned(), one_line(&task.subject).into());
    object.insert("status".to_owned(), status.into());
    match task.status {
        Status::InProgress => drop(object.entry("start").or_insert_with(|| LONG_AGO.into())),
        Status::Pending => drop(object.shift_remove("start")),
        Status::Completed => {}
    }
    let priority = task.stated_priority().map(|priority| match priority {
        Priority::High => "H",
        Priority::Medium => "M",
        Priority::Low => "L",
    });
    object.extend(priority.map(|letter| ("priority".to_owned(), letter.into())));
    let tags: Vec<String> = task.tags().map(|tag| tag.split_whitespace().collect::<Vec<_>>().join("_")).collect();
    object.extend((!tags.is_empty()).then(|| ("tags".to_owned(), tags.into())));
    object.extend(
        task.meta("project")
            .filter(|project| project.is_string())
            .map(|project| ("project".to_owned(), project.clone())),
    );
    put_moment(&mut object, "due", task.due(), true, compact);
    let key = if object.contains_key("scheduled") && !object.contains_key("wait") { "scheduled" } else { "wait" };
    put_moment(&mut object, key, task.defer(), false, compact);
    let estimate = task.estimate().map(|span| span.as_secs());
    if object.get(ESTIMATE).and_then(Value::as_str).and_then(seconds_of) != estimate {
        object.shift_remove(ESTIMATE);
        object.extend(estimate.map(|seconds| (ESTIMATE.to_owned(), format!("PT{seconds}S").into())));
    }
    let on: Vec<String> = task.blocked_by.iter().map(|id| uuid(id, source)).collect();
    object.extend((!on.is_empty()).then(|| ("depends".to_owned(), on.into())));
    let description = Some(&task.description).filter(|text| !text.is_empty());
    let description = description.map(|text| json!({ "entry": LONG_AGO, "description": text }));
    let notes = notes_of(task).iter().map(annotation);
    let annotations: Vec<Value> = description.into_iter().chain(notes).collect();
    object.extend((!annotations.is_empty()).then(|| ("annotations".to_owned(), annotations.into())));
    object
}

/// The time written for an event whose time is unknown.
const LONG_AGO: &str = "20000101T000000Z";

fn annotation(note: &Value) -> Value {
    let NoteRead { at, text, .. } = read_note(note);
    let at = at.and_then(Timestamp::parse).map_or_else(|| LONG_AGO.to_owned(), compact);
    json!({ "entry": at, "description": text })
}

/// Writes a moment as Taskwarrior does: `20260301T000000Z`.
fn compact(moment: Timestamp) -> String {
    let text = moment.to_string();
    let digits: String = text.chars().take(19).filter(|letter| !['-', ':'].contains(letter)).collect();
    format!("{digits}Z")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the id if it is a UUID, or else a version 8 UUID derived from it.
fn uuid(id: &TaskId, source: &str) -> String {
    let text = id.as_str();
    let is_uuid = text.len() == 36
        && text.char_indices().all(|(at, letter)| match at {
            8 | 13 | 18 | 23 => letter == '-',
            _ => letter.is_ascii_hexdigit(),
        });
    if is_uuid {
        return text.to_lowercase();
    }
    // FNV-1a, twice with different seeds.
    let hash = |begin: u64| {
        let bytes = source.bytes().chain([0]).chain(text.bytes());
        bytes.fold(begin, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    let (high, low) = (hash(0xcbf2_9ce4_8422_2325), hash(0x8422_2325_cbf2_9ce4));
    let (high, low) = ((high & !0xf000) | 0x8000, (low & !(0b11 << 62)) | (0b10 << 62));
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
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
        assert_eq!(
            (schema.meta("taskwarrior").unwrap()["project"].as_str(), schema.meta("project")),
            (Some("rocket"), Some(&json!("rocket")))
        );
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
    fn what_is_written_is_read_again() {
        let tasks = read(EXPORT).unwrap().tasks;
        assert_eq!(read(&super::write(&tasks, "x")).unwrap().tasks, tasks);
    }

    #[test]
    fn ids_become_uuids_that_stay_the_same() {
        let mut task = crate::Task::new(TaskId::number(2), "two\nlines");
        task.blocked_by = vec![TaskId::number(1)];
        let text = super::write(&[crate::Task::new(TaskId::number(1), "one"), task], "rocket");
        let read = read(&text).unwrap().tasks;
        assert_eq!(read[1].blocked_by, [read[0].id.clone()]);
        assert!(read[0].id.as_str().len() == 36 && read[1].subject == "two lines");
        assert_ne!(super::uuid(&TaskId::number(1), "rocket"), super::uuid(&TaskId::number(1), "other"));
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
    fn deferred_task_appears_at_its_time() {
        let text = r#"[{"description":"a","status":"waiting","uuid":"u","scheduled":"20260301T000000Z","wait":"20260401T120000Z"}]"#;
        let task = read(text).unwrap().tasks.remove(0);
        assert_eq!(task.meta("defer").unwrap(), "2026-04-01T12:00:00.000Z");
        assert_eq!(task.meta("taskwarrior").unwrap()["wait"], "20260401T120000Z");
    }
}
