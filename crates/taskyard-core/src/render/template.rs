//! A line of one's own for each task: `{id} {subject} ({owner})`.

use std::str::FromStr;

use serde_json::Value;

use crate::near_miss::nearest;
use crate::rules::looking::query::{Mistake, Times};
use crate::timing::work_in_words;
use crate::{Task, TaskId};

/// What is written for each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(&'static str),
    Metadata(String),
}

/// What can stand between braces, beside `metadata.KEY`.
const FIELDS: [&str; 18] = [
    "id",
    "subject",
    "status",
    "owner",
    "priority",
    "tags",
    "parent",
    "kind",
    "due",
    "defer",
    "estimate",
    "description",
    "activeForm",
    "blocks",
    "blockedBy",
    "created",
    "changed",
    "list",
];

impl Template {
    /// Tells whether it shows when tasks were made or changed, which only the journal knows.
    pub fn asks_for_times(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Field("created" | "changed")))
    }

    /// Returns what is written for a task of a list. What the task does not have is empty.
    pub fn filled(&self, task: &Task, list: &str, times: Option<&Times>) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Field(field) => text.push_str(&value(field, task, list, times)),
                Piece::Metadata(key) => text.push_str(&task.meta(key).map(in_words).unwrap_or_default()),
            }
        }
        text
    }
}

impl FromStr for Template {
    type Err = Mistake;

    /// Reads a template: fields between braces, `{{` and `}}` for braces, `\\n` and `\\t` for a line and a tabulator.
    fn from_str(text: &str) -> Result<Self, Mistake> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut characters = text.char_indices().peekable();
        while let Some((at, character)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            match (character, next) {
                ('{', Some('{')) | ('}', Some('}')) | ('\\', Some('\\')) => {
                    characters.next();
                    literal.push(character);
                }
                ('\\', Some('n' | 't')) => {
                    characters.next();
                    literal.push(if next == Some('n') { '\n' } else { '\t' });
                }
                ('{', _) => {
                    let Some(length) = text[at..].find('}') else {
                        let mistake = Mistake::new(text, at..at + 1, "this brace is never closed");
                        return Err(mistake.advising("write `{{` for a brace"));
                    };
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(field(text, at + 1, &text[at + 1..at + length])?);
                    while characters.next_if(|(place, _)| *place <= at + length).is_some() {}
                }
                (character, _) => literal.push(character),
            }
        }
        pieces.push(Piece::Text(literal));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self { pieces })
    }
}

fn field(text: &str, at: usize, name: &str) -> Result<Piece, Mistake> {
    if let Some(key) = name.strip_prefix("metadata.").filter(|key| !key.is_empty()) {
        return Ok(Piece::Metadata(key.to_owned()));
    }
    match FIELDS.iter().find(|field| field.eq_ignore_ascii_case(name)) {
        Some(field) => Ok(Piece::Field(field)),
        None => {
            let what = format!("`{name}` is no field of a task");
            let mistake = Mistake::new(text, at..at + name.len(), what).meaning(nearest(name, &FIELDS));
            Err(mistake.advising(format!("the fields are {} and metadata.KEY", FIELDS.join(", "))))
        }
    }
}

fn value(field: &str, task: &Task, list: &str, times: Option<&Times>) -> String {
    let moment = |moment: Option<crate::Timestamp>| moment.map(|moment| moment.to_string()).unwrap_or_default();
    match field {
        "id" => task.id.to_string(),
        "subject" => task.shown_subject().into_owned(),
        "status" => task.status.to_string(),
        "owner" => task.owner().unwrap_or_default().to_owned(),
        "priority" => task.priority().to_string(),
        "tags" => task.tags().collect::<Vec<_>>().join(","),
        "parent" => task.parent().map(|parent| parent.to_string()).unwrap_or_default(),
        "kind" => task.meta("kind").map(in_words).unwrap_or_default(),
        "due" => moment(task.due()),
        "defer" => moment(task.defer()),
        "estimate" => task.estimate().map(work_in_words).unwrap_or_default(),
        "description" => task.description.clone(),
        "activeForm" => task.active_form.clone().unwrap_or_default(),
        "blocks" => joined(&task.blocks),
        "blockedBy" => joined(&task.blocked_by),
        "created" => moment(times.map(|times| times.created)),
        "changed" => moment(times.map(|times| times.updated)),
        _ => list.to_owned(),
    }
}

fn joined(ids: &[TaskId]) -> String {
    ids.iter().map(TaskId::as_str).collect::<Vec<_>>().join(",")
}

fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Template;
    use crate::{Task, TaskId};

    #[test]
    fn a_template_is_filled_with_what_the_task_has() {
        let task = Task {
            blocked_by: vec![TaskId::number(1), TaskId::number(2)],
            metadata: json!({"tags": ["a", "b"], "estimate": 5400, "x": {"y": 1}}).as_object().cloned(),
            ..Task::new(TaskId::number(7), "Write é")
        };
        let filled = |text: &str| text.parse::<Template>().unwrap().filled(&task, "L", None);
        assert_eq!(filled(r"{id}\t{Subject}\n"), "7\tWrite é\n");
        assert_eq!(filled("{{{id}}} é {owner}|{tags}|{blockedby}"), "{7} é |a,b|1,2");
        assert_eq!(filled("{estimate} {metadata.x} {list}"), r#"1h30m {"y":1} L"#);
        assert_eq!(filled(""), "");
    }

    #[test]
    fn what_is_no_field_is_marked() {
        let mistake = "{id} {sbject}".parse::<Template>().unwrap_err();
        assert_eq!(mistake.marked()[1], "      ^^^^^^ did you mean `subject`?");
        assert_eq!("{id".parse::<Template>().unwrap_err().what, "this brace is never closed");
        assert!("{metadata.}".parse::<Template>().is_err());
    }
}
