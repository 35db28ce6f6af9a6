//! What becomes of the marks before a title, and of the facts in a block, when a task is changed.

use serde_json::{Map, Value};

use super::block::{Block, PARENT};
use super::facts::BadBlock;
use super::kind::Kind;
use super::parent::parent_value;
use super::subject::Subject;
use crate::{Task, TaskId};

/// What stands before the title of a phase that has no plan of its own.
const STEP: &str = "- ";

/// Returns the subject of a changed task with the marks it had before, or those of the kind it is given; none where it has none.
///
/// The task's own number stays, the parent's follows the parent, and the mark of the kind stays where the new title has none.
pub fn with_marks(before: &Task, after: &Task, kind: Option<Kind>) -> Option<String> {
    let had = Subject::parse(&before.subject);
    let is_marked = had.id == Some(before.id.as_str());
    let has_moved = before.parent() != after.parent();
    let is_same = before.subject == after.subject && before.id == after.id && !has_moved;
    if kind.is_none() && (!is_marked || is_same) {
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
    let title = match kind {
        Some(kind) => kind.marked(title),
        None if is_marked && had.title.starts_with(STEP) && !title.starts_with(STEP) => format!("{STEP}{title}"),
        None => title.to_owned(),
    };
    let hand = if is_marked { had } else { Subject::default() };
    Some(hand.composed(after.id.as_str(), parent, &title))
}

/// Returns the description of a task that got another title, where its block has the title as a fact: its own tools write the
/// subject anew from that.
pub fn retitled(before: &Task, after: &Task) -> Option<String> {
    const TITLE: &str = "title";
    let (old, new) = (bare_title(&before.subject), bare_title(&after.subject));
    if old == new || Block::find(&after.description)?.get(TITLE)?.as_str() != Some(old) {
        return None;
    }
    Block::set(&after.description, TITLE, &Value::from(new)).ok()
}

/// Returns the title alone, without any mark.
fn bare_title(subject: &str) -> &str {
    let title = Subject::parse(subject).title;
    match Kind::of(title) {
        Some((_, title)) => title,
        None => title.strip_prefix(STEP).unwrap_or(title),
    }
}

/// What Taskyard itself reads in a task's metadata: it stays there, whatever a block says under the same name.
const OURS: [&str; 13] = [
    "priority",
    "tags",
    "cancelled",
    "notes",
    "_internal",
    "kind",
    "due",
    "defer",
    "estimate",
    "verify",
    "assignable_to",
    "attempts",
    "imported",
];

/// What became of a description whose facts were to be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFacts {
    /// The description, where it changed.
    pub description: Option<String>,
    /// Why its block, or a fact of it, was left as it is.
    pub left: Option<BadBlock>,
}

