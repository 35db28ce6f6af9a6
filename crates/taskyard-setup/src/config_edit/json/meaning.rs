//! What adding and taking out an entry does to what a file means. The edited text is held to it.

use serde_json::{Map, Value, json};

use super::super::{Entry, What};

/// Adds an entry to what a file means. Whatever stands in the way has been refused before.
pub(super) fn with(mut root: Value, entry: &Entry) -> Value {
    put(&mut root, &entry.path, entry);
    root
}

fn put(place: &mut Value, path: &[String], entry: &Entry) {
    let (Some(members), Some((name, rest))) = (place.as_object_mut(), path.split_first()) else { return };
    let is_last = rest.is_empty();
    if is_last && entry.is_member() {
        members.insert(name.clone(), entry.value());
        return;
    }
    let empty = if is_last { json!([]) } else { Value::Object(Map::new()) };
    let inner = members.entry(name.as_str()).or_insert(empty);
    match inner.as_array_mut() {
        Some(items) if is_last => items.push(entry.value()),
        _ => put(inner, rest, entry),
    }
}

/// Takes what stands at a place out of what a file means.
pub(super) fn without(mut root: Value, place: &[Step]) -> Value {
    let Some((last, before)) = place.split_last() else { return root };
    let mut around = Some(&mut root);
    for step in before {
        around = match (step, around) {
            (Step::Name(name), Some(Value::Object(members))) => members.get_mut(name),
            (Step::Number(number), Some(Value::Array(items))) => items.get_mut(*number),
            _ => None,
        };
    }
    match (last, around) {
        (Step::Name(name), Some(Value::Object(members))) => drop(members.shift_remove(name)),
        (Step::Number(number), Some(Value::Array(items))) if *number < items.len() => drop(items.remove(*number)),
        _ => {}
    }
    root
}

/// A step into an object or an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Number(usize),
}

/// Returns where an entry stands; none where it is not there.
pub(super) fn place_of(root: &Value, entry: &Entry) -> Option<Vec<Step>> {
    let mut place: Vec<Step> = entry.path.iter().cloned().map(Step::Name).collect();
    let found = entry.path.iter().try_fold(root, |value, name| value.as_object()?.get(name))?;
    let is_ours = |hook: &Value, command: &str| hook.get("command").and_then(Value::as_str) == Some(command);
    match &entry.what {
        What::Member(_) | What::Setting(_) => {}
        What::Word(word) => {
            let number = found.as_array()?.iter().position(|item| item.as_str() == Some(word))?;
            place.push(Step::Number(number));
        }
        What::Hook { command, .. } => {
            let hooks_of = |group: &Value| group.get("hooks").and_then(Value::as_array).cloned().unwrap_or_default();
            let position = |group: &Value| hooks_of(group).iter().position(|hook| is_ours(hook, command));
            let (group, hook) =
                found.as_array()?.iter().enumerate().find_map(|(number, group)| Some((number, position(group)?)))?;
            place.extend([Step::Number(group), Step::Name("hooks".into()), Step::Number(hook)]);
        }
    }
    Some(place)
}
