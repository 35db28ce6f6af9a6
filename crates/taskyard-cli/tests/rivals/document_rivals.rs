//! Commands of ours on a document, and other programs at the same document: those that keep to its lock, those that put another
//! file in its place, and a disk that is full.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use taskyard_testkit::{Home, Process, Rival, Suspended, wait_until};

const EACH: usize = 60;

fn home_with(tasks: &[&str]) -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for subject in tasks {
        home.ask(&format!("create {subject} --store document:tasks.json"));
    }
    home
}

fn document(home: &Home) -> PathBuf {
    home.path().join("tasks.json")
}

fn root(home: &Home) -> Value {
    serde_json::from_slice(&fs::read(document(home)).unwrap()).unwrap()
}

fn descriptions(home: &Home) -> Vec<String> {
    let text = |task: &Value| task["description"].as_str().unwrap().to_owned();
    root(home)["tasks"].as_array().unwrap().iter().map(text).collect()
}

/// Waits until a command waits for a lock, by the table of locks that the system keeps.
fn wait_until_it_waits(child: &Process) {
    let process = child.id().to_string();
    let is_waiting = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields.get(1) == Some(&"->") && fields.get(2) == Some(&"FLOCK") && fields.get(5) == Some(&process.as_str())
    };
    wait_until("it to wait for a lock", || fs::read_to_string("/proc/locks").unwrap().lines().any(is_waiting));
}

