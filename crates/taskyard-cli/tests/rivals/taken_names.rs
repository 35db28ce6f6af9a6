//! A name that another program takes between the moment a commit exists and the moment it is written out: theirs stays, and ours
//! is not lost.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use taskyard_testkit::{Home, list_builder};

const HUGE: &str = "1794754403000000000";

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

fn task(id: &str, subject: &str) -> String {
    list_builder::file(&format!("{id} pending '{subject}'"))
}

/// Puts something at a path.
type Put = fn(&Path);

/// What another program puts where a task was to come.
const THEIRS: [(&str, Put); 5] = [
    ("a task", |path| fs::write(path, task("3", "Theirs")).unwrap()),
    ("garbage", |path| fs::write(path, "{\"id\": \"3\", \"su").unwrap()),
    ("nothing in a file", |path| fs::write(path, "").unwrap()),
    ("a directory", |path| fs::create_dir(path).unwrap()),
    ("a link to nothing", |path| symlink("nowhere", path).unwrap()),
];

fn told(path: &Path) -> String {
    match (fs::read_link(path), fs::read_to_string(path)) {
        (Ok(target), _) => format!("a link to {}", target.display()),
        (_, Ok(text)) => text,
        _ => format!("a directory: {}", path.is_dir()),
    }
}

#[test]
fn name_taken_during_killed_create_moves_our_number() {
    for rules in ["strict", "client"] {
        for (what, put) in THEIRS {
            for command in ["create Ours", "restore 3 --deleted"] {
                let home = home();
                ["create One", "create Two"].iter().for_each(|command| drop(home.ask(command)));
                if command.starts_with("restore") {
                    home.ask("create Ours");
                    home.ask("delete 3");
                    // The mark would say that the number was used.
                    fs::remove_file(home.list("L").join(".highwatermark")).unwrap();
                }
                fs::write(home.task_file(HUGE), task(HUGE, "Huge")).unwrap();
                let killed = home.run_with("journal: flushed=kill", &format!("{command} --rules {rules}"));
                assert!(killed.was_killed(), "{killed:?}");
                put(&home.task_file("3"));
                let before = told(&home.task_file("3"));
                home.ask(&format!("create Later --rules {rules}"));
                let place = format!("{rules}: {what} where `{command}` was to come");
                assert_eq!(told(&home.task_file("3")), before, "{place}");
                assert_eq!(told(&home.task_file(HUGE)), task(HUGE, "Huge"), "{place}");
                let tasks = home.ask("list --all");
                let subjects: Vec<&str> =
                    tasks["tasks"].as_array().unwrap().iter().map(|task| task["subject"].as_str().unwrap()).collect();
                for ours in ["One", "Two", "Ours", "Later", "Huge"] {
                    let count = subjects.iter().filter(|subject| **subject == ours).count();
                    assert_eq!(count, 1, "{place}: {ours} in {subjects:?}");
                }
            }
        }
    }
}

/// Kills a restore of a task in a store of another dialect, lets another program take its name, and returns the tasks there are
/// after the next command.
fn restored_beside(home: &Home, store: &str, take: impl FnOnce(&str)) -> Vec<Value> {
    let created = home.ask(&format!("create Ours --store {store}"));
    let id = created["task"]["id"].as_str().unwrap().to_owned();
    home.ask(&format!("create Waits --blocked-by {id} --store {store}"));
    home.ask(&format!("delete {id} --store {store}"));
    let killed = home.run_with("journal: flushed=kill", &format!("undo --store {store}"));
    assert!(killed.was_killed(), "{killed:?}");
    take(&id);
    home.ask(&format!("create Later --store {store}"));
    home.ask(&format!("list --all --store {store}"))["tasks"].as_array().unwrap().clone()
}

fn only<'a>(tasks: &'a [Value], subject: &str) -> &'a Value {
    let mut found = tasks.iter().filter(|task| task["subject"] == subject);
    let task = found.next().unwrap_or_else(|| panic!("no {subject} in {tasks:#?}"));
    assert!(found.next().is_none(), "two of {subject} in {tasks:#?}");
    task
}

#[test]
fn what_takes_the_name_of_a_task_of_a_teaching_folder_stays() {
    let home = home();
    let mut theirs = String::new();
    let path = |id: &str| home.path().join("folder").join(format!("{id}.json"));
    let tasks = restored_beside(&home, "teaching:folder", |id| {
        theirs = task(id, "Theirs");
        fs::write(path(id), &theirs).unwrap();
    });
    let ours = only(&tasks, "Ours");
    let id = only(&tasks, "Theirs")["id"].as_str().unwrap();
    assert_eq!(fs::read_to_string(path(id)).unwrap(), theirs);
    assert_ne!(ours["id"], id);
    assert_eq!(only(&tasks, "Waits")["blockedBy"], json!([ours["id"]]));
    assert_eq!(only(&tasks, "Later")["status"], "pending");
}

#[test]
fn what_takes_the_id_of_a_task_of_a_document_stays() {
    let home = home();
    let document = home.path().join("tasks.json");
    let mut theirs = Value::Null;
    let tasks = restored_beside(&home, "document:tasks.json", |id| {
        let mut root: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
        theirs = json!({"id": id, "description": "Theirs", "status": "pending", "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "odd": 1});
        root["tasks"].as_array_mut().unwrap().push(theirs.clone());
        fs::write(&document, root.to_string()).unwrap();
    });
    let root: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
    assert!(root["tasks"].as_array().unwrap().contains(&theirs), "{root:#}");
    let ours = only(&tasks, "Ours");
    assert_ne!(ours["id"], theirs["id"]);
    assert_eq!(only(&tasks, "Waits")["blockedBy"], json!([ours["id"]]));
}
