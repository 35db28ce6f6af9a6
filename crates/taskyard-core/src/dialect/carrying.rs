//! What one form cannot say and another carries for it, specified in `docs/formats/carrying.md`.
//!
//! A dialect says of a task what it has words for. What was said is read back and compared with what was meant; the
//! difference is kept beside, and applied again when the task comes back. Each part of it counts only for as long as
//! what it stands beside is what it was: a person who edits a file by hand is believed over what is carried.

use serde_json::{Map, Value};

use super::native::{self, Shape};
use crate::{Task, TaskId};

const MORE: &str = "more";
const INSTEAD: &str = "instead";
const WITHIN: &str = "within";
const ORDER: &str = "order";

/// Whether two objects are the same that have the same keys in another order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyOrder {
    /// They are not: a file that another program wrote comes back to the letter.
    Counts,
    /// They are: the order of a task's own keys means nothing, and is not worth a word in another program's file.
    IsFree,
}

/// Returns what has to be done to `said` to make it `is`; empty where they are the same to the order of their keys.
pub(super) fn difference(said: &Map<String, Value>, is: &Map<String, Value>, schema: &[&str]) -> Map<String, Value> {
    difference_by(KeyOrder::Counts, said, is, schema)
}

/// Returns what an element of another dialect holds that a task in that dialect's words does not say.
///
/// The order of its keys means nothing, and neither does leaving out what would only say the usual.
pub(super) fn leftover(
    said: Map<String, Value>,
    element: &Map<String, Value>,
    usual: &[(&str, Value)],
) -> Map<String, Value> {
    let said = without_usual(said, element, usual);
    difference_by(KeyOrder::IsFree, &said, element, &[])
}

/// Returns what is said without those keys that say only the usual and that another object does without.
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

/// Returns an object with its keys in the order another one has them, below as well; new ones come last.
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

/// Does to what was said what a difference says, as far as it still stands beside the same.
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

/// Returns an object with these keys first, in their order, and the others after them in theirs.
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

/// Tells whether a value is a difference.
pub(super) fn is_difference(value: &Value) -> bool {
    let known = [MORE, INSTEAD, WITHIN, ORDER];
    value.as_object().is_some_and(|object| !object.is_empty() && object.keys().all(|key| known.contains(&key.as_str())))
}

/// Returns a task without what it carries for a dialect, and that.
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

/// Returns a task that carries something for a dialect.
pub(super) fn with_carried(mut task: Task, dialect: &str, carried: Map<String, Value>) -> Task {
    if !carried.is_empty() {
        task.metadata.get_or_insert_default().insert(dialect.to_owned(), Value::Object(carried));
    }
    task
}

/// Returns a task in its native form, the id as it is shown.
pub(super) fn native_object(task: &Task) -> Map<String, Value> {
    let mut object = match serde_json::to_value(Shape(task)) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    };
    object.insert("id".to_owned(), Value::String(task.shown_id().to_owned()));
    object
}

/// Returns what a task says in a dialect does not say: what has to be carried beside it.
///
/// The order of its keys, the order of the tasks that wait for it, and metadata that holds nothing mean nothing, and are not carried.
pub(super) fn unsaid(stated: &Task, meant: &Task) -> Map<String, Value> {
    let mut meant = meant.clone();
    meant.metadata = meant.metadata.filter(|metadata| !metadata.is_empty());
    if is_same_set(&stated.blocks, &meant.blocks) {
        meant.blocks.clone_from(&stated.blocks);
    }
    difference_by(KeyOrder::IsFree, &native_object(stated), &native_object(&meant), &native::SCHEMA)
}

/// Returns the same with the order of the keys.
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

/// Returns a task with what was carried beside it. What makes no task of it is not believed.
pub(super) fn with_unsaid(stated: Task, carried: &Map<String, Value>) -> Task {
    if carried.is_empty() {
        return stated;
    }
    let object = restored(native_object(&stated), carried, &native::SCHEMA);
    let bytes = serde_json::to_vec(&object).unwrap_or_default();
    native::read(&stated.id, &bytes).unwrap_or(stated)
}

/// Returns ids as JSON.
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

/// Tells whether two values are the same, to the order of their keys and the writing of their numbers.
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
    fn the_order_of_a_tasks_own_keys_and_of_those_who_wait_for_it_is_not_carried() {
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