/// Changes the facts of a task's block that are among these changes, and takes them out of there; null takes a fact away. A block
/// that cannot be read is left as it is, and so are the changes.
pub fn change_facts(description: &str, task: &Task, changes: &mut Map<String, Value>) -> ChangedFacts {
    let Some(block) = Block::find(description) else { return ChangedFacts::default() };
    let facts = match block.facts() {
        Ok(facts) => facts,
        Err(bad) => {
            let may_be_fact = changes.keys().any(|key| !OURS.contains(&key.as_str()));
            return ChangedFacts { description: None, left: may_be_fact.then_some(bad) };
        }
    };
    let is_fact = |key: &str| facts.iter().any(|fact| fact.key == key);
    // Both names mean the same, and where both stand both are changed.
    if is_fact(PARENT)
        && let Some(parent) = changes.shift_remove(PARENT)
    {
        changes.insert("parent".to_owned(), parent);
    }
    let mut result = ChangedFacts::default();
    let mut changed = description.to_owned();
    for key in changes.keys().cloned().collect::<Vec<_>>() {
        let is_parent = key == "parent";
        let name = if is_parent { PARENT } else { key.as_str() };
        let is_by_conventions = is_parent && Subject::parse(&task.subject).id == Some(task.id.as_str());
        let is_new = is_by_conventions && !changes[&key].is_null();
        if OURS.contains(&name) || !(is_fact(name) || is_new) {
            continue;
        }
        let written = match &changes[&key] {
            Value::Null => Block::without(&changed, name),
            value if is_parent => Block::set(&changed, name, &parent_value(value, block.get(name).as_ref())),
            value => Block::set(&changed, name, value),
        };
        match written {
            Ok(written) => changed = written,
            Err(bad) => {
                result.left = Some(bad);
                continue;
            }
        }
        // A parent that also stands in the metadata is changed there, too.
        if !is_parent || (is_fact(name) && task.meta("parent").is_none()) {
            changes.shift_remove(&key);
        }
    }
    result.description = (changed != description).then_some(changed);
    result
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{change_facts, retitled, with_marks};
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
        let step = Task::new(TaskId::number(5), Subject::compose("5", None, "- Old"));
        let renamed = Task { subject: "New".to_owned(), ..step.clone() };
        assert_eq!(with_marks(&step, &renamed, None), Some(Subject::compose("5", None, "- New")));
        assert_eq!(with_marks(&phase(), &phase(), None), None);
    }

    fn block(facts: &str) -> String {
        format!("Prose: x\n\n<macf_task_metadata version=\"1.0\">\n{facts}</macf_task_metadata>\nMore.")
    }

    #[test]
    fn facts_are_changed_where_they_stand_and_the_prose_is_not() {
        let given = json!({"created_cycle": 43, "created_by": null, "tags": ["x"], "new": 1});
        let mut changes = given.as_object().unwrap().clone();
        let text = block("created_cycle: 42\ncreated_by: PA\ntags: y\nnested:\n  created_cycle: 1\n");
        let changed = change_facts(&text, &phase(), &mut changes);
        assert_eq!(changed.description, Some(block("created_cycle: 43\ntags: y\nnested:\n  created_cycle: 1\n")));
        assert_eq!(Value::Object(changes), json!({"tags": ["x"], "new": 1}));
        let none = change_facts("no block", &phase(), &mut given.as_object().unwrap().clone());
        assert_eq!((none.description, none.left), (None, None));
    }

    #[test]
    fn a_title_in_the_block_follows_the_title() {
        let titled = |title: &str| Task { description: block(&format!("title: {title}\n")), ..phase() };
        let renamed = |task: Task| Task { subject: Subject::compose("5", Some("1"), "\u{1f4cb} New: one"), ..task };
        assert_eq!(retitled(&titled("Old"), &renamed(titled("Old"))), Some(block("title: 'New: one'\n")));
        assert_eq!(retitled(&titled("Other"), &renamed(titled("Other"))), None);
        assert_eq!(retitled(&titled("Old"), &titled("Old")), None);
    }

    #[test]
    fn a_block_that_cannot_be_read_is_left_and_said_to_be() {
        let mut changes = json!({"created_cycle": 43}).as_object().unwrap().clone();
        let changed = change_facts(&block("created_cycle: 42\ntitle: CLI: x\n"), &phase(), &mut changes);
        assert_eq!(changed.description, None);
        assert!(changed.left.unwrap().to_string().contains("line 3"));
        assert_eq!(Value::Object(changes), json!({"created_cycle": 43}));
    }

    #[test]
    fn the_parent_is_one_fact_under_two_names() {
        let task = Task { metadata: None, ..phase() };
        let change = |facts: &str, task: &Task, changes: Value| {
            let mut changes = changes.as_object().unwrap().clone();
            let changed = change_facts(&block(facts), task, &mut changes).description;
            (changed, Value::Object(changes))
        };
        let moved = |to: &str| Some(block(&format!("parent_id: {to}\n")));
        assert_eq!(change("parent_id: 1\n", &task, json!({"parent": "2"})), (moved("2"), json!({})));
        assert_eq!(change("parent_id: '1'\n", &task, json!({"parent_id": 2})), (moved("'2'"), json!({})));
        assert_eq!(change("parent_id: 1\n", &phase(), json!({"parent": "2"})), (moved("2"), json!({"parent": "2"})));
        assert_eq!(change("parent_id: 1\n", &task, json!({"parent": null})), (Some(block("")), json!({})));
        let added = Some(block("a: 1\nparent_id: 2\n"));
        assert_eq!(change("a: 1\n", &phase(), json!({"parent": "2"})), (added, json!({"parent": "2"})));
    }
}