#[test]
fn creates_and_writes_of_a_locking_rival_are_all_there() {
    let home = home_with(&["First"]);
    let rival = Rival::start_python("document.py", &[document(&home).to_str().unwrap(), &EACH.to_string(), "theirs"]);
    let made: Vec<String> = (0..EACH)
        .map(|number| {
            let ran = home.run(&format!("create Ours-{number} --store document:tasks.json --json"));
            assert_eq!(ran.code, Some(0), "{ran:?}");
            ran.id()
        })
        .collect();
    let ran = rival.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let theirs: BTreeMap<String, String> = serde_json::from_str(&ran.stdout).unwrap();
    let root = root(&home);
    let find = |id: &str| root["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).cloned();
    for (number, id) in made.iter().enumerate() {
        assert_eq!(find(id).expect("ours is there")["description"], format!("Ours-{number}"));
    }
    for (id, description) in &theirs {
        assert_eq!(find(id).expect("theirs is there")["description"], json!(description));
    }
    assert_eq!(find("counts").expect("theirs is there")["metadata"]["custom_fields"]["theirs"], EACH);
    assert_eq!(root["tasks"].as_array().unwrap().len(), 2 + made.len() + theirs.len());
}

#[test]
fn program_waiting_for_lock_finds_our_write_in_its_open_file() {
    let home = home_with(&["One"]);
    let opened = File::open(document(&home)).unwrap();
    home.ask("create Two --store document:tasks.json");
    let text = std::io::read_to_string(&opened).unwrap();
    assert!(text.contains("\"Two\""), "{text}");
    assert_eq!(opened.metadata().unwrap().ino(), fs::metadata(document(&home)).unwrap().ino());
}

#[test]
fn every_writing_command_leaves_same_document_and_mode() {
    let home = home_with(&["One", "Two"]);
    fs::set_permissions(document(&home), fs::Permissions::from_mode(0o640)).unwrap();
    let identity = || {
        let found = fs::metadata(document(&home)).unwrap();
        (found.ino(), found.mode())
    };
    let before = identity();
    fs::write(home.path().join("list.md"), "- [ ] Imported\n").unwrap();
    let id = root(&home)["tasks"][0]["id"].as_str().unwrap().to_owned();
    let commands = [
        format!("update {id} --subject Other"),
        format!("claim {id}"),
        format!("done {id}"),
        format!("delete {id}"),
        "undo".to_owned(),
        format!("delete {id}"),
        "restore --all".to_owned(),
        "import list.md --from markdown".to_owned(),
        "clear".to_owned(),
        "undo".to_owned(),
    ];
    for command in &commands {
        home.ask(&format!("{command} --store document:tasks.json"));
        assert_eq!(identity(), before, "{command}");
    }
    home.ask("create Gone --list other");
    home.ask("delete 1 --list other");
    home.ask("export --to document tasks.json --list other");
    assert_eq!(identity(), before, "export");
    fs::write(document(&home), "{\"tasks\": [").unwrap();
    home.run("doctor --fix --yes --store document:tasks.json");
    assert_eq!(identity(), before, "doctor");
    assert!(descriptions(&home).contains(&"Two".to_owned()), "{:?}", descriptions(&home));
}

#[test]
fn an_export_over_a_document_waits_for_its_lock() {
    let home = home_with(&["One"]);
    home.ask("create Exported");
    let held = File::open(document(&home)).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let child = home.command("export --to document tasks.json").start();
    wait_until_it_waits(&child);
    assert_eq!(descriptions(&home), ["One"]);
    drop(held);
    assert_eq!(child.end().code, Some(0));
    assert_eq!(descriptions(&home), ["Exported"]);
}

#[test]
fn document_import_waits_for_its_current_writer() {
    let home = home_with(&["One"]);
    let whole = fs::read(document(&home)).unwrap();
    let held = File::open(document(&home)).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    // As its programs write: first there is nothing in it.
    fs::write(document(&home), "").unwrap();
    let child = home.command("import tasks.json --from document").start();
    wait_until_it_waits(&child);
    fs::write(document(&home), whole).unwrap();
    drop(held);
    let ran = child.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(home.ask("list")["tasks"][0]["subject"], "One");
}

#[test]
fn commit_is_redone_on_a_file_swapped_during_the_write() {
    let steps = home_with(&["One"]).steps("create Sleeper --store document:tasks.json");
    let saved = steps.iter().position(|step| step.name == "dialect: saved").unwrap();
    for step in &steps[..saved] {
        let home = home_with(&["One"]);
        let older = fs::read(document(&home)).unwrap();
        home.ask("create Two --store document:tasks.json");
        let sleeper = Suspended::at(&home, &step.to_string(), "create Sleeper --store document:tasks.json");
        // An editor that read the document some time ago knows no lock.
        fs::write(home.path().join("edited"), &older).unwrap();
        fs::rename(home.path().join("edited"), document(&home)).unwrap();
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
        assert_eq!(descriptions(&home), ["One", "Sleeper"], "{step}");
        let restorable = home.ask("restore --store document:tasks.json")["restorable"].clone();
        assert_eq!(restorable[0]["task"]["subject"], "Two", "{step}: {restorable}");
        assert_eq!(restorable[0]["removed"]["op"], "removed_elsewhere", "{step}: {restorable}");
        home.ask("restore --all --store document:tasks.json");
        let mut all = descriptions(&home);
        all.sort();
        assert_eq!(all, ["One", "Sleeper", "Two"], "{step}");
    }
}

#[test]
fn document_created_by_rival_meanwhile_keeps_its_content() {
    let steps = home_with(&[]).steps("create Sleeper --store document:tasks.json");
    let made = steps.iter().position(|step| step.name == "dialect: a file in its place").unwrap();
    for step in &steps[..made] {
        let home = home_with(&[]);
        let sleeper = Suspended::at(&home, &step.to_string(), "create Sleeper --store document:tasks.json");
        let theirs = json!({ "tasks": [{ "id": "t", "description": "Theirs", "status": "pending" }], "version": 2 });
        fs::write(document(&home), theirs.to_string()).unwrap();
        let ran = sleeper.go_on();
        assert_eq!(ran.code, Some(0), "{step}: {ran:?}");
        assert_eq!(descriptions(&home), ["Theirs", "Sleeper"], "{step}");
        let left = fs::read_dir(home.path()).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(left.filter(|name| name.to_string_lossy().starts_with(".tasks")).count(), 0, "{step}");
    }
}

#[test]
fn a_document_that_may_not_grow_is_left_as_it_is() {
    let home = home_with(&[]);
    // Not among the tasks, so that the journal stays far below the limit.
    let large = json!({ "kept": "x".repeat(1_000_000), "tasks": [], "version": 2 });
    fs::write(document(&home), serde_json::to_string_pretty(&large).unwrap()).unwrap();
    home.ask("create One --store document:tasks.json");
    let (before, history) = (fs::read(document(&home)).unwrap(), home.ask("history --store document:tasks.json"));
    let blocks = before.len().div_ceil(512);
    let long = "y".repeat(2_000);
    let ordinary = home.command(&format!("create {long} --store document:tasks.json --json"));
    let ran = ordinary.limited(&format!("ulimit -f {blocks}")).run();
    assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
    assert!(ran.stdout.contains("File too large") || ran.stderr.contains("File too large"), "{ran:?}");
    assert_eq!(fs::read(document(&home)).unwrap(), before);
    assert_eq!(home.ask("history --store document:tasks.json"), history);
    home.ask(&format!("create {long} --store document:tasks.json"));
    assert_eq!(descriptions(&home), ["One".to_owned(), long]);
}
