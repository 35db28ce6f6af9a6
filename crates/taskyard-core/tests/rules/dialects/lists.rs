//! Random lists, with everything in them that a task file can hold.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use taskyard_core::{Status, Task, TaskId};

/// A list of tasks with ids of their own.
pub(crate) fn list() -> impl Strategy<Value = Vec<Task>> {
    prop::collection::btree_map(id(), task(), 0..6).prop_map(|tasks| {
        let tasks = tasks.into_iter().map(|(id, task)| Task { id: TaskId::stored(id), ..task });
        let mut tasks: Vec<Task> = tasks.collect();
        tasks.sort_by(|one, two| one.id.cmp(&two.id));
        tasks
    })
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u32..12).prop_map(|number| number.to_string()),
        Just("task-001".to_owned()),
        Just("task_1738950000".to_owned()),
        Just("12x".to_owned()),
    ]
}

const OPEN: &str = "<macf_task_metadata version=\"1.0\">";
const CLOSE: &str = "</macf_task_metadata>";

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => "[a-z ]{0,8}",
        1 => "[a-c\n]{0,6}",
        1 => Just("\u{1b}[2m#1\u{1b}[0m \u{1b}[2m[^#2]\u{1b}[0m title".to_owned()),
        1 => Just("[^#3] \u{1f4cb} Phase".to_owned()),
        1 => Just("prose\n\n<macf_task_metadata version=\"1.0\">\ncreated_by: PA\n</macf_task_metadata>".to_owned()),
        1 => Just("é\u{1f600}\t\"\\".to_owned()),
        1 => Just("\u{1b}[2m  #1\u{1b}[22m \u{1b}[2m[^#2]\u{1b}[22m - title".to_owned()),
        1 => Just(format!("prose\n\n{OPEN}\nupdates:\n- breadcrumb: s_1\n  agent: PA\nparent_id: '3'\n{CLOSE}")),
        1 => Just(format!("{OPEN}\r\n# how\r\ntitle: \"a: b\"\r\nparent_id: 4 # of it\r\n{CLOSE}\r\nafter")),
        1 => Just(format!("{OPEN}\ntitle: CLI: no YAML\n{CLOSE}")),
        1 => Just(format!("{OPEN}{CLOSE}")),
        1 => Just(format!("{OPEN}a: &x 1\nb: *x{CLOSE}")),
    ]
}

fn status() -> impl Strategy<Value = Status> {
    prop_oneof![Just(Status::Pending), Just(Status::InProgress), Just(Status::Completed)]
}

fn edges() -> impl Strategy<Value = Vec<TaskId>> {
    prop::collection::btree_set(id(), 0..3).prop_map(|ids| ids.into_iter().map(TaskId::stored).collect())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        Just(json!(7)),
        Just(serde_json::from_str::<Value>("1.50").unwrap()),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::hash_map("[a-c]", inner, 0..3)
                .prop_map(|object| Value::Object(object.into_iter().collect())),
        ]
    })
}

/// Metadata, in any order, with the keys that the dialects have places for among it.
pub(crate) fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let entry = prop_oneof![
        ("[a-d]{1,2}", value()),
        (Just("priority".to_owned()), prop_oneof![Just(json!("high")), Just(json!("urgent")), Just(json!(1))]),
        (Just("tags".to_owned()), prop_oneof![Just(json!(["a", "b"])), Just(json!([])), Just(json!(["a", 1]))]),
        (Just("source".to_owned()), value()),
        (Just("parent".to_owned()), prop_oneof![Just(json!("3")), Just(json!(3)), Just(json!("")), Just(json!("a/b"))]),
        (Just("cancelled".to_owned()), prop_oneof![Just(json!(true)), Just(json!(false)), Just(json!("yes"))]),
        (Just("subagent_id".to_owned()), value()),
        (Just("custom_fields".to_owned()), value()),
        (Just("created_at".to_owned()), prop_oneof![Just(json!("2026-02-06T20:41:00Z")), Just(json!(1))]),
        (Just("updated_at".to_owned()), prop_oneof![Just(json!("2026-02-06T20:45:12Z")), Just(Value::Null)]),
        (Just("created_by".to_owned()), prop_oneof![Just(json!("PA")), Just(json!("42")), Just(json!(" x"))]),
        (Just("created_cycle".to_owned()), Just(json!(42))),
        (Just("kind".to_owned()), prop_oneof![Just(json!("mission")), Just(json!("odd"))]),
        (Just("target_version".to_owned()), prop_oneof![Just(json!("1.0")), Just(json!("a: b")), Just(json!("no"))]),
    ];
    prop::collection::vec(entry, 0..4).prop_map(|entries| entries.into_iter().collect())
}

