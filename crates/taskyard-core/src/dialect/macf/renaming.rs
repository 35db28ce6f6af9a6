//! What becomes of the marks before a title, and of the facts in a block, when a task is changed.

use serde_json::{Map, Value};

use super::block::Block;
use super::kind::Kind;
use super::subject::Subject;
use crate::{Task, TaskId};

/// Returns the subject of a changed task with the marks it had before, or those of the kind it is given; none where it has none.
///
/// The task's own number stays, the parent's follows the parent, and the mark of the kind stays where the new title has none.
pub fn with_marks(before: &Task, after: &Task, kind: Option<Kind>) -> Option<String> {
    let had = Subject::parse(&before.subject);
    let is_marked = had.id == Some(before.id.as_str());
    let has_moved = before.parent() != after.parent();
    if (!is_marked && kind.is_none()) || (before.subject == after.subject && !has_moved && kind.is_none()) {
        return None;
    }
    let given = Subject::parse(&after.subject);
    let (given_kind, title) = match Kind::of(given.title) {
        Some((given, title)) => (Some(given), title),
        None => (None, given.title),
    };
    let kind = kind.or(given_kind).or(Kind::of(had.title).map(|(kind, _)| kind));
    let stated = after.parent();
    let stated = stated.as_ref().map(TaskId::as_str);
    // Other tools write the parent before the title alone.
    let parent = if has_moved || stated.is_some() { stated } else { given.parent.or(had.parent) };
    let title = kind.map_or_else(|| title.to_owned(), |kind| kind.marked(title));
    Some(Subject::compose(after.id.as_str(), parent, &title))
}

/// Changes the facts of a description's block that are among these, and takes them out of there; null takes a fact away. What a
/// line cannot say is left. Returns the description, where it changed.
pub fn change_facts(description: &str, changes: &mut Map<String, Value>) -> Option<String> {
    let facts: Vec<String> = Block::find(description)?.entries().map(|(key, _)| key.to_owned()).collect();
    let mut changed = None;
    for key in facts {
        let text = match changes.get(&key) {
            Some(Value::Null) => None,
            Some(Value::String(text)) if !text.contains(['\n', '\r', '<']) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Bool(flag)) => Some(flag.to_string()),
            Some(_) | None => continue,
        };
        changes.shift_remove(&key);
        let description = changed.as_deref().unwrap_or(description);
        changed = Some(match text {
            Some(text) => Block::set(description, &key, &text),
            None => Block::without(description, &key),
        });
    }
    changed
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{change_facts, with_marks};
    use crate::dialect::macf::{Kind, Subject};
    use crate::{Task, TaskId};

    fn phase() -> Task {
        let subject = Subject::compose("5", Some("1"), "\u{1f4cb} Old");
        Task { metadata: json!({"parent": "1"}).as_object().cloned(), ..Task::new(TaskId::number(5), subject) }
    }

    fn titled(subject: &str) -> Task {
        Task { subject: subject.to_owned(), ..phase() }
    }

    #[test]
    fn a_new_title_keeps_the_marks_and_none_comes_twice() {
        let expected = Subject::compose("5", Some("1"), "\u{1f4cb} New");
        for given in ["New", "\u{1f4cb} New", "[^#1] \u{1f4cb} New", &expected] {
            assert_eq!(with_marks(&phase(), &titled(given), None).as_ref(), Some(&expected), "{given:?}");
        }
        let bug = Subject::compose("5", Some("1"), "\u{1f41b} BUG: New");
        assert_eq!(with_marks(&phase(), &titled("\u{1f41b} BUG: New"), None), Some(bug));
    }

    #[test]
    fn the_marks_follow_the_parent_and_the_kind() {
        let mut moved = phase();
        moved.metadata.as_mut().unwrap().insert("parent".into(), json!("2"));
        let expected = Subject::compose("5", Some("2"), "\u{1f4cb} Old");
        assert_eq!(with_marks(&phase(), &moved, None), Some(expected));
        let alone = Task { metadata: None, ..phase() };
        let expected = Subject::compose("5", None, "\u{1f4cb} Old");
        assert_eq!(with_marks(&phase(), &alone, None), Some(expected));
        let expected = Subject::compose("5", Some("1"), "\u{1f41b} BUG: Old");
        assert_eq!(with_marks(&phase(), &phase(), Some(Kind::Bug)), Some(expected));
    }

    #[test]
    fn a_title_without_marks_stays_as_it_is() {
        let plain = Task::new(TaskId::number(5), "Old");
        let renamed = Task { subject: "New".to_owned(), ..plain.clone() };
        assert_eq!(with_marks(&plain, &renamed, None), None);
        assert_eq!(with_marks(&phase(), &phase(), None), None);
    }

    #[test]
    fn facts_are_changed_where_they_stand_and_the_prose_is_not() {
        let text = |facts: &str| {
            format!("Prose: x\n\n<macf_task_metadata version=\"1.0\">\n{facts}</macf_task_metadata>\nMore.")
        };
        let given = json!({"created_cycle": 43, "created_by": null, "tags": ["x"], "new": 1});
        let mut changes = given.as_object().unwrap().clone();
        let changed = change_facts(&text("created_cycle: 42\ncreated_by: PA\ntags: y\n"), &mut changes);
        assert_eq!(changed, Some(text("created_cycle: 43\ntags: y\n")));
        assert_eq!(Value::Object(changes), json!({"tags": ["x"], "new": 1}));
        assert_eq!(change_facts("no block", &mut given.as_object().unwrap().clone()), None);
    }
}
