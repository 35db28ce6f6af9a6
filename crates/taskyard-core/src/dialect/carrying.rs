//! Data that one dialect carries for another, specified in `docs/formats/carrying.md`, and helpers shared by the
//! array dialects.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::native;
use super::native::{Shape, Unreadable};
use crate::{Task, TaskId};

const MORE: &str = "more";
const INSTEAD: &str = "instead";
const WITHIN: &str = "within";
const ORDER: &str = "order";

/// Whether key order matters when two objects are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOrder {
    /// It matters: a file written by another program must be reproduced exactly.
    Counts,
    /// It does not: the key order of a task means nothing and is not worth recording in another program's file.
    IsFree,
}

/// Returns the difference that turns `said` into `is`, including key order; empty if there is none.
pub(super) fn difference(said: &Map<String, Value>, is: &Map<String, Value>, schema: &[&str]) -> Map<String, Value> {
    difference_by(KeyOrder::Counts, said, is, schema)
}

/// Returns what an element of another dialect contains beyond what the task expresses in that dialect.
///
/// Key order is ignored, and so are omitted keys that would have their usual values.
pub(super) fn leftover(
    said: Map<String, Value>,
    element: &Map<String, Value>,
    usual: &[(&str, Value)],
) -> Map<String, Value> {
    let said = without_usual(said, element, usual);
    difference_by(KeyOrder::IsFree, &said, element, &[])
}

/// Removes keys that have their usual values if the other object omits them.
pub(super) fn without_usual(
    mut said: Map<String, Value>,
    other: &Map<String, Value>,
    usual: &[(&str, Value)],
) -> Map<String, Value> {
    for (key, value) in usual {
        if !other.contains_key(*key) && said.get(*key) == Some(value) {
            said.shift_remove(*key);
        }
    }
    said
}

/// Sorts the keys of an object like those of another one, recursively; new keys come last.
pub(super) fn arranged_like(object: Map<String, Value>, other: &Map<String, Value>) -> Map<String, Value> {
    let keys: Vec<&str> = other.keys().map(String::as_str).collect();
    let mut object = arranged(object, &keys);
    for (key, value) in &mut object {
        if let (Value::Object(inner), Some(Value::Object(other))) = (&mut *value, other.get(key)) {
            *value = Value::Object(arranged_like(std::mem::take(inner), other));
        }
    }
    object
}

fn difference_by(
    order: KeyOrder,
    said: &Map<String, Value>,
    is: &Map<String, Value>,
    schema: &[&str],
) -> Map<String, Value> {
    let (mut more, mut instead, mut within) = (Map::new(), Map::new(), Map::new());
    for (key, value) in is {
        match (said.get(key), value) {
            (None, value) => drop(more.insert(key.clone(), value.clone())),
            (Some(other), value) if other == value && (order == KeyOrder::IsFree || is_same(other, value)) => {}
            (Some(Value::Object(other)), Value::Object(value)) => {
                within.insert(key.clone(), Value::Object(difference_by(order, other, value, &[])));
            }
            (Some(other), value) => drop(instead.insert(key.clone(), exception(other, Some(value)))),
        }
    }
    for (key, value) in said.iter().filter(|(key, _)| !is.contains_key(*key)) {
        instead.insert(key.clone(), exception(value, None));
    }
    let mut difference = Map::new();
    for (name, part) in [(MORE, more), (INSTEAD, instead), (WITHIN, within)] {
        if !part.is_empty() {
            difference.insert(name.to_owned(), Value::Object(part));
        }
    }
    if order == KeyOrder::Counts && !restored(said.clone(), &difference, schema).keys().eq(is.keys()) {
        let order = is.keys().map(|key| Value::String(key.clone())).collect();
        difference.insert(ORDER.to_owned(), Value::Array(order));
    }
    difference
}

