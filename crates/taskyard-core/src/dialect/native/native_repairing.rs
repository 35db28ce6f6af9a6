//! From something that is nearly a task to a task.
//!
//! Whether the client sees a file is decided by the types of its keys (`docs/formats/native.md`). What programs and people get wrong
//! there can be put right without guessing; whatever else is in the file stays as it is.

use serde_json::{Map, Value};

use crate::dialect::native::native_reading::read;
use crate::dialect::native::native_writing::{as_written_in, write};
use crate::json_text::from_slice;
use crate::{Image, Rules, TaskId};

const MARK: &[u8] = "\u{feff}".as_bytes();

/// A task file put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The file as it should be.
    pub image: Image,
    /// What is different, one phrase each.
    pub changes: Vec<String>,
}

/// Puts right what keeps the client from seeing a task in a file; none where the file holds no object, or nothing is wrong.
pub fn repair(id: &TaskId, bytes: &[u8]) -> Option<Repair> {
    let mut changes = Vec::new();
    let text = match bytes.strip_prefix(MARK) {
        Some(rest) => {
            changes.push("remove the byte order mark".to_owned());
            rest
        }
        None => bytes,
    };
    let mut file = File { object: from_slice(text).ok()?, changes };
    file.mend_id(id);
    file.mend_words(id);
    file.mend_status();
    file.mend_edges("blocks");
    file.mend_edges("blockedBy");
    file.mend_optional();
    if file.changes.is_empty() {
        return None;
    }
    let mended = Image::new(serde_json::to_vec(&file.object).ok()?);
    let task = read(id, mended.bytes()).ok()?;
    // What is new goes to its place among what is there.
    let image = write(Some(&mended), &task, Rules::Strict).ok()?;
    let image = as_written_in(&Image::new(text), image);
    Some(Repair { image, changes: file.changes })
}

struct File {
    object: Map<String, Value>,
    changes: Vec<String>,
}

impl File {
    fn mend_id(&mut self, id: &TaskId) {
        if !self.object.get("id").is_some_and(Value::is_string) {
            self.set("id", id.as_str().into(), format!("write the id as the string \"{id}\""));
        }
    }

    /// Gives it a subject and a description, as the client does for a new task that lacks one.
    fn mend_words(&mut self, id: &TaskId) {
        for key in ["subject", "description"] {
            if let Some(text) = self.object.get(key).and_then(plain) {
                self.set(key, text.into(), format!("write the {key} as a string"));
            }
        }
        let has = |file: &Self, key: &str| file.object.get(key).is_some_and(Value::is_string);
        if !has(self, "subject") {
            let alias = ["title", "name", "content"].into_iter().find(|key| has(self, key));
            let (subject, change) = if let Some(alias) = alias {
                let subject = self.object.shift_remove(alias).unwrap_or_default();
                (subject, format!("rename `{alias}` to `subject`"))
            } else if let Some(first) = self.first_line() {
                (first.into(), "use the first line of the description as the missing subject".to_owned())
            } else {
                (format!("Task {id}").into(), format!("set the subject to \"Task {id}\""))
            };
            self.set("subject", subject, change);
        }
        if !has(self, "description") {
            let subject = self.object.get("subject").cloned().unwrap_or_default();
            self.set("description", subject, "use the subject as the missing description".to_owned());
        }
    }

    fn first_line(&self) -> Option<String> {
        let first = self.object.get("description")?.as_str()?.trim().lines().next()?;
        (!first.is_empty()).then(|| first.to_owned())
    }

    fn mend_status(&mut self) {
        let found = self.object.get("status").cloned().unwrap_or_default();
        let word = found.as_str().unwrap_or_default();
        let status = match word.trim().to_lowercase().replace(['-', ' '], "_").as_str() {
            "in_progress" | "inprogress" | "doing" | "started" | "active" | "running" | "wip" | "review"
            | "in_review" => "in_progress",
            "completed" | "complete" | "done" | "closed" | "resolved" | "finished" | "cancelled" | "canceled"
            | "wontfix" => "completed",
            _ => "pending",
        };
        if word == status {
            return;
        }
        let change = match &found {
            Value::Null => format!("set the status to {status}"),
            other => format!("write the status {} as `{status}`", other),
        };
        let is_cancelled = matches!(word.to_lowercase().as_str(), "cancelled" | "canceled" | "wontfix");
        self.set("status", status.into(), change);
        if is_cancelled {
            let metadata = self.object.entry("metadata").or_insert_with(|| Map::new().into());
            if let Value::Object(metadata) = metadata {
                metadata.insert("cancelled".to_owned(), true.into());
            }
        }
    }

