//! What changed about a task, from what to what, on one line.

use std::time::Duration;

use serde_json::Value;

use super::difference::{Change, between};
use super::{Look, cut_text, escaping};
use crate::timing::work_in_words;
use crate::{DEFER, DUE, ESTIMATE, Task, Timestamp};

/// So many characters are shown of each side of a text that changed.
const SHOWN: usize = 32;

/// Returns what changed, one statement for each field: `priority: low → high`, `owner: none → ana`.
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

/// Returns a list of words without the signs of JSON.
fn list_in_words(text: &str) -> Option<String> {
    let items: Vec<Value> = serde_json::from_str(text).ok()?;
    let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    words.map(|words| words.join(", ")).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
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