/// Applies a difference as far as the values it refers to are unchanged.
pub(super) fn restored(
    said: Map<String, Value>,
    difference: &Map<String, Value>,
    schema: &[&str],
) -> Map<String, Value> {
    let mut result = said;
    for (key, inner) in part(difference, WITHIN) {
        if let (Some(Value::Object(object)), Value::Object(inner)) = (result.get_mut(key), inner) {
            *object = restored(std::mem::take(object), inner, &[]);
        }
    }
    for (key, exception) in part(difference, INSTEAD) {
        if result.get(key).is_none() || result.get(key) != exception.get("said") {
            continue;
        }
        match exception.get("is") {
            Some(value) => drop(result.insert(key.clone(), value.clone())),
            None => drop(result.shift_remove(key)),
        }
    }
    for (key, value) in part(difference, MORE) {
        if !result.contains_key(key) {
            result.insert(key.clone(), value.clone());
        }
    }
    match difference.get(ORDER).and_then(Value::as_array) {
        Some(order) => arranged(result, &order.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
        None => arranged(result, schema),
    }
}

/// Moves these keys to the front, in the given order.
pub(super) fn arranged(mut object: Map<String, Value>, first: &[&str]) -> Map<String, Value> {
    let mut result = Map::new();
    for key in first {
        if let Some(value) = object.shift_remove(*key) {
            result.insert((*key).to_owned(), value);
        }
    }
    result.extend(object);
    result
}

/// Returns whether a value is a difference.
pub(super) fn is_difference(value: &Value) -> bool {
    let known = [MORE, INSTEAD, WITHIN, ORDER];
    value.as_object().is_some_and(|object| !object.is_empty() && object.keys().all(|key| known.contains(&key.as_str())))
}

/// Splits off the data that a task carries for a dialect.
pub(super) fn without_carried(task: &Task, dialect: &str) -> (Task, Map<String, Value>) {
    let mut task = task.clone();
    let Some(metadata) = task.metadata.as_mut() else { return (task, Map::new()) };
    if !metadata.get(dialect).is_some_and(is_difference) {
        return (task, Map::new());
    }
    let carried = metadata.shift_remove(dialect);
    if metadata.is_empty() {
        task.metadata = None;
    }
    match carried {
        Some(Value::Object(carried)) => (task, carried),
        _ => (task, Map::new()),
    }
}

/// Adds the data that a task carries for a dialect.
pub(super) fn with_carried(mut task: Task, dialect: &str, carried: Map<String, Value>) -> Task {
    if !carried.is_empty() {
        task.metadata.get_or_insert_default().insert(dialect.to_owned(), Value::Object(carried));
    }
    task
}

/// Returns a task in its native form with its displayed id.
pub(super) fn native_object(task: &Task) -> Map<String, Value> {
    let mut object = match serde_json::to_value(Shape(task)) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    };
    object.insert("id".to_owned(), Value::String(task.shown_id().to_owned()));
    object
}

/// Returns the part of `meant` that `stated`, the dialect's version of the task, does not express and that must be
/// carried.
///
/// Key order, the order of dependents and empty metadata mean nothing and are not carried.
pub(super) fn unsaid(stated: &Task, meant: &Task) -> Map<String, Value> {
    let mut meant = meant.clone();
    meant.metadata = meant.metadata.filter(|metadata| !metadata.is_empty());
    if is_same_set(&stated.blocks, &meant.blocks) {
        meant.blocks.clone_from(&stated.blocks);
    }
    difference_by(KeyOrder::IsFree, &native_object(stated), &native_object(&meant), &native::SCHEMA)
}

/// Like [`unsaid`], but including key order.
pub(super) fn unsaid_with_order(stated: &Task, meant: &Task) -> Map<String, Value> {
    difference(&native_object(stated), &native_object(meant), &native::SCHEMA)
}

fn is_same_set(one: &[TaskId], two: &[TaskId]) -> bool {
    let sorted = |ids: &[TaskId]| -> Vec<TaskId> {
        let mut ids = ids.to_vec();
        ids.sort();
        ids
    };
    one == two || one.len() == two.len() && sorted(one) == sorted(two)
}

/// Applies carried data to a task. Data that would make the task unreadable is ignored.
pub(super) fn with_unsaid(stated: Task, carried: &Map<String, Value>) -> Task {
    if carried.is_empty() {
        return stated;
    }
    let object = restored(native_object(&stated), carried, &native::SCHEMA);
    let bytes = serde_json::to_vec(&object).unwrap_or_default();
    native::read(&stated.id, &bytes).unwrap_or(stated)
}

/// Converts ids to JSON.
pub(super) fn ids(ids: &[TaskId]) -> Value {
    Value::Array(ids.iter().map(|id| Value::String(id.as_str().to_owned())).collect())
}

