//! Batches of new tasks, as JSON Lines or a Markdown list, specified in `docs/formats/batch.md`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::dialect::plan::{Form, Item, Plan, box_status};
use crate::forms::one_line::parse_every;
use crate::near_words::nearest;
use crate::rules::changes::numbering::keep_numbers;
use crate::rules::changes::recurring::{EVERY, add_first_due};
use crate::rules::graph::dependencies::Edge;
use crate::task::NOTES;
use crate::timing::{Clock, PartOfDay, WorkSpan, parse_moment};
use crate::{DEFER, DUE, ESTIMATE, Metadata, Priority, Status, Task, TaskId, json_text};

/// The tasks of a batch with their assigned ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// The tasks in the order of the batch, without dependencies.
    pub tasks: Vec<Task>,
    /// The dependencies of and on these tasks.
    pub edges: Vec<Edge>,
    /// The tasks that are parts of others.
    pub parts: Vec<TaskId>,
}

/// Returns the names in a batch that may be ids of existing tasks: valid ids that nothing in the batch has as its
/// name or title.
pub fn possible_ids(entries: &[BatchEntry]) -> HashSet<TaskId> {
    let Ok(called) = Called::of(entries) else { return HashSet::new() };
    let parent = |entry: &BatchEntry| match &entry.parent {
        Some(BatchParent::Named(name)) => Some(name.clone()),
        Some(BatchParent::At(_)) | None => None,
    };
    let names = entries.iter().flat_map(|entry| entry.after.iter().chain(&entry.before).cloned().chain(parent(entry)));
    names.filter(|name| !called.has(name)).filter_map(|name| name.trim().parse().ok()).collect()
}

/// Returns the ids for the tasks of a batch: their own numbers if the list has never used them, otherwise new ones.
/// `new_ids` must have one id per task.
pub fn ids_of(entries: &[BatchEntry], new_ids: &[TaskId]) -> Vec<TaskId> {
    let stated: Vec<Option<&TaskId>> =
        entries.iter().map(|entry| entry.id.as_ref().filter(|_| entry.keeps_number)).collect();
    keep_numbers(&stated, new_ids)
}

/// Checks that the tasks of a batch refer only to each other and not to tasks of a list.
pub(crate) fn refer_to_each_other(entries: &[BatchEntry]) -> Result<(), BatchMistake> {
    let called = Called::of(entries)?;
    for entry in entries {
        let parent = match &entry.parent {
            Some(BatchParent::Named(name)) => Some(name),
            Some(BatchParent::At(_)) | None => None,
        };
        if let Some(name) = entry.after.iter().chain(&entry.before).chain(parent).find(|name| !called.has(name)) {
            return Err(called.unknown(name, entry.line));
        }
    }
    Ok(())
}

/// Assigns ids to the tasks of a batch, one per entry, and resolves the names they refer to. A name in the batch
/// takes precedence over a title, and a title over a task of the list. An unknown name is a mistake, and so is a
/// title that several tasks have. `in_list` contains those of the [`possible_ids`] that exist in the list.
pub fn resolve(entries: &[BatchEntry], ids: &[TaskId], in_list: &HashSet<TaskId>) -> Result<Resolved, BatchMistake> {
    let called = Called::of(entries)?;
    let find = |name: &str, line: usize| called.find(name, line, in_list).map(|named| named.id(ids));
    let mut resolved = Resolved::default();
    for (entry, id) in entries.iter().zip(ids) {
        let mut task = Task { id: id.clone(), ..entry.task.clone() };
        for name in &entry.after {
            resolved.edges.push(Edge { task: id.clone(), on: find(name, entry.line)? });
        }
        for name in &entry.before {
            resolved.edges.push(Edge { task: find(name, entry.line)?, on: id.clone() });
        }
        if let Some(parent) = &entry.parent {
            let parent = match parent {
                BatchParent::Named(name) => find(name, entry.line)?,
                BatchParent::At(place) => ids[*place].clone(),
            };
            task.metadata.get_or_insert_default().insert("parent".to_owned(), Value::from(parent.as_str()));
            resolved.parts.push(id.clone());
        }
        resolved.tasks.push(task);
    }
    Ok(resolved)
}

/// The names and titles of the tasks in a batch.
struct Called<'a> {
    entries: &'a [BatchEntry],
    names: HashMap<String, usize>,
    /// The titles of tasks without a name, with the index of the first task and of the next one that has the same
    /// title.
    titles: HashMap<String, (usize, Option<usize>)>,
}

