//! How large the memory of a list gets when much is changed: a change is stored once, and small.
//!
//! `TASKYARD_TEST_SCALE=1 cargo test --release -p taskyard --test stores journal_size:: -- --nocapture` does it in full and prints the sizes.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Rules, TaskId};
use taskyard::operations::{NewTask, Patch, Update};
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard_testkit::{DiskUse, Random, Scale};

const MB: u64 = 1 << 20;
/// The last state of every task is whole, twice, and so is what waits to be flushed, however few changes there were.
const AT_LEAST: u64 = 10 * MB;

fn yard(home: &Path) -> Yard {
    let options = FileStoreOptions { tasks: home.join("tasks"), data: Some(home.join("data")), rules: Rules::Strict };
    let store = Arc::new(FileStore::open(options));
    Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap())
}

/// Returns text that is like prose: words, of which some come often.
fn prose(random: &mut Random, length: usize) -> String {
    let words =
        ["task", "list", "agent", "writes", "the", "of", "lease", "journal", "when", "nobody", "reads", "again"];
    let mut text = String::new();
    while text.len() < length {
        match random.below(4) {
            0 => text.push_str(&format!("{:x}", random.below(1 << 30))),
            _ => text.push_str(words[random.below(words.len())]),
        }
        text.push(' ');
    }
    text
}

fn update(yard: &Yard, task: u64, patch: Patch) {
    yard.update(&TaskId::number(task), Update { patch, ..Update::default() }).unwrap();
}

#[test]
fn twenty_thousand_updates_take_at_most_forty_megabytes() {
    let (home, mut random) = (tempfile::tempdir().unwrap(), Random::new(1));
    let updates = Scale::from_environment(0.05).of(20_000);
    let yard = yard(home.path());
    let tasks = 100;
    for number in 1..=tasks {
        let description = prose(&mut random, 10 * 1024);
        yard.create(NewTask { subject: format!("Task {number}"), description, ..NewTask::default() }).unwrap();
    }
    for number in 0..updates {
        let metadata = json!({ "progress": number, "said": prose(&mut random, 60) });
        let patch = Patch { metadata: metadata.as_object().cloned(), ..Patch::default() };
        update(&yard, 1 + number as u64 % tasks, patch);
    }
    drop(yard);
    let used = DiskUse::of(&home.path().join("data"));
    println!("{updates} updates of tasks of 10 KB: {used:?}");
    assert!(used.most() <= (40 * MB * updates as u64 / 20_000).max(AT_LEAST), "{updates} updates: {used:?}");
}

#[test]
fn a_thousand_notes_on_one_task_take_five_megabytes_at_most() {
    let (home, mut random) = (tempfile::tempdir().unwrap(), Random::new(2));
    let count = Scale::from_environment(0.2).of(1_000);
    let yard = yard(home.path());
    yard.create(NewTask { subject: "Noted".into(), ..NewTask::default() }).unwrap();
    let mut notes = Vec::new();
    for number in 0..count {
        notes.push(json!({ "at": number, "by": "ana", "text": prose(&mut random, 200) }));
        let patch = Patch { metadata: json!({ "notes": notes }).as_object().cloned(), ..Patch::default() };
        update(&yard, 1, patch);
    }
    drop(yard);
    let used = DiskUse::of(&home.path().join("data"));
    println!("{count} notes on one task: {used:?}");
    assert!(used.most() <= 5 * MB, "{count} notes: {used:?}");
}
