//! What a file seems to be, from what only one program writes.

use serde_json::{Map, Value};

use super::front_matter::{Field, divide};
use super::{ImportFormat, markdown};
use crate::json_text;

/// Returns the format that a text certainly has, if it has the marks of one.
pub fn guess(text: &str) -> Option<ImportFormat> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
    match text.chars().next()? {
        '[' => match json_text::from_str(text).ok()? {
            Value::Array(elements) => elements.first()?.as_object().and_then(of_element),
            _ => None,
        },
        '{' => match json_text::from_str(text) {
            Ok(Value::Object(object)) => of_document(&object).or_else(|| of_line(&object)),
            // One object per line.
            _ => of_line(json_text::from_str::<Value>(text.lines().next()?).ok()?.as_object()?),
        },
        _ if divide(text).is_some_and(|(fields, _)| is_of_backlog(&fields)) => Some(ImportFormat::Backlog),
        _ => (!markdown::read(text).tasks.is_empty()).then_some(ImportFormat::Markdown),
    }
}

/// Tells whether a head is that of a task; other pages have an id, too.
fn is_of_backlog(fields: &[(String, Field)]) -> bool {
    ["id", "title", "status"].iter().all(|key| fields.iter().any(|(field, _)| field == key))
}

/// Returns what an array is whose first element this is.
fn of_element(element: &Map<String, Value>) -> Option<ImportFormat> {
    let has = |key: &str| element.contains_key(key);
    if has("subject") {
        Some(ImportFormat::Export)
    } else if has("content") {
        Some(ImportFormat::Todos)
    } else if has("description") && !has("title") && (has("uuid") || has("entry")) {
        Some(ImportFormat::Taskwarrior)
    } else {
        None
    }
}

/// Returns what a file is that is this object.
fn of_document(object: &Map<String, Value>) -> Option<ImportFormat> {
    let first = |held: &Value| held.get("tasks")?.as_array()?.first()?.as_object().cloned();
    let own = object.get("tasks").and_then(Value::as_array);
    let element = match own {
        Some(tasks) => tasks.first()?.as_object().cloned(),
        None => object.values().find_map(first),
    }?;
    match (element.contains_key("subject"), element.contains_key("title")) {
        (true, _) => Some(ImportFormat::Document),
        // A document may say `title`, and states its version.
        (false, true) if own.is_some() && object.contains_key("version") => Some(ImportFormat::Document),
        (false, true) => Some(ImportFormat::Taskmaster),
        (false, false) => None,
    }
}

/// Returns what a file is of whose lines this is the first.
fn of_line(object: &Map<String, Value>) -> Option<ImportFormat> {
    let has = |key: &str| object.contains_key(key);
    if has("subject") {
        Some(ImportFormat::Jsonl)
    } else if has("title") && (has("issue_type") || has("status")) {
        Some(ImportFormat::Beads)
    } else if has("description") && has("uuid") {
        Some(ImportFormat::Taskwarrior)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::guess;
    use crate::dialect::foreign::ImportFormat;

    #[test]
    fn files_of_each_program_are_told_apart() {
        for (text, format) in [
            ("[{\"id\":\"1\",\"subject\":\"a\",\"description\":\"b\"}]", Some(ImportFormat::Export)),
            ("[{\"content\":\"a\",\"status\":\"pending\"}]", Some(ImportFormat::Todos)),
            ("[{\"uuid\":\"u\",\"description\":\"a\"}]", Some(ImportFormat::Taskwarrior)),
            ("[{\"description\":\"a\"}]", None),
            ("[]", None),
            ("{\"tasks\":[{\"id\":1,\"title\":\"a\"}]}", Some(ImportFormat::Taskmaster)),
            ("{\"master\":{\"tasks\":[{\"id\":1,\"title\":\"a\"}]}}", Some(ImportFormat::Taskmaster)),
            ("{\"tasks\":[{\"id\":\"1\",\"subject\":\"a\"}]}", Some(ImportFormat::Document)),
            (
                "{\"id\":\"a\",\"title\":\"t\",\"status\":\"open\"}\n{\"id\":\"b\",\"title\":\"t\"}",
                Some(ImportFormat::Beads),
            ),
            ("{\"version\":2,\"tasks\":[{\"id\":\"a\",\"title\":\"b\"}]}", Some(ImportFormat::Document)),
            ("{\"subject\":\"a\"}\n{\"subject\":\"b\"}", Some(ImportFormat::Jsonl)),
            ("# Plan\n\n- [ ] a\n", Some(ImportFormat::Markdown)),
            ("---\nid: task-1\ntitle: a\nstatus: To Do\n---\n- [ ] part\n", Some(ImportFormat::Backlog)),
            ("---\nid: page\ntitle: a\n---\n- [ ] a\n", Some(ImportFormat::Markdown)),
            ("just text", None),
            ("", None),
        ] {
            assert_eq!(guess(text), format, "{text}");
        }
    }
}