/// The task a name refers to.
enum Named {
    At(usize),
    OfList(TaskId),
}

impl Named {
    fn id(self, ids: &[TaskId]) -> TaskId {
        match self {
            Self::At(place) => ids[place].clone(),
            Self::OfList(id) => id,
        }
    }
}

impl<'a> Called<'a> {
    /// Indexes the names. Duplicate names are a mistake.
    fn of(entries: &'a [BatchEntry]) -> Result<Self, BatchMistake> {
        let (mut names, mut titles) = (HashMap::new(), HashMap::new());
        for (place, entry) in entries.iter().enumerate() {
            match &entry.name {
                Some(name) => {
                    if let Some(first) = names.insert(key(name), place) {
                        let first = entries[first].line;
                        let what = format!("the name `{}` is already used on line {first}", name.escape_debug());
                        return Err(BatchMistake::at(entry.line, what));
                    }
                }
                None => {
                    titles
                        .entry(key(&entry.task.subject))
                        .and_modify(|(_, next): &mut (usize, Option<usize>)| *next = next.or(Some(place)))
                        .or_insert((place, None));
                }
            }
        }
        let ids: Vec<(usize, &TaskId)> =
            entries.iter().enumerate().filter_map(|(place, entry)| Some((place, entry.id.as_ref()?))).collect();
        for (place, id) in &ids {
            if let Some(first) = names.insert(format!("#{}", key(id.as_str())), *place) {
                let what = format!("the name `#{id}` is already used on line {}", entries[first].line);
                return Err(BatchMistake::at(entries[*place].line, what));
            }
        }
        // A bare number also refers to the task of the batch, unless another task has it as its name.
        for (place, id) in ids {
            names.entry(key(id.as_str())).or_insert(place);
        }
        Ok(Self { entries, names, titles })
    }

    /// Returns whether a task of the batch has this name or title.
    fn has(&self, name: &str) -> bool {
        let name = key(name);
        self.names.contains_key(&name) || self.titles.contains_key(&name)
    }

    fn find(&self, name: &str, line: usize, in_list: &HashSet<TaskId>) -> Result<Named, BatchMistake> {
        let wanted = key(name);
        match (self.names.get(&wanted), self.titles.get(&wanted)) {
            (Some(place), _) | (None, Some((place, None))) => Ok(Named::At(*place)),
            (None, Some((first, Some(next)))) => {
                let [first, next] = [first, next].map(|place| self.entries[*place].line);
                let what = format!("`{}` is ambiguous: it may mean line {first} or line {next}", name.escape_debug());
                Err(BatchMistake::at(line, format!("{what}; give the intended one a `name`")))
            }
            (None, None) => of_list(name, in_list).map(Named::OfList).ok_or_else(|| self.unknown(name, line)),
        }
    }

    fn unknown(&self, name: &str, line: usize) -> BatchMistake {
        let names: Vec<String> = self.entries.iter().map(|entry| key(entry.called())).collect();
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        let meant = nearest(&key(name), &words).map(|meant| format!("did you mean `{meant}`?"));
        let advice = meant.unwrap_or_else(|| "refer to existing tasks by number or id".into());
        BatchMistake::at(line, format!("no task is named `{}`; {advice}", name.escape_debug()))
    }
}

/// Normalizes a name: case and spacing do not matter.
fn key(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Returns the existing task a name refers to: a number with or without `#`, any id with `#`, or the id of a task in
/// `in_list`.
fn of_list(name: &str, in_list: &HashSet<TaskId>) -> Option<TaskId> {
    let id: TaskId = name.trim().parse().ok()?;
    Some(id).filter(|id| id.as_number().is_some() || name.trim().starts_with('#') || in_list.contains(id))
}

/// One new task of a batch, with references to others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchEntry {
    /// The number of its first line, from 1.
    pub(crate) line: usize,
    /// The name by which other tasks of the batch refer to it; without one they can use its title.
    pub name: Option<String>,
    /// The id it had in the list it was exported from. The batch can refer to it by that id.
    pub(crate) id: Option<TaskId>,
    /// Whether it keeps the number of that id if the list has never used it.
    pub(crate) keeps_number: bool,
    /// The task without its id, dependencies and parent.
    pub(crate) task: Task,
    /// Its blockers: names in the batch or tasks of the list.
    pub(crate) after: Vec<String>,
    /// Its dependents: names in the batch or tasks of the list.
    pub(crate) before: Vec<String>,
    /// Its parent.
    pub(crate) parent: Option<BatchParent>,
}

