//! Differences between two states of a task.

use std::collections::HashSet;
use std::time::Duration;

use diffy::DiffOptions;
use serde_json::Value;

use super::{Line, Look, Tone, cut_text, escaping};
use crate::render::line::wrapped;
use crate::rules::changes::notes::{NOTES, keyed, notes_of, read_note};
use crate::timing::work_in_words;
use crate::{DEFER, DUE, ESTIMATE, Image, Task, TaskId, Timestamp};

/// The name of the field that may have many lines.
pub(super) const DESCRIPTION: &str = "description";

/// The field name of an added or removed note.
pub(super) const NOTE: &str = "note";

/// A changed field, with both values in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The field's name as in the file; a metadata value is `metadata.KEY`, and each added or removed note is a
    /// `note`.
    pub(crate) field: String,
    /// The old value; `None` if it was absent.
    pub(crate) from: Option<String>,
    /// The new value; `None` if it is absent.
    pub(crate) to: Option<String>,
}

/// Returns the changed fields between two versions of a task file.
pub(crate) fn difference(id: &TaskId, before: &Image, after: &Image) -> Vec<Change> {
    match (before.task(id), after.task(id)) {
        (Ok(before), Ok(after)) => between(&before, &after),
        (before, after) => {
            let words = |readable: bool| Some(if readable { "a task" } else { "unreadable" }.to_owned());
            vec![Change { field: "contents".into(), from: words(before.is_ok()), to: words(after.is_ok()) }]
        }
    }
}

/// Returns the changed fields between two states of a task.
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

/// Returns the removed and added notes.
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

/// How many characters of each side of a changed text are shown.
const SHOWN: usize = 32;

/// Describes each changed field: `priority: low → high`, `owner: none → ana`.
pub fn changes_in_words(before: &Task, after: &Task, look: &Look) -> Vec<String> {
    between(before, after).iter().map(|change| in_words(change, look)).collect()
}

fn in_words(change: &Change, look: &Look) -> String {
    let field = change.field.strip_prefix("metadata.").unwrap_or(&change.field);
    let is_text = matches!(change.field.as_str(), "subject" | "description" | "activeForm");
    let side = |side: Option<&str>| match side {
        None | Some("") => "none".to_owned(),
        Some(seconds) if field == ESTIMATE && seconds.parse::<u64>().is_ok() => {
            work_in_words(Duration::from_secs(seconds.parse().unwrap_or(0)))
        }
        Some(text) if matches!(field, DUE | DEFER) && Timestamp::parse(text).is_some() => {
            Timestamp::parse(text).map(|moment| look.moment(moment)).unwrap_or_default()
        }
        Some(text) => {
            let text = list_in_words(text).unwrap_or_else(|| text.split_whitespace().collect::<Vec<_>>().join(" "));
            let text = cut_text(&escaping::one_line(&text), SHOWN, look.ellipsis());
            if is_text { format!("\"{text}\"") } else { text }
        }
    };
    format!("{field}: {} {} {}", side(change.from.as_deref()), look.arrow(), side(change.to.as_deref()))
}

/// Formats a JSON array of words without JSON syntax.
fn list_in_words(text: &str) -> Option<String> {
    let items: Vec<Value> = serde_json::from_str(text).ok()?;
    let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    words.map(|words| words.join(", ")).filter(|words| !words.is_empty())
}

/// The maximum number of lines of a difference.
const MOST: usize = 60;

/// Returns a line-by-line difference: removed lines with a minus, added ones with a plus, and one line of context.
pub(super) fn text_difference(from: &str, to: &str, indent: usize, look: &Look) -> Vec<Line> {
    let [from, to] = [from, to].map(|text| format!("{text}\n"));
    let patch = DiffOptions::new().set_context_len(1).create_patch(&from, &to);
    let mut lines = Vec::new();
    let spaces = " ".repeat(indent);
    for (number, hunk) in patch.hunks().iter().enumerate() {
        if number > 0 {
            lines.push(Line::new().with(Tone::Dim, &format!("{spaces}  {}", look.ellipsis())));
        }
        for line in hunk.lines() {
            let (tone, mark, text) = match line {
                diffy::Line::Context(text) => (Tone::Dim, "  ", text),
                diffy::Line::Delete(text) => (Tone::Blocked, "- ", text),
                diffy::Line::Insert(text) => (Tone::Done, "+ ", text),
            };
            let text = escaping::one_line(text.trim_end_matches('\n'));
            let parts = match look.width {
                Some(width) => wrapped(&text, width.saturating_sub(indent + 2).max(20)),
                None => vec![text.into_owned()],
            };
            for part in parts {
                lines.push(Line::plain(&spaces).with(tone, &format!("{mark}{part}")));
            }
        }
    }
    let hidden = lines.len().saturating_sub(MOST);
    if hidden > 0 {
        lines.truncate(MOST);
        lines.push(Line::new().with(Tone::Dim, &format!("{spaces}  and {hidden} more lines")));
    }
    lines
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

#[cfg(test)]
mod change_words_tests {
    use serde_json::json;

    use super::changes_in_words;
    use crate::render::Look;
    use crate::{Task, TaskId};

    #[test]
    fn each_field_is_told_from_what_to_what() {
        let before = Task {
            metadata: json!({"priority": "low", "tags": ["a"], "estimate": 5400}).as_object().cloned(),
            ..Task::new(TaskId::number(1), "Old title")
        };
        let after = Task {
            owner: Some("ana".into()),
            description: "A long text\nin two lines that goes on and on".into(),
            metadata: json!({"priority": "high", "tags": ["a", "b"]}).as_object().cloned(),
            ..Task::new(TaskId::number(1), "New")
        };
        assert_eq!(
            changes_in_words(&before, &after, &Look::PIPE),
            [
                "subject: \"Old title\" → \"New\"",
                "description: none → \"A long text in two lines that g…\"",
                "owner: none → ana",
                "priority: low → high",
                "tags: a → a, b",
                "estimate: 1h30m → none",
            ]
        );
    }
}

#[cfg(test)]
mod text_difference_tests {
    use super::text_difference;
    use crate::render::Look;

    #[test]
    fn what_went_and_what_came_stand_among_what_stays() {
        let lines = text_difference("a\nb\nc\nd\ne\nf\ng", "a\nB\nc\nd\ne\nf\ng\nh", 2, &Look::PIPE);
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["    a", "  - b", "  + B", "    c", "    …", "    g", "  + h"]);
    }
}
