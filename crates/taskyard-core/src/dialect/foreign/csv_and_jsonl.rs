//! One task per row of a CSV table, or per line of JSON.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::imported::{BadSource, Imported};
use crate::dialect::foreign::checklists::numbered_apart;
use crate::dialect::native;
use crate::dialect::native::Unreadable;
use crate::{Task, TaskId, json_text};

const COLUMNS: &str =
    "id,subject,status,owner,priority,tags,due,defer,estimate,blockedBy,blocks,parent,activeForm,description,metadata";

/// Writes tasks as a table. Fields without a column go to the last one, as JSON.
pub fn write(tasks: &[Task]) -> String {
    let mut text = format!("{COLUMNS}\r\n");
    for task in tasks {
        let tags: Vec<&str> = task.tags().collect();
        let metadata = task.metadata.clone().map(|metadata| Value::Object(metadata).to_string());
        let parent = task.parent();
        let [due, defer] = [task.due(), task.defer()].map(|moment| moment.map(|moment| moment.to_string()));
        let estimate = task.estimate().map(|estimate| estimate.as_secs().to_string());
        let row = [
            task.id.as_str(),
            &task.subject,
            if task.is_cancelled() { "cancelled" } else { task.status.as_str() },
            task.owner().unwrap_or_default(),
            task.stated_priority().map_or("", |priority| priority.as_str()),
            &tags.join(" "),
            due.as_deref().unwrap_or_default(),
            defer.as_deref().unwrap_or_default(),
            estimate.as_deref().unwrap_or_default(),
            &ids(&task.blocked_by),
            &ids(&task.blocks),
            parent.as_ref().map_or("", TaskId::as_str),
            task.active_form.as_deref().unwrap_or_default(),
            &task.description,
            metadata.as_deref().unwrap_or_default(),
        ];
        text.push_str(&row.map(cell).join(","));
        text.push_str("\r\n");
    }
    text
}

fn ids(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(" ")
}

fn cell(text: &str) -> String {
    // A spreadsheet would evaluate such a text as a formula.
    let guarded = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.to_owned() };
    if guarded.contains([',', '"', '\n', '\r']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

/// Reads every line. A task without an id is identified by its subject, since its position may change.
pub fn read(text: &str) -> Result<Imported, BadSource> {
    let mut lines = Vec::new();
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |why: String| BadSource { format: "jsonl", why: format!("line {}: {why}", place + 1) };
        let value: Value = json_text::from_str(line).map_err(|error| bad(error.to_string()))?;
        lines.push((format!("line {}", place + 1), line, value));
    }
    // A line without an id must not get the id of another line.
    let mut seen: HashMap<String, usize> =
        lines.iter().filter_map(|(_, _, value)| Some((stated_id(value)?, 1))).collect();
    let mut imported = Imported::default();
    for (place, line, value) in &lines {
        match read_line(line, value, &mut seen) {
            Ok(task) => imported.tasks.push(task),
            Err(why) => imported.lose(place.as_str(), why.to_string()),
        }
    }
    Ok(imported.without_doubles())
}

fn read_line(line: &str, value: &Value, seen: &mut HashMap<String, usize>) -> Result<Task, Unreadable> {
    let stated = stated_id(value);
    if let Some(id) = &stated {
        let whole = native::read(&TaskId::stored(id), line.as_bytes());
        if !matches!(whole, Err(Unreadable::Missing { .. } | Unreadable::WrongType { key: "id", .. })) {
            return whole;
        }
    }
    let (Value::Object(object), Some(subject)) = (value, value.get("subject").and_then(Value::as_str)) else {
        return native::read(&TaskId::stored(stated.unwrap_or_default()), line.as_bytes());
    };
    let id = stated.unwrap_or_else(|| numbered_apart(subject, seen));
    let text = Value::Object(completed(object, &id)).to_string();
    native::read(&TaskId::stored(id), text.as_bytes())
}

/// Returns the id that a line states, as a string or a number.
fn stated_id(value: &Value) -> Option<String> {
    match value.get("id")? {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

/// Adds what a line leaves out.
fn completed(object: &Map<String, Value>, id: &str) -> Map<String, Value> {
    let mut whole = object.clone();
    whole.insert("id".to_owned(), id.into());
    for (key, value) in [("description", "".into()), ("status", "pending".into())] {
        whole.entry(key).or_insert(value);
    }
    for key in ["blocks", "blockedBy"] {
        whole.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::{Task, TaskId};

    #[test]
    fn csv_quotes_cells_and_formulas_stay_text() {
        let mut task = Task::new(TaskId::number(1), "=HYPERLINK(\"x\")");
        task.description = "one,\ntwo".into();
        task.blocked_by = vec![TaskId::number(2), TaskId::number(3)];
        let text = write(&[task]);
        let row = text.split_once("\r\n").unwrap().1;
        assert_eq!(row, "1,\"'=HYPERLINK(\"\"x\"\")\",pending,,,,,,,2 3,,,,\"one,\ntwo\",\r\n");
    }

    #[test]
    fn times_have_columns_and_estimates_are_seconds() {
        let mut task = Task::new(TaskId::number(1), "x");
        let metadata = serde_json::json!({"due": "2026-11-20T17:00:00.000Z", "estimate": 5400});
        task.metadata = metadata.as_object().cloned();
        let text = write(&[task]);
        assert!(text.starts_with("id,subject,status,owner,priority,tags,due,defer,estimate,"), "{text}");
        assert!(text.contains(",pending,,,,2026-11-20T17:00:00.000Z,,5400,"), "{text}");
    }
}

#[cfg(test)]
mod jsonl_tests {
    use super::read;
    use crate::{Status, TaskId};

    #[test]
    fn a_line_without_an_id_is_known_by_its_subject() {
        let text = "{\"subject\":\"Build\"}\n{\"id\":\"Build (2)\",\"subject\":\"Test\",\"blockedBy\":[\"Build\"]}\n\n\
                    {\"subject\":\"Build\",\"status\":\"completed\"}\n{\"id\":7,\"subject\":\"Ship\"}\n";
        let imported = read(text).unwrap();
        let ids: Vec<&str> = imported.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["Build", "Build (2)", "Build (3)", "7"]);
        assert_eq!(imported.tasks[1].blocked_by, [TaskId::stored("Build")]);
        assert_eq!(imported.tasks[2].status, Status::Completed);
        assert_eq!(imported.losses, []);
    }

    #[test]
    fn what_is_no_task_is_told() {
        let imported = read("7\n{\"id\":\"1\"}\n{\"subject\":\"x\",\"status\":\"odd\"}\n").unwrap();
        assert_eq!((imported.tasks.len(), imported.losses.len()), (0, 3), "{imported:?}");
        assert!(read("{").is_err());
    }
}