fn part<'a>(difference: &'a Map<String, Value>, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    difference.get(name).and_then(Value::as_object).into_iter().flatten()
}

fn exception(said: &Value, is: Option<&Value>) -> Value {
    let mut exception = Map::new();
    exception.insert("said".to_owned(), said.clone());
    if let Some(is) = is {
        exception.insert("is".to_owned(), is.clone());
    }
    Value::Object(exception)
}

/// Returns whether two values are equal, including key order and number spelling.
fn is_same(one: &Value, two: &Value) -> bool {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            one.keys().eq(two.keys()) && one.values().zip(two.values()).all(|(one, two)| is_same(one, two))
        }
        (Value::Array(one), Value::Array(two)) => {
            one.len() == two.len() && one.iter().zip(two).all(|(one, two)| is_same(one, two))
        }
        (one, two) => one == two,
    }
}

/// The contents of an array of tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TasksRead {
    /// The tasks, in the order of the array.
    pub tasks: Vec<Task>,
    /// The index of each element that is not a task, and why.
    pub problems: Vec<(usize, Unreadable)>,
}

/// Reads every element, passing its id if it states one. If two elements have the same id, the first one counts.
pub(super) fn read_all(
    elements: &[Value],
    read: impl Fn(&Value, Option<&TaskId>) -> Result<Task, Unreadable>,
) -> TasksRead {
    let mut found = TasksRead::default();
    let mut seen = HashSet::new();
    for (place, value) in elements.iter().enumerate() {
        let id = value.get("id").and_then(Value::as_str).map(TaskId::stored);
        match read(value, id.as_ref()) {
            Ok(task) if seen.insert(task.id.clone()) => found.tasks.push(task),
            Ok(_) => found.problems.push((
                place,
                Unreadable::WrongType { key: "id", expected: "an id of its own", found: "that of another task" },
            )),
            Err(why) => found.problems.push((place, why)),
        }
    }
    found
}

/// Returns a string, or `None` if the key is missing.
pub(super) fn text<'a>(element: &'a Map<String, Value>, key: &'static str) -> Result<Option<&'a str>, Unreadable> {
    match element.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(Unreadable::WrongType { key, expected: "a string", found: "another value" }),
    }
}

/// Returns a string, or `None` if the key is missing or null.
pub(super) fn text_or_null<'a>(
    element: &'a Map<String, Value>,
    key: &'static str,
) -> Result<Option<&'a str>, Unreadable> {
    if element.get(key) == Some(&Value::Null) { Ok(None) } else { text(element, key) }
}