/// The parent of a new task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BatchParent {
    /// A name in the batch or a task of the list.
    Named(String),
    /// The entry at this index of the batch.
    At(usize),
}

impl BatchEntry {
    /// Makes the task recur, due on the first day of the rule if it has no due date or deferral.
    pub(crate) fn recur(&mut self, rule: &Value, clock: &Clock) {
        let metadata = self.task.metadata.get_or_insert_default();
        metadata.insert(EVERY.to_owned(), rule.clone());
        add_first_due(metadata, clock);
    }

    /// Returns its name, or its title if it has no name.
    pub fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.task.subject)
    }
}

/// A mistake in a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct BatchMistake {
    /// The line number, from 1.
    pub line: usize,
    /// The description of the mistake.
    pub(crate) what: String,
}

impl BatchMistake {
    /// Creates the mistake for a dependency cycle. New tasks are named with their lines, existing ones by their ids.
    pub fn cycle(entries: &[BatchEntry], ids: &[TaskId], path: &[TaskId]) -> Self {
        let entry = |id: &TaskId| ids.iter().position(|own| own == id).and_then(|place| entries.get(place));
        let named = |id: &TaskId| match entry(id) {
            Some(entry) => format!("`{}` (line {})", entry.called().escape_debug(), entry.line),
            None => format!("#{id}"),
        };
        let names: Vec<String> = path.iter().map(named).collect();
        let line = path.iter().filter_map(entry).map(|entry| entry.line).min().unwrap_or(1);
        Self::at(line, format!("that would create a dependency cycle: {}", names.join(" → ")))
    }

    pub(crate) fn at(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// The keys a JSON line may have.
const KEYS: [&str; 19] = [
    "name",
    "id",
    "subject",
    "description",
    "activeForm",
    "owner",
    "status",
    "blocks",
    "blockedBy",
    "metadata",
    "priority",
    "tags",
    "parent",
    "kind",
    "project",
    "every",
    DUE,
    DEFER,
    ESTIMATE,
];

/// Parses JSON Lines, one task per line.
fn read_json_lines(text: &str, clock: &Clock) -> Result<Vec<BatchEntry>, BatchMistake> {
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = number + 1;
        match json_text::from_str(line) {
            Ok(Value::Object(object)) => entries.push(Line { number, object, clock }.entry()?),
            Ok(_) => return Err(BatchMistake::at(number, "not a JSON object")),
            Err(error) => return Err(BatchMistake::at(number, error.to_string())),
        }
    }
    Ok(entries)
}

struct Line<'a> {
    number: usize,
    object: Map<String, Value>,
    clock: &'a Clock,
}

