//! Files that others wrote: what we do not know of them is kept.
//!
//! They come back with every key and value. The order of keys means nothing, and what was left out may come as what that means.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use taskyard_core::dialect::{document, export, native};
use taskyard_core::{Rules, Task};

use super::lists::metadata;

/// Keys that a program or a person may have put there, in any order, among those that must be.
fn element(required: Vec<(&'static str, Value)>, optional: Vec<(&'static str, Value)>) -> impl Strategy<Value = Value> {
    let unknown =
        prop::collection::vec(("[x-z]{1,2}", prop_oneof![Just(json!(null)), Just(json!({"b": 1, "a": [2]}))]), 0..3);
    let metadata = prop::option::of(metadata().prop_map(Value::Object));
    let count = optional.len();
    (prop::sample::subsequence(optional, 0..=count), unknown, metadata)
        .prop_flat_map(move |(optional, unknown, metadata)| {
            let known = required.clone().into_iter().chain(optional).map(|(key, value)| (key.to_owned(), value));
            let metadata = metadata.map(|metadata| ("metadata".to_owned(), metadata));
            let keys: Vec<(String, Value)> = known.chain(unknown).chain(metadata).collect();
            Just(keys).prop_shuffle()
        })
        .prop_map(|keys| Value::Object(keys.into_iter().collect::<Map<_, _>>()))
}

fn document_element() -> impl Strategy<Value = Value> {
    let required = vec![
        ("id", json!("a")),
        ("description", json!("one\ntwo")),
        ("status", json!("pending")),
        ("created_at", json!("2025-02-06T10:00:00Z")),
        ("updated_at", json!("2025-02-06T10:00:01+00:00")),
    ];
    let optional = vec![("assignee", Value::Null), ("dependencies", json!(["b"])), ("parent_id", json!("p"))];
    element(required, optional)
}

fn export_element() -> impl Strategy<Value = Value> {
    let required = vec![("id", json!("task_1")), ("subject", json!("s")), ("status", json!("blocked"))];
    let optional = vec![
        ("description", json!("d")),
        ("priority", json!("urgent")),
        ("dependencies", json!(["x"])),
        ("blockedBy", json!(["y"])),
    ];
    element(required, optional)
}

/// Returns an element without what it says of its own accord: keys that were not given, with what leaving them out means.
fn without(mut told: Value, given: &Value, usual: &[(&str, Value)]) -> Value {
    for (key, value) in usual {
        if given.get(key).is_none() && told.get(key) == Some(value) {
            told.as_object_mut().unwrap().shift_remove(*key);
        }
    }
    told
}

/// Takes a task through the file of a native list.
fn through_native(task: &Task) -> Task {
    let image = native::write(None, task, Rules::Strict).unwrap();
    native::read(&task.id, image.bytes()).unwrap()
}

proptest! {
    #[test]
    fn an_element_of_a_document_comes_back_with_all_it_held(given in document_element()) {
        let found = document::read_tasks(&document::Document::new().with_elements(vec![given.clone()], "now"));
        let tasks: Vec<Task> = found.tasks.iter().map(through_native).collect();
        let told = document::write_tasks(&tasks, "now");
        let usual = [("assignee", Value::Null), ("dependencies", json!([]))];
        prop_assert_eq!(without(told.elements()[0].clone(), &given, &usual), given);
    }

    #[test]
    fn an_element_of_an_export_comes_back_with_all_it_held(given in export_element()) {
        let found = export::read_tasks(std::slice::from_ref(&given));
        let tasks: Vec<Task> = found.tasks.iter().map(through_native).collect();
        let nothing = ["dependencies", "blockedBy"].map(|key| (key, json!([])));
        let usual = [("description", json!("")), ("priority", json!("medium")), ("metadata", json!({}))];
        let usual: Vec<_> = usual.into_iter().chain(nothing).collect();
        prop_assert_eq!(without(export::write_tasks(&tasks)[0].clone(), &given, &usual), given);
    }

    #[test]
    fn a_changed_element_of_a_document_keeps_what_was_not_changed(given in document_element()) {
        let task = document::read(&given, &[]).unwrap();
        let changed = Task { owner: Some("ana".into()), ..task };
        let (created, updated) = document::times(given.as_object().unwrap());
        let times = document::Times { created: created.unwrap_or("now").into(), updated: updated.unwrap_or("now").into() };
        let mut told = document::write(Some(&given), &changed, &document::Around::default(), &times);
        prop_assert_eq!(told.insert("assignee".into(), given.get("assignee").cloned().unwrap_or_default()), Some(json!("ana")));
        for (key, value) in given.as_object().unwrap() {
            prop_assert_eq!(told.get(key), Some(value), "{}", key);
        }
    }

    #[test]
    fn overwritten_element_keeps_its_order_and_unknown_keys(given in document_element()) {
        let task = document::read(&given, &[]).unwrap();
        let (created, updated) = document::times(given.as_object().unwrap());
        let times = document::Times { created: created.unwrap().into(), updated: updated.unwrap().into() };
        let around = document::Around::default();
        let told = document::write(Some(&given), &task, &around, &times);
        prop_assert_eq!(Value::Object(told).to_string(), given.to_string());
    }
}

#[test]
fn nothing_is_carried_for_a_file_that_leaves_out_what_it_may() {
    let element = json!({"status": "pending", "description": "x", "id": "a", "created_at": "t", "updated_at": "t"});
    assert_eq!(document::read(&element, &[]).unwrap().metadata, None);
    let found = export::read_tasks(&[json!({"status": "pending", "subject": "x", "id": "a"})]);
    assert_eq!(found.tasks[0].metadata, None);
}