    fn mend_edges(&mut self, key: &'static str) {
        let found = self.object.get(key);
        let is_good = |value: &Value| value.as_array().is_some_and(|ids| ids.iter().all(Value::is_string));
        if found.is_some_and(is_good) {
            return;
        }
        let (ids, change) = match found {
            None | Some(Value::Null) => (Vec::new(), format!("add an empty `{key}`")),
            Some(Value::Array(items)) => {
                let ids: Vec<Value> = items.iter().filter_map(text_of).map(Value::String).collect();
                let dropped = items.len() - ids.len();
                let rest = if dropped == 0 { String::new() } else { format!(", dropping {dropped} that are not ids") };
                (ids, format!("write the ids in `{key}` as strings{rest}"))
            }
            Some(other) => {
                (text_of(other).map(Value::String).into_iter().collect(), format!("turn `{key}` into an array"))
            }
        };
        self.set(key, Value::Array(ids), change);
    }

    /// Takes out optional keys that hold nothing, and puts text where text belongs.
    fn mend_optional(&mut self) {
        if let Some(name) = self.object.get("owner").and_then(plain) {
            self.set("owner", name.into(), "write `owner` as a string".to_owned());
        }
        for key in ["owner", "activeForm"] {
            if self.object.get(key).is_some_and(|value| !value.is_string()) {
                self.take_out(key);
            }
        }
        match self.object.get("metadata") {
            None | Some(Value::Object(_)) => {}
            Some(Value::Null) => self.take_out("metadata"),
            Some(other) => {
                let kept = Map::from_iter([("value".to_owned(), other.clone())]);
                self.set("metadata", kept.into(), "turn the metadata into an object".to_owned());
            }
        }
    }

    fn take_out(&mut self, key: &str) {
        let found = self.object.shift_remove(key).unwrap_or_default();
        self.changes.push(format!("remove `{key}`, which is {found}"));
    }

    fn set(&mut self, key: &str, value: Value, change: String) {
        self.object.insert(key.to_owned(), value);
        self.changes.push(change);
    }
}

/// Returns a number or a truth value as text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned).or_else(|| plain(value))
}

#[cfg(test)]
mod tests {
    use super::{Repair, repair};
    use crate::{Status, Task, TaskId};

    fn mended(text: &str) -> (Task, Repair) {
        let id = TaskId::number(88);
        let repair = repair(&id, text.as_bytes()).unwrap();
        (repair.image.task(&id).unwrap(), repair)
    }

    #[test]
    fn what_tools_write_that_the_client_does_not_see_is_put_right() {
        let (task, repair) = mended(r#"{"id":88,"subject":"My Task","description":"...","status":"pending","x":1.50}"#);
        assert_eq!((task.subject.as_str(), task.stated_id), ("My Task", None));
        assert_eq!(
            repair.changes,
            ["write the id as the string \"88\"", "add an empty `blocks`", "add an empty `blockedBy`"]
        );
        let text = std::str::from_utf8(repair.image.bytes()).unwrap();
        assert!(text.starts_with("{\n  \"id\": \"88\",\n") && text.contains("\"x\": 1.50"), "{text}");
    }

    #[test]
    fn every_reason_the_client_has_not_to_see_a_file_can_be_mended() {
        for status in ["blocked", "open", "resolved", "Done", "in-progress"] {
            let text = format!(
                "\u{feff}{{\"subject\":7,\"status\":\"{status}\",\"owner\":null,\"activeForm\":false,\"blocks\":[1,\"2\",{{}}],\"blockedBy\":\"3\",\"metadata\":null}}"
            );
            let (task, repair) = mended(&text);
            let expected = match status {
                "resolved" | "Done" => Status::Completed,
                "in-progress" => Status::InProgress,
                _ => Status::Pending,
            };
            assert_eq!((task.status, task.subject.as_str(), task.description.as_str()), (expected, "7", "7"));
            assert_eq!((task.owner, task.metadata, task.blocks.len(), task.blocked_by.len()), (None, None, 2, 1));
            assert_eq!(repair.changes.len(), 10, "{:?}", repair.changes);
        }
    }

    #[test]
    fn a_title_is_a_subject_and_a_cancelled_task_stays_cancelled() {
        let (task, _) =
            mended(r#"{"id":"88","title":"T","description":"d","status":"cancelled","blocks":[],"blockedBy":[]}"#);
        assert_eq!((task.subject.as_str(), task.is_cancelled(), task.extra.len()), ("T", true, 0));
        let (task, _) = mended(r#"{"description":"\nfirst\nsecond"}"#);
        assert_eq!((task.subject.as_str(), task.status), ("first", Status::Pending));
        assert_eq!(mended("{}").0.subject, "Task 88");
        assert_eq!(mended(r#"{"metadata":[1]}"#).0.metadata.unwrap()["value"][0], 1);
    }

    #[test]
    fn what_is_no_object_or_is_a_task_already_is_left_alone() {
        let id = TaskId::number(1);
        let sound = r#"{"id":"77","subject":"s","description":"d","status":"pending","blocks":[],"blockedBy":[]}"#;
        for text in ["", "[]", "{\"id\":", "\"x\"", sound] {
            assert_eq!(repair(&id, text.as_bytes()), None, "{text}");
        }
    }
}