/// Returns the ids under a key.
pub(super) fn ids_under(element: &Map<String, Value>, key: &'static str) -> Result<Vec<TaskId>, Unreadable> {
    let wrong = || Unreadable::WrongType { key, expected: "an array of strings", found: "another value" };
    match element.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            items.iter().map(|item| item.as_str().map(TaskId::stored).ok_or_else(wrong)).collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// A file states a newer version than this release supports. It is neither read nor written, because data could be
/// lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its version is {stated}; this taskyard supports versions up to {newest}")]
pub struct NewerVersion {
    /// The version as stated in the file.
    pub stated: String,
    /// The newest supported version.
    pub(crate) newest: u64,
}

/// Returns the `version` of a file's root: 1 if it is missing or not a number.
///
/// Other programs write it as a number or as a string (`"2"`, `"3.1"`). In a string, the first two numbers count.
pub(super) fn stated_version(root: &Map<String, Value>, newest: u64) -> Result<u64, NewerVersion> {
    let (number, stated) = match root.get("version") {
        Some(Value::Number(number)) => (number.as_f64(), number.to_string()),
        Some(Value::String(text)) => (leading_number(text), text.escape_debug().to_string()),
        _ => (None, String::new()),
    };
    let number = number.unwrap_or(1.0);
    match number > newest as f64 {
        true => Err(NewerVersion { stated, newest }),
        // The value is at most the newest version, so no precision is lost.
        false => Ok(number.max(0.0) as u64),
    }
}

/// Parses `v3.1.0-beta` as 3.1.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    let numbers = text.split(|character: char| !character.is_ascii_digit()).take(2).collect::<Vec<_>>();
    let is_followed_by_point = text.as_bytes().get(numbers[0].len()) == Some(&b'.');
    match numbers[..] {
        [major, minor] if is_followed_by_point => format!("{major}.{minor}0").parse().ok(),
        _ => numbers[0].parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{difference, restored, unsaid};
    use crate::{Task, TaskId};

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn text(object: Map<String, Value>) -> String {
        Value::Object(object).to_string()
    }

    #[test]
    fn what_is_carried_makes_of_what_was_said_what_was_meant() {
        for (said, is) in [
            (json!({"a": 1, "b": 2}), json!({"a": 1, "b": 2})),
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1})),
            (json!({"a": 1}), json!({"x": null, "a": 1, "y": {}})),
            (json!({"a": 1, "b": 2}), json!({"b": 3})),
            (json!({"a": {"b": {"c": 1, "d": 2}}}), json!({"a": {"b": {"d": 2, "c": 1}, "e": []}})),
            (json!({"a": [{"x": 1, "y": 2}]}), json!({"a": [{"y": 2, "x": 1}]})),
            (json!({"a": {}}), json!({"a": []})),
        ] {
            let carried = difference(&object(said.clone()), &object(is.clone()), &["a", "b"]);
            assert_eq!(text(restored(object(said), &carried, &["a", "b"])), is.to_string());
        }
    }

    #[test]
    fn what_stands_beside_something_else_now_is_not_believed() {
        let carried = difference(&object(json!({"status": "pending"})), &object(json!({"status": "blocked"})), &[]);
        let edited = restored(object(json!({"status": "completed"})), &carried, &[]);
        assert_eq!(text(edited), r#"{"status":"completed"}"#);
    }

    #[test]
    fn key_order_and_dependents_order_are_not_carried() {
        let said = Task {
            blocks: vec![TaskId::number(2), TaskId::number(3)],
            metadata: json!({"priority": "high", "tags": [{"a": 1, "b": 2}]}).as_object().cloned(),
            ..Task::new(TaskId::number(1), "x")
        };
        let mut meant = said.clone();
        meant.blocks.reverse();
        meant.metadata = json!({"tags": [{"b": 2, "a": 1}], "priority": "high"}).as_object().cloned();
        assert_eq!(unsaid(&said, &meant), Map::new());
        meant.blocks.pop();
        assert_eq!(
            Value::Object(unsaid(&said, &meant)),
            json!({"instead": {"blocks": {"said": ["2", "3"], "is": ["3"]}}})
        );
        let bare = Task::new(TaskId::number(1), "x");
        assert_eq!(unsaid(&bare, &Task { metadata: Some(Map::new()), ..bare.clone() }), Map::new());
    }

    #[test]
    fn a_key_the_schema_knows_comes_to_its_place_without_a_word() {
        let carried =
            difference(&object(json!({"a": 1, "c": 3})), &object(json!({"a": 1, "b": 2, "c": 3})), &["a", "b", "c"]);
        assert_eq!(Value::Object(carried), json!({"more": {"b": 2}}));
    }
}

#[cfg(test)]
mod stated_version_tests {
    use serde_json::{Value, json};

    use super::{NewerVersion, stated_version};

    fn version(stated: Value) -> Result<u64, NewerVersion> {
        let root = json!({ "version": stated });
        stated_version(root.as_object().unwrap(), 2)
    }

    #[test]
    fn known_versions_are_read_in_every_spelling() {
        let known = [json!(2), json!(2.0), json!("2"), json!("v2"), json!("2.0.0"), json!(" 2 ")];
        assert_eq!(known.map(|stated| version(stated).unwrap()), [2; 6]);
        let first = [json!(1), json!(null), json!("1.9"), json!("draft"), json!({}), json!(true), json!("")];
        assert_eq!(first.map(|stated| version(stated).unwrap()), [1; 7]);
        assert_eq!([json!(0), json!(-7), json!("0.3")].map(|stated| version(stated).unwrap()), [0; 3]);
    }

    #[test]
    fn newer_versions_are_told_in_every_spelling() {
        for stated in [json!(3), json!(2.1), json!(u64::MAX), json!(1e300), json!("3"), json!("v3"), json!("2.1.0")] {
            let told = version(stated.clone()).unwrap_err();
            assert_eq!((told.stated, told.newest), (stated.as_str().map_or(stated.to_string(), str::to_owned), 2));
        }
    }
}
