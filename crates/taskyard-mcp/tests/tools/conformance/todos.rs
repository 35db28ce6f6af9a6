//! The recorded runs of `TodoWrite`: its answers, and the file that the older client keeps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use taskyard::Yard;
use taskyard::core::rules::hooks::System;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::store::MemoryStore;
use taskyard::todos::{FileTodos, TodoLists};
use taskyard_mcp::calls::Toolbox;

use crate::conformance::recording::{Disk, Recording};
use crate::conformance::tools::{call_with, compare};

/// Replays a recording with the lists of a session, which may be kept in the files of the client's directory.
fn replay(contents: &str, session: &str, config: &Path) {
    let recording = Recording::read(contents);
    let rules = Rules::Client(recording.client);
    let folder = Arc::new(FileTodos::in_folder(config.join("todos")));
    let todos = TodoLists::served(folder, session, rules);
    if !recording.disk_before.is_empty() {
        todos.of(session).begin().unwrap();
    }
    let store = Arc::new(MemoryStore::new(rules));
    let yard = Yard::new(store, ListId::new("L1").unwrap(), AgentName::new("replay").unwrap()).with_rules(rules);
    let tools = Toolbox::new(yard, System::Todos).with_todos(todos.of(session));
    let mut expected = recording.disk_before.clone();
    assert_eq!(files(config), expected, "before the first step");
    for (number, step) in recording.steps.iter().enumerate() {
        let told = format!("step {number}: {} {}", step.tool, step.input);
        compare(&call_with(&tools, step), step, &told);
        step.change(&mut expected);
        assert_eq!(files(config), expected, "{told}");
    }
}

/// Returns every file below the client's directory, hidden ones included.
fn files(config: &Path) -> Disk {
    let Ok(folder) = fs::read_dir(config.join("todos")) else { return BTreeMap::new() };
    let file = |entry: fs::DirEntry| {
        let name = format!("todos/{}", entry.file_name().to_str().unwrap());
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    folder.map(|entry| file(entry.unwrap())).collect()
}

#[test]
fn todos_of_2_1_34_are_kept_in_a_file_from_the_beginning() {
    let contents = include_str!("../../fixtures/conformance/todo.2.1.34.json");
    let before = Recording::read(contents).disk_before;
    let name = before.keys().next().unwrap().strip_prefix("todos/").unwrap();
    let session = name.strip_suffix(".json").unwrap().split_once("-agent-").unwrap().0;
    replay(contents, session, tempfile::tempdir().unwrap().path());
}

#[test]
fn todos_of_2_1_325_leave_nothing_on_disk() {
    let contents = include_str!("../../fixtures/conformance/todo.2.1.325.json");
    replay(contents, "6f1c2b7e-0000", tempfile::tempdir().unwrap().path());
}