/// A list as people and agents make it: edges on both sides, in any order, nothing begun that waits, and metadata in any order.
pub(crate) fn plain_list() -> impl Strategy<Value = Vec<Task>> {
    let task = (
        "[a-z]{1,5}( [a-z]{1,4}){0,2}",
        "[a-z]{0,4}(\n{1,2}[a-z]{1,3}){0,2}",
        prop::option::of(Just("ana".to_owned())),
        status(),
        prop::collection::btree_set(0_usize..6, 0..3),
        prop::option::of(plain_metadata()),
        any::<bool>(),
    );
    prop::collection::vec(task, 0..6).prop_map(|tasks| {
        let mut list: Vec<Task> = Vec::new();
        for (place, (subject, description, owner, status, on, metadata, _)) in tasks.iter().cloned().enumerate() {
            let on: Vec<usize> = on.into_iter().filter(|on| *on < place).collect();
            let waits = on.iter().any(|on| list[*on].status.is_open());
            let task = Task {
                description,
                owner,
                status: if waits && status == Status::InProgress { Status::Pending } else { status },
                blocked_by: on.iter().map(|on| list[*on].id.clone()).collect(),
                metadata,
                ..Task::new(TaskId::number(place as u64 + 1), subject)
            };
            on.iter().for_each(|on| list[*on].blocks.push(task.id.clone()));
            list.push(task);
        }
        for (task, (.., is_reversed)) in list.iter_mut().zip(&tasks) {
            if *is_reversed {
                task.blocks.reverse();
            }
        }
        list
    })
}

fn plain_metadata() -> impl Strategy<Value = Map<String, Value>> {
    let entries = vec![
        ("priority", json!("high")),
        ("tags", json!(["a", "b"])),
        ("parent", json!("1")),
        ("source", json!("review")),
        ("estimate", json!(90)),
        ("due", json!("2026-11-15")),
        ("notes", json!([{"text": "a", "author": "ana"}])),
        ("created_at", json!("2026-02-06T20:41:00Z")),
        ("updated_at", json!("2026-02-06T20:45:12Z")),
    ];
    let priority = prop_oneof![Just(json!("low")), Just(json!("medium")), Just(json!("high"))];
    (prop::sample::subsequence(entries, 0..=9).prop_shuffle(), priority).prop_map(|(entries, priority)| {
        let entry =
            |(key, value): (&str, Value)| (key.to_owned(), if key == "priority" { priority.clone() } else { value });
        entries.into_iter().map(entry).collect()
    })
}

fn task() -> impl Strategy<Value = Task> {
    let texts = (text(), text(), prop::option::of(text()), prop::option::of(prop_oneof![Just("ana"), Just("")]));
    let rest = (
        status(),
        edges(),
        edges(),
        prop::option::of(metadata()),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
    );
    (texts, rest).prop_map(
        |((subject, description, active_form, owner), (status, blocks, blocked_by, metadata, odd, extra))| Task {
            stated_id: odd.then(|| "77".to_owned()),
            description,
            active_form,
            owner: owner.map(str::to_owned),
            status,
            blocks,
            blocked_by,
            metadata,
            extra: if extra { json!({"estimate": 3, "x": {"y": []}}).as_object().unwrap().clone() } else { Map::new() },
            ..Task::new(TaskId::number(0), subject)
        },
    )
}