impl Line<'_> {
    fn mistake(&self, what: impl Into<String>) -> BatchMistake {
        BatchMistake::at(self.number, what)
    }

    fn entry(self) -> Result<BatchEntry, BatchMistake> {
        if let Some(key) = self.object.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let meant = nearest(key, &KEYS).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            return Err(self.mistake(format!("unknown key `{}`{meant}", key.escape_debug())));
        }
        let subject = self.text("subject")?.filter(|subject| !subject.trim().is_empty());
        let Some(subject) = subject else { return Err(self.mistake("a task needs a `subject`")) };
        if self.text("status")?.is_some_and(|status| status != "pending") {
            return Err(self.mistake("a new task is pending"));
        }
        let task = Task {
            description: self.text("description")?.unwrap_or_default(),
            active_form: self.text("activeForm")?,
            owner: self.text("owner")?.filter(|owner| !owner.is_empty()),
            metadata: Some(self.metadata()?).filter(|metadata| !metadata.is_empty()),
            ..Task::new(TaskId::stored(""), subject)
        };
        let name = self.word("name")?.or(self.word("id")?);
        let (after, before) = (self.names("blockedBy")?, self.names("blocks")?);
        let parent = self.word("parent")?.or_else(|| {
            let beside = self.object.get("metadata")?.get("parent")?;
            beside.as_str().map(str::to_owned).or_else(|| beside.as_u64().map(|number| number.to_string()))
        });
        Ok(BatchEntry {
            line: self.number,
            id: None,
            keeps_number: false,
            name,
            task,
            after,
            before,
            parent: parent.map(BatchParent::Named),
        })
    }

    fn text(&self, key: &str) -> Result<Option<String>, BatchMistake> {
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.mistake(format!("`{key}` must be a string"))),
        }
    }

    /// Returns a string, or a number as a string.
    fn word(&self, key: &str) -> Result<Option<String>, BatchMistake> {
        match self.object.get(key) {
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            _ => self.text(key),
        }
    }

    /// Returns one name or an array of names.
    fn names(&self, key: &str) -> Result<Vec<String>, BatchMistake> {
        let name = |value: &Value| match value {
            Value::String(name) => Ok(name.clone()),
            Value::Number(number) => Ok(number.to_string()),
            _ => Err(self.mistake(format!("`{key}` must be an array of names and numbers"))),
        };
        match self.object.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(name).collect(),
            Some(value) => name(value).map(|name| vec![name]),
        }
    }

    fn metadata(&self) -> Result<Metadata, BatchMistake> {
        let mut metadata = match self.object.get("metadata") {
            None | Some(Value::Null) => Metadata::new(),
            Some(Value::Object(metadata)) => metadata.clone(),
            Some(_) => return Err(self.mistake("`metadata` must be an object")),
        };
        metadata.shift_remove("parent");
        if let Some(word) = self.text("priority")? {
            let priority: Priority =
                word.parse().map_err(|error: crate::UnknownPriority| self.mistake(error.to_string()))?;
            metadata.insert("priority".to_owned(), priority.as_str().into());
        }
        let tags = self.names("tags")?;
        if !tags.is_empty() {
            metadata.insert("tags".to_owned(), tags.into());
        }
        if let Some(text) = self.text("every")? {
            let rule = parse_every(&text, self.clock).map_err(|why| self.mistake(why))?;
            metadata.extend((!rule.is_null()).then(|| ("every".to_owned(), rule)));
        }
        for key in ["kind", "project"] {
            if let Some(text) = self.text(key)? {
                metadata.insert(key.to_owned(), text.into());
            }
        }
        for (key, part) in [(DUE, PartOfDay::End), (DEFER, PartOfDay::Start)] {
            if let Some(text) = self.text(key)? {
                let moment = parse_moment(&text, part, self.clock).map_err(|error| self.mistake(error.to_string()))?;
                metadata.insert(key.to_owned(), moment.to_string().into());
            }
        }
        match self.object.get(ESTIMATE) {
            None | Some(Value::Null) => {}
            Some(Value::Number(seconds)) if seconds.is_u64() => {
                metadata.insert(ESTIMATE.to_owned(), Value::Number(seconds.clone()));
            }
            Some(Value::String(text)) => {
                let span = WorkSpan::parse(text).map_err(|error| self.mistake(error.to_string()))?;
                let span = span.with_days_of(self.clock.working_day);
                metadata.insert(ESTIMATE.to_owned(), span.as_secs().into());
            }
            Some(_) => return Err(self.mistake("`estimate` must be a duration (`2h`) or a number of seconds")),
        }
        Ok(metadata)
    }
}

/// Parses a Markdown list.
fn read_markdown(text: &str, clock: &Clock) -> Result<Vec<BatchEntry>, BatchMistake> {
    let plan = Plan::read(text, Form::Batch);
    if let Some(line) = plan.stray.first() {
        let what = "this line is outside of any item: start a task with `- `, and indent what belongs to it";
        return Err(BatchMistake::at(*line, what));
    }
    plan.items.iter().map(|item| entry(item, clock)).collect()
}

