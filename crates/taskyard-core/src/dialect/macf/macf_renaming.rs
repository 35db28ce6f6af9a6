//! Kinds, parents and hidden tasks, and preserving the marks of a title when a task changes.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::dialect::macf::macf_block::{Block, PARENT, Subject, stated_parent};
use crate::dialect::macf::macf_facts::BadBlock;
use crate::{Task, TaskId};

/// The prefix of the title of a phase that has no plan.
const STEP: &str = "- ";

/// Returns the new subject of a changed task with its previous marks, or with those of `kind`. Returns `None` if it
/// needs no marks or nothing changes.
///
/// The task's own number is kept, the parent mark follows the parent, and the kind mark is kept unless the new title
/// has one.
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
    // Other tools write the parent mark without the task's own id.
    let parent = if has_moved || stated.is_some() { stated } else { given.parent.or(had.parent) };
    let title = match kind {
        Some(kind) => kind.marked(title),
        None if is_marked && had.title.starts_with(STEP) && !title.starts_with(STEP) => format!("{STEP}{title}"),
        None => title.to_owned(),
    };
    let hand = if is_marked { had } else { Subject::default() };
    Some(hand.composed(after.id.as_str(), parent, &title))
}

/// Returns the new description of a retitled task if its block contains the old title as a fact, because MACF tools
/// rebuild the subject from that.
pub fn retitled(before: &Task, after: &Task) -> Option<String> {
    const TITLE: &str = "title";
    let (old, new) = (bare_title(&before.subject), bare_title(&after.subject));
    if old == new || Block::find(&after.description)?.get(TITLE)?.as_str() != Some(old) {
        return None;
    }
    Block::set(&after.description, TITLE, &Value::from(new)).ok()
}

/// Returns the title without any marks.
fn bare_title(subject: &str) -> &str {
    let title = Subject::parse(subject).title;
    match Kind::of(title) {
        Some((_, title)) => title,
        None => title.strip_prefix(STEP).unwrap_or(title),
    }
}

/// Metadata keys that Taskyard itself uses. They stay in the metadata even if a block has a fact of the same name.
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

/// The result of [`change_facts`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedFacts {
    /// The new description, if it changed.
    pub description: Option<String>,
    /// Why the block or one of its facts could not be changed.
    pub left: Option<BadBlock>,
}

/// Applies the changes that concern facts of a task's block, and removes them from `changes`; null removes a fact. If
/// the block cannot be read, nothing is changed.
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
    // Both names mean the same; if both exist, both are changed.
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
        // A parent that is also in the metadata is changed there, too.
        if !is_parent || (is_fact(name) && task.meta("parent").is_none()) {
            changes.shift_remove(&key);
        }
    }
    result.description = (changed != description).then_some(changed);
    result
}

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A goal of its own.
    Mission,
    /// An experiment.
    Experiment,
    /// A part of a mission.
    Phase,
    /// A defect found during other work.
    Bug,
    /// Other work that must be done first.
    Detour,
    /// Any other task.
    Task,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Mission, Self::Experiment, Self::Phase, Self::Bug, Self::Detour, Self::Task];

    /// Returns the word used on the command line and in metadata.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mission => "mission",
            Self::Experiment => "experiment",
            Self::Phase => "phase",
            Self::Bug => "bug",
            Self::Detour => "detour",
            Self::Task => "task",
        }
    }

    /// Returns the mark in front of the title.
    pub(crate) const fn mark(self) -> &'static str {
        match self {
            Self::Mission => "\u{1f5fa}\u{fe0f} MISSION: ",
            Self::Experiment => "\u{1f9ea} EXPERIMENT: ",
            Self::Phase => "\u{1f4cb} ",
            Self::Bug => "\u{1f41b} BUG: ",
            Self::Detour => "\u{21a9}\u{fe0f} DETOUR: ",
            Self::Task => "\u{1f527} ",
        }
    }

    /// Returns whether such a task must be a part of another.
    pub const fn needs_parent(self) -> bool {
        matches!(self, Self::Phase)
    }

    /// Returns the title with the mark of this kind, without duplicating it.
    pub fn marked(self, title: &str) -> String {
        match title.starts_with(self.mark()) {
            true => title.to_owned(),
            false => format!("{}{title}", self.mark()),
        }
    }

    /// Returns the kind of a title's mark, and the title without the mark.
    pub(crate) fn of(title: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|kind| Some((kind, title.strip_prefix(kind.mark())?)))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A word that is not a valid kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid kind `{word}`: expected mission, experiment, phase, bug, detour or task")]
pub struct UnknownKind {
    /// The rejected word.
    pub(crate) word: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| UnknownKind { word: word.to_owned() })
    }
}

impl Task {
    /// Returns the parent: the one named in the description's block, or else the one in the metadata. Only Taskyard
    /// writes both; if they differ, another program moved the task.
    pub fn parent(&self) -> Option<TaskId> {
        stated_parent(&self.description).or_else(|| stated_beside(self))
    }
}

/// Returns the parent named in a task's metadata.
fn stated_beside(task: &Task) -> Option<TaskId> {
    match task.meta("parent")? {
        Value::String(id) if !id.is_empty() => Some(TaskId::stored(id.as_str())),
        Value::Number(number) => Some(TaskId::number(number.as_u64()?)),
        _ => None,
    }
}

