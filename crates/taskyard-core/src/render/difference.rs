//! What changed between two states of a task.

use std::collections::HashSet;

use serde_json::Value;

use crate::rules::changes::notes::{NOTES, keyed, notes_of, read_note};
use crate::{Image, Task, TaskId};

/// The name of the field that may have many lines.
pub(super) const DESCRIPTION: &str = "description";

/// The name of a change by which a note came or went.
pub(super) const NOTE: &str = "note";

/// One field that changed, both sides in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The field's name as in the file; a metadata value is `metadata.KEY`, and each note that came or went a `note`.
    pub(crate) field: String,
    /// What it was; none where it was not there.
    pub(crate) from: Option<String>,
    /// What it is; none where it is gone.
    pub(crate) to: Option<String>,
}

/// Returns what changed between two forms of one task's file, field by field.
pub(crate) fn difference(id: &TaskId, before: &Image, after: &Image) -> Vec<Change> {
    match (before.task(id), after.task(id)) {
        (Ok(before), Ok(after)) => between(&before, &after),
        (before, after) => {
            let words = |readable: bool| Some(if readable { "a task" } else { "unreadable" }.to_owned());
            vec![Change { field: "contents".into(), from: words(before.is_ok()), to: words(after.is_ok()) }]
        }
    }
}

/// Returns what changed between two states of one task, field by field.
pub(super) fn between(before: &Task, after: &Task) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut compare = |field: &str, from: Option<String>, to: Option<String>| {
        if from != to {
            changes.push(Change { field: field.to_owned(), from, to });
        }
    };
    compare("id", before.stated_id.clone(), after.stated_id.clone());
    let subject = |task: &Task| Some(task.shown_subject().into_owned());
    compare("subject", subject(before), subject(after));
    compare(DESCRIPTION, Some(before.description.clone()), Some(after.description.clone()));
    compare("activeForm", before.active_form.clone(), after.active_form.clone());
    compare("owner", before.owner.clone(), after.owner.clone());
    compare("status", Some(before.status.to_string()), Some(after.status.to_string()));
    compare("blocks", ids(&before.blocks), ids(&after.blocks));
    compare("blockedBy", ids(&before.blocked_by), ids(&after.blocked_by));
    let empty = serde_json::Map::new();
    let old = before.metadata.as_ref().unwrap_or(&empty);
    let new = after.metadata.as_ref().unwrap_or(&empty);
    compare_maps("metadata.", old, new, &mut compare);
    compare_maps("", &before.extra, &after.extra, &mut compare);
    changes.retain(|change| change.field != METADATA_NOTES);
    changes.extend(notes(before, after));
    changes
}

/// The name that notes would have as one value.
const METADATA_NOTES: &str = "metadata.notes";

/// Returns the notes that went and those that came.
fn notes(before: &Task, after: &Task) -> Vec<Change> {
    if before.meta(NOTES) == after.meta(NOTES) {
        return Vec::new();
    }
    let (old, new) = (keyed(notes_of(before)), keyed(notes_of(after)));
    let keys = |notes: &[(String, &Value)]| notes.iter().map(|(key, _)| key.clone()).collect::<HashSet<_>>();
    let (had, has) = (keys(&old), keys(&new));
    let text = |note: &Value| Some(read_note(note).text.into_owned());
    let change = |from, to| Change { field: NOTE.to_owned(), from, to };
    let gone = old.iter().filter(|(key, _)| !has.contains(key)).map(|(_, note)| change(text(note), None));
    let came = new.iter().filter(|(key, _)| !had.contains(key)).map(|(_, note)| change(None, text(note)));
    gone.chain(came).collect()
}

fn compare_maps(
    prefix: &str,
    old: &serde_json::Map<String, Value>,
    new: &serde_json::Map<String, Value>,
    compare: &mut impl FnMut(&str, Option<String>, Option<String>),
) {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        compare(&format!("{prefix}{key}"), old.get(key).map(value_in_words), new.get(key).map(value_in_words));
    }
}

fn value_in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

fn ids(ids: &[TaskId]) -> Option<String> {
    (!ids.is_empty()).then(|| super::task_line::numbered(ids))
}

#[cfg(test)]
mod tests {
    use super::{Change, difference};
    use crate::{Image, TaskId};

    fn image(rest: &str) -> Image {
        Image::new(
            format!(r#"{{"id":"1","subject":"s","description":"","status":"pending","blocks":[],{rest}}}"#)
                .into_bytes(),
        )
    }

    #[test]
    fn each_field_that_changed_is_named_once() {
        let before = image(r#""blockedBy":[],"metadata":{"priority":"low","x":1}"#);
        let after = image(r#""blockedBy":["2"],"owner":"ana","metadata":{"x":1,"tags":["a"]}"#);
        let changes = difference(&TaskId::number(1), &before, &after);
        let change = |field: &str, from: Option<&str>, to: Option<&str>| Change {
            field: field.into(),
            from: from.map(Into::into),
            to: to.map(Into::into),
        };
        assert_eq!(
            changes,
            [
                change("owner", None, Some("ana")),
                change("blockedBy", None, Some("#2")),
                change("metadata.priority", Some("low"), None),
                change("metadata.tags", None, Some(r#"["a"]"#)),
            ]
        );
    }

    #[test]
    fn a_file_that_broke_is_said_to_be_unreadable() {
        let changes = difference(&TaskId::number(1), &image(r#""blockedBy":[]"#), &Image::new(b"{".as_slice()));
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].to.as_deref(), Some("unreadable"));
    }
}