/// Converts an item to a new task. The parent index refers to the items of the plan.
pub(crate) fn entry(item: &Item, clock: &Clock) -> Result<BatchEntry, BatchMistake> {
    match item.mark.map(box_status) {
        None | Some(Status::Pending) => {}
        Some(Status::Completed) => {
            return Err(BatchMistake::at(item.line, "a new task must be pending, but this one is ticked"));
        }
        Some(Status::InProgress) => {
            return Err(BatchMistake::at(item.line, "a new task must be pending, but this one is in progress"));
        }
    }
    let mut values = Map::new();
    let mut metadata = Map::new();
    let mut parent = item.parent.map(BatchParent::At);
    for field in item.fields.iter().filter(|field| !["after", "blocks"].contains(&field.name)) {
        let has_two = item.fields.iter().filter(|other| other.name == field.name).count() > 1;
        if has_two && field.name != "tags" {
            let line = item.fields.iter().rfind(|other| other.name == field.name).map_or(item.line, |other| other.line);
            return Err(BatchMistake::at(line, format!("`{}` is given twice", field.name)));
        }
        match field.name {
            "tags" => drop(values.insert("tags".to_owned(), item.words("tags").into())),
            "parent" => parent = parent.or_else(|| Some(BatchParent::Named(field.value.clone()))),
            "meta" => match json_text::from_str(&field.value) {
                Ok(Value::Object(meta)) => metadata = meta,
                _ => return Err(BatchMistake::at(field.line, "`meta` must be a JSON object")),
            },
            name => {
                let value = Value::from(field.value.as_str());
                if let Err(mistake) = read_alone(name, &value, clock) {
                    return Err(BatchMistake { line: field.line, ..mistake });
                }
                values.insert(name.to_owned(), value);
            }
        }
    }
    if !item.notes.is_empty() {
        metadata.insert(NOTES.to_owned(), item.notes.clone().into());
    }
    values.insert("subject".to_owned(), item.title.as_str().into());
    if !item.description.is_empty() {
        values.insert("description".to_owned(), item.description.as_str().into());
    }
    values.insert("metadata".to_owned(), Value::Object(metadata));
    // Reuse the rules for JSON lines.
    let mut entries = read_json_lines(&Value::Object(values).to_string(), clock)
        .map_err(|mistake| BatchMistake { line: item.line, ..mistake })?;
    let entry = entries.remove(0);
    let (after, before) = (item.words("after"), item.words("blocks"));
    Ok(BatchEntry {
        line: item.line,
        id: item.id.clone(),
        keeps_number: true,
        after,
        before,
        parent: parent.or(entry.parent.clone()),
        ..entry
    })
}

/// Checks one field on its own, so that a mistake can be reported with its line.
fn read_alone(name: &str, value: &Value, clock: &Clock) -> Result<(), BatchMistake> {
    let mut line = Map::from_iter([("subject".to_owned(), "x".into())]);
    line.insert(name.to_owned(), value.clone());
    read_json_lines(&Value::Object(line).to_string(), clock).map(drop)
}