/// Sets or removes the parent of a task, in every place that names one.
pub(crate) fn set_parent(task: &mut Task, parent: Option<&TaskId>) {
    let stated = Block::find(&task.description).and_then(|block| block.get(PARENT));
    if let Some(stated) = &stated {
        let value = parent.map(|parent| parent_value(&Value::from(parent.as_str()), Some(stated)));
        let changed = match &value {
            Some(value) => Block::set(&task.description, PARENT, value),
            None => Block::without(&task.description, PARENT),
        };
        if let Ok(changed) = changed {
            task.description = changed;
        }
    }
    let is_beside = task.meta("parent").is_some();
    let Some(parent) = parent else {
        if let Some(metadata) = &mut task.metadata {
            metadata.shift_remove("parent");
        }
        return;
    };
    if stated.is_none() || is_beside {
        let value = match (task.meta("parent"), parent.as_number()) {
            (Some(Value::Number(_)), Some(number)) => Value::from(number),
            _ => Value::from(parent.as_str()),
        };
        task.metadata.get_or_insert_default().insert("parent".to_owned(), value);
    }
}

/// Returns the parent as the value of a fact: a number, unless it is not numeric or was a string before.
pub(super) fn parent_value(parent: &Value, before: Option<&Value>) -> Value {
    let text = match parent {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let was_text = before.is_some_and(Value::is_string);
    match TaskId::stored(text.as_str()).as_number().filter(|_| !was_text) {
        Some(number) => Value::from(number),
        None => Value::String(text),
    }
}

/// Returns the task that a file name hides: `.NUMBER.json`, or `..NUMBER.json` if it was hidden twice. The client
/// ignores such names.
pub fn hidden_task_of(file: &str) -> Option<TaskId> {
    let name = file.strip_prefix('.')?.strip_suffix(".json")?;
    let stem = name.strip_prefix('.').unwrap_or(name);
    Some(TaskId::stored(stem)).filter(|id| id.as_number().is_some())
}

/// Returns whether a file name hides a task that was already hidden.
pub fn is_hidden_twice(file: &str) -> bool {
    file.starts_with("..") && hidden_task_of(file).is_some()
}

/// Returns the file names that may hide a task, the one that takes precedence first; none if the id is not a number.
pub fn hidden_names(id: &TaskId) -> impl Iterator<Item = String> + use<> {
    let number = id.as_number();
    [".", ".."].into_iter().filter_map(move |dots| Some(format!("{dots}{}.json", number?)))
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

#[cfg(test)]
mod kind_tests {
    use super::Kind;

    #[test]
    fn a_mark_is_put_once_and_read_again() {
        for kind in Kind::ALL {
            let marked = kind.marked("Task CLI");
            assert_eq!(kind.marked(&marked), marked);
            assert_eq!(Kind::of(&marked), Some((kind, "Task CLI")));
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
    }
}

#[cfg(test)]
mod parent_tests {
    use serde_json::json;

    use super::set_parent;
    use crate::{Task, TaskId};

    fn part(metadata: serde_json::Value, facts: &str) -> Task {
        let description = format!("<macf_task_metadata version=\"1.0\">\n{facts}</macf_task_metadata>");
        Task { description, metadata: metadata.as_object().cloned(), ..Task::new(TaskId::number(5), "x") }
    }

    #[test]
    fn a_parent_changes_wherever_it_is_said() {
        for (before, after) in [
            (part(json!(null), "parent_id: 1\n"), part(json!(null), "parent_id: 2\n")),
            (part(json!(null), "parent_id: '1'\n"), part(json!(null), "parent_id: '2'\n")),
            (part(json!({"parent": "1"}), "parent_id: 1\n"), part(json!({"parent": "2"}), "parent_id: 2\n")),
            (part(json!({"parent": 1}), "a: 1\n"), part(json!({"parent": 2}), "a: 1\n")),
            (part(json!(null), "a: 1\n"), part(json!({"parent": "2"}), "a: 1\n")),
        ] {
            let mut task = before.clone();
            set_parent(&mut task, Some(&TaskId::number(2)));
            assert_eq!(task, after);
            assert_eq!(task.parent(), Some(TaskId::number(2)));
            set_parent(&mut task, None);
            assert_eq!(task.parent(), None, "{before:?}");
        }
    }

    #[test]
    fn the_block_counts_where_another_program_moved_the_task() {
        assert_eq!(part(json!({"parent": "1"}), "parent_id: 7\n").parent(), Some(TaskId::number(7)));
        assert_eq!(part(json!({"parent": "1"}), "parent_id: null\n").parent(), Some(TaskId::number(1)));
    }
}

#[cfg(test)]
mod hidden_tests {
    use super::{hidden_names, hidden_task_of, is_hidden_twice};

    #[test]
    fn only_a_number_behind_one_or_two_dots_is_a_hidden_task() {
        for name in [".7.json", "..7.json"] {
            let id = hidden_task_of(name).unwrap();
            assert_eq!(id.as_str(), "7");
            assert_eq!(hidden_names(&id).collect::<Vec<_>>(), [".7.json", "..7.json"]);
            assert_eq!(is_hidden_twice(name), name == "..7.json");
        }
        for name in [
            "7.json",
            ".lock",
            ".highwatermark",
            ".taskyard.json",
            ".07.json",
            "...7.json",
            ".7.json.lock",
            ".json",
            "..json",
            ".x.json",
        ] {
            assert_eq!((hidden_task_of(name), is_hidden_twice(name)), (None, false), "{name}");
        }
    }
}