/// Parses a batch: JSON Lines if it begins with an object, Markdown otherwise.
pub fn read(text: &str, clock: &Clock) -> Result<Vec<BatchEntry>, BatchMistake> {
    // Some editors write a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let entries = match text.trim_start().starts_with('{') {
        true => read_json_lines(text, clock)?,
        false => read_markdown(text, clock)?,
    };
    if entries.is_empty() {
        return Err(BatchMistake::at(1, "it contains no tasks; write `- Title`, or {\"subject\": \"Title\"}"));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use serde_json::json;

    use super::{possible_ids, resolve};
    use crate::forms::batch::{BatchMistake, read};
    use crate::timing::Clock;
    use crate::{Task, TaskId, Timestamp};

    type Pairs = Vec<(String, String)>;

    fn resolved(text: &str) -> Result<(Vec<Task>, Pairs), BatchMistake> {
        let clock = Clock::new(Timestamp(0), TimeZone::UTC);
        let entries = read(text, &clock)?;
        let ids: Vec<TaskId> = (11..).map(TaskId::number).take(entries.len()).collect();
        let in_list = possible_ids(&entries).into_iter().filter(|id| id.as_str() == "0198c0de-1111").collect();
        let resolved = resolve(&entries, &ids, &in_list)?;
        let edges = resolved.edges.iter().map(|edge| (edge.task.to_string(), edge.on.to_string())).collect();
        Ok((resolved.tasks, edges))
    }

    fn pairs(edges: &[(&str, &str)]) -> Pairs {
        edges.iter().map(|(task, on)| ((*task).to_owned(), (*on).to_owned())).collect()
    }

    #[test]
    fn ids_of_the_list_are_names_unless_the_batch_has_them() {
        let text = "- a after: 0198c0de-1111\n- b after: a, 0198c0de-1111";
        assert_eq!(resolved(text).unwrap().1, pairs(&[("11", "0198c0de-1111"), ("12", "11"), ("12", "0198c0de-1111")]));
        let text = "- 0198c0de-1111\n- b after: 0198c0de-1111";
        assert_eq!(resolved(text).unwrap().1, pairs(&[("12", "11")]));
        assert!(resolved("- a after: 0198c0de-2222").is_err());
    }

    #[test]
    fn json_lines_name_each_other_and_tasks_of_the_list() {
        let (tasks, edges) = resolved(concat!(
            r#"{"name":"api","subject":"Design","priority":"high","tags":["db"],"due":"1970-01-02","estimate":"2h"}"#,
            "\n\n",
            r##"{"subject":"Build","blockedBy":["api",3],"parent":"#4","metadata":{"x":1}}"##,
            "\n",
            r#"{"subject":"Ship","blockedBy":"build","blocks":["7"],"parent":"API"}"#,
        ))
        .unwrap();
        assert_eq!(edges, pairs(&[("12", "11"), ("12", "3"), ("13", "12"), ("7", "13")]));
        let metadata: Vec<_> = tasks.iter().map(|task| json!(task.metadata)).collect();
        assert_eq!(
            metadata,
            [
                json!({"priority": "high", "tags": ["db"], "due": "1970-01-02T23:59:59.999Z", "estimate": 7200}),
                json!({"x": 1, "parent": "4"}),
                json!({"parent": "11"}),
            ]
        );
    }

    #[test]
    fn in_markdown_indentation_means_parts_and_after_means_order() {
        let (tasks, edges) = resolved(
            "# Plan\n\n- Release name: rel\n  priority: high\n  What there is\n  to do: all\n\n  - [ ] Build it\n    tags: a, b\n  - Test after: Build it\n\n1. Announce after: rel, #3 name: news\n\t- Mail after: test\n",
        )
        .unwrap();
        assert_eq!(edges, pairs(&[("13", "12"), ("14", "11"), ("14", "3"), ("15", "13")]));
        let subjects: Vec<&str> = tasks.iter().map(|task| task.subject.as_str()).collect();
        assert_eq!(subjects, ["Release", "Build it", "Test", "Announce", "Mail"]);
        assert_eq!(tasks[0].description, "What there is\nto do: all");
        assert_eq!(json!(tasks[1].metadata), json!({"tags": ["a", "b"], "parent": "11"}));
        assert_eq!(json!(tasks[4].metadata), json!({"parent": "14"}));
    }

    #[test]
    fn duplicate_titles_are_fine_unless_used_as_a_name() {
        let (tasks, edges) = resolved(
            "\u{feff}- Web\n  - Test\n- Api\n  - Test\n  - Test name: last\n- Web name: site after: last, web\n",
        )
        .unwrap();
        let parents: Vec<Option<TaskId>> = tasks.iter().map(Task::parent).collect();
        let [web, api] = [11, 13].map(|number| Some(TaskId::number(number)));
        assert_eq!(parents, [None, web, None, api.clone(), api, None]);
        assert_eq!(edges, pairs(&[("16", "15"), ("16", "11")]));
    }

    #[test]
    fn every_mistake_names_its_line() {
        for (text, mistake) in [
            ("", "line 1: it contains no tasks; write `- Title`, or {\"subject\": \"Title\"}"),
            (
                "- a\nstray",
                "line 2: this line is outside of any item: start a task with `- `, and indent what belongs to it",
            ),
            ("- a\n- b after: c", "line 2: no task is named `c`; refer to existing tasks by number or id"),
            ("- Build\n- b after: biuld", "line 2: no task is named `biuld`; did you mean `build`?"),
            (
                "- a\n\n- A\n- b after: a",
                "line 4: `a` is ambiguous: it may mean line 1 or line 3; give the intended one a `name`",
            ),
            ("- a name: x\n- b name: X", "line 2: the name `X` is already used on line 1"),
            ("- a\n  priority: hihg", "line 2: invalid priority `hihg`: expected low, medium or high"),
            ("- [x] a", "line 1: a new task must be pending, but this one is ticked"),
            ("{\"subject\":\"a\"}\n{\"sbject\":\"b\"}", "line 2: unknown key `sbject`; did you mean `subject`?"),
            ("{\"subject\":\"a\",\"status\":\"completed\"}", "line 1: a new task is pending"),
            ("{\"name\":\"a\"}", "line 1: a task needs a `subject`"),
        ] {
            assert_eq!(resolved(text).unwrap_err().to_string(), mistake, "{text}");
        }
    }
}
