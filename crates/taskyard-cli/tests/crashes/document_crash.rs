//! A command killed at any step of writing to a document in place leaves all of its change or none of it, whatever the document
//! itself looks like until the next command: with a program in between that writes to it by its lock, and where the repair is
//! killed too.
//!
//! Every step with every variation: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test crashes document_crash::`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use taskyard_testkit::{Home, Program, Rival, Scale, Step, side_by_side};

/// Enough for a rewrite of several parts, and every task as long as the next, so that a mixture of old and new may be JSON.
const TASKS: usize = 200;

#[test]
fn a_change_at_the_beginning_happened_or_did_not() {
    check("update task-000 --subject Longer-than-it-was-before");
}

#[test]
fn a_removal_at_the_beginning_happened_or_did_not() {
    check("delete task-001");
}

#[test]
fn a_change_that_unblocks_another_task_happened_or_did_not() {
    check("done task-000");
}

#[test]
fn a_new_task_at_the_end_happened_or_did_not() {
    check("create New");
}

#[test]
fn tasks_dropped_from_a_torn_document_can_be_restored() {
    let place = DocumentSite::new();
    let before = place.tasks().len();
    let command = "update task-000 --subject Changed --store document:tasks.json";
    assert!(place.home.run_with("document: a part written=kill", command).was_killed());
    let theirs = json!({ "id": "theirs", "description": "Theirs", "status": "pending" });
    fs::write(place.document(), json!({ "kept": "by others", "tasks": [theirs], "version": 2 }).to_string()).unwrap();
    place.home.ask("create Later --store document:tasks.json");
    let tasks = place.tasks();
    assert_eq!(tasks.len(), 3, "{tasks:?}");
    for description in ["Changed", "Theirs", "Later"] {
        assert!(tasks.iter().any(|task| task.contains(&format!("\"description\":\"{description}"))), "{tasks:?}");
    }
    let restored = place.home.ask("restore --all --store document:tasks.json");
    assert_eq!(restored["tasks"].as_array().unwrap().len(), before - 1);
    assert_eq!(place.tasks().len(), before + 2);
}

/// In so many parts the steps of a command are gone through at once.
const PARTS: usize = 4;

/// A home with a document in it that we know, and a copy of both to go back to.
struct DocumentSite {
    home: Home,
    saved: PathBuf,
}

fn check(command: &str) {
    let traced = DocumentSite::new();
    let command = format!("{command} --store document:tasks.json");
    let before = traced.tasks();
    let steps = traced.home.steps(&command);
    let after = traced.tasks();
    assert_ne!(before, after);
    let journaled = steps.iter().position(|step| step.name == "journal: flushed").unwrap();
    let parts = steps.iter().filter(|step| step.name == "document: a part written").count();
    assert!(command.starts_with("create") || parts > 1, "{steps:?}");
    let scale = Scale::from_environment(0.1);
    // A few steps at a time, each part of them in a place of its own.
    let numbered: Vec<(usize, &Step)> = steps.iter().enumerate().collect();
    side_by_side(numbered.chunks(numbered.len().div_ceil(PARTS)), |part| {
        let place = DocumentSite::new();
        for &(number, step) in part {
            let told = format!("`{command}` killed at {step}");
            let expected = if number >= journaled { &after } else { &before };
            let kill = || {
                place.go_back();
                let ran = place.home.run_with(&step.killing(), &command);
                assert!(ran.was_killed(), "{told}: {ran:?}");
            };
            kill();
            let is_torn = serde_json::from_slice::<Value>(&fs::read(place.document()).unwrap()).is_err();
            let is_on_its_way = ["document: lengthened", "document: a part written", "document: overwritten"];
            assert_eq!(is_torn, is_on_its_way.contains(&step.name.as_str()), "{told}");
            place.is_seen(expected, &told);
            place.is_in_the_document(expected, &told);
            if scale.is_full() || number % 2 == 0 {
                kill();
                place.is_in_the_document_beside_a_rival(expected, &told);
            }
            if scale.is_full() || number % 4 == 1 {
                kill();
                place.is_in_the_document_after_killed_repairs(expected, &told);
            }
        }
    });
}

impl DocumentSite {
    fn new() -> Self {
        let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
        let task = |number: usize| {
            json!({
                "id": format!("task-{number:03}"),
                "description": format!("Task {number:03}\n\n{}", "as long as the others ".repeat(25)),
                "status": if number == TASKS - 1 { "blocked" } else { "pending" },
                "created_at": "2025-02-06T10:00:00Z",
                "updated_at": "2025-02-06T10:00:00Z",
                "dependencies": if number == TASKS - 1 { json!(["task-000"]) } else { json!([]) },
            })
        };
        let tasks: Vec<Value> = (0..TASKS).map(task).collect();
        let root = json!({ "tasks": tasks, "version": 2, "kept": "by others" });
        fs::write(home.path().join("tasks.json"), serde_json::to_string_pretty(&root).unwrap()).unwrap();
        home.ask("list --store document:tasks.json");
        let place = Self { saved: home.path().join("saved"), home };
        fs::create_dir(&place.saved).unwrap();
        copy(&place.document(), &place.saved);
        copy(&place.home.data(), &place.saved);
        place
    }

    fn document(&self) -> PathBuf {
        self.home.path().join("tasks.json")
    }

    fn go_back(&self) {
        fs::remove_dir_all(self.home.data()).unwrap();
        copy(&self.saved.join("tasks.json"), self.home.path());
        copy(&self.saved.join("data"), self.home.path());
    }

    /// Returns what the document says of its tasks, without the times and without ids that we made up.
    fn tasks(&self) -> Vec<String> {
        let root: Value = serde_json::from_slice(&fs::read(self.document()).unwrap()).unwrap();
        assert_eq!(root["kept"], "by others");
        let plain = |task: &Value| {
            let mut task = task.as_object().unwrap().clone();
            let is_given = task["id"].as_str().unwrap().contains("task-");
            task.retain(|key, _| !["created_at", "updated_at"].contains(&key.as_str()) && (is_given || key != "id"));
            Value::Object(task).to_string()
        };
        let mut tasks: Vec<String> = root["tasks"].as_array().unwrap().iter().map(plain).collect();
        tasks.sort();
        tasks
    }

    /// A reader sees it, also where the document cannot be made whole because another program has its lock.
    fn is_seen(&self, expected: &[String], told: &str) {
        let rival = File::open(self.document()).unwrap();
        flock(&rival, FlockOperation::LockExclusive).unwrap();
        let listed = self.home.ask("list --all --store document:tasks.json");
        let mut seen: Vec<(&str, &str)> = listed["tasks"].as_array().unwrap().iter().map(essence).collect();
        let parsed: Vec<Value> = expected.iter().map(|task| serde_json::from_str(task).unwrap()).collect();
        let mut wanted: Vec<(&str, &str)> = parsed.iter().map(essence_in_document).collect();
        seen.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(seen, wanted, "{told}, seen by a reader");
    }

    fn is_in_the_document(&self, expected: &[String], told: &str) {
        self.home.ask("show task-002 --store document:tasks.json");
        assert_eq!(self.tasks(), expected, "{told}, after a look");
        self.home.ask("create Later --store document:tasks.json");
        self.without(&["Later"], expected, told);
        let history = self.home.ask("history --store document:tasks.json");
        let elsewhere =
            history["entries"].as_array().unwrap().iter().filter(|entry| entry["op"] == "changed_elsewhere");
        assert_eq!(elsewhere.count(), 0, "{told}: what we did was taken for what others did");
    }

    fn is_in_the_document_beside_a_rival(&self, expected: &[String], told: &str) {
        let told = format!("{told}, and a rival wrote");
        let rival = Rival::start_python("document.py", &[self.document().to_str().unwrap(), "1", "rival"]).end();
        // A torn document is no JSON for it; it goes away without having written.
        let has_written = rival.code == Some(0);
        assert!(has_written || rival.stderr.contains("JSONDecodeError"), "{told}: {rival:?}");
        self.home.ask("create Later --store document:tasks.json");
        let added: &[&str] = if has_written { &["Later", "turn 0", "counts"] } else { &["Later"] };
        self.without(added, expected, &told);
    }

    fn is_in_the_document_after_killed_repairs(&self, expected: &[String], told: &str) {
        for step in ["document: lengthened", "document: a part written*2", "document: overwritten"] {
            self.home.run_with(&format!("{step}=kill"), "list --store document:tasks.json");
        }
        self.is_in_the_document(expected, &format!("{told}, and its repair was killed"));
    }

    fn without(&self, added: &[&str], expected: &[String], told: &str) {
        let mut tasks = self.tasks();
        for description in added {
            let pattern = format!("\"description\":\"{description}\"");
            let found = tasks.iter().position(|task| task.contains(&pattern));
            tasks.remove(found.unwrap_or_else(|| panic!("{told}: {description} is lost")));
        }
        assert_eq!(tasks, expected, "{told}");
    }
}

fn essence(task: &Value) -> (&str, &str) {
    (task["subject"].as_str().unwrap(), task["status"].as_str().unwrap())
}

fn essence_in_document(task: &Value) -> (&str, &str) {
    let description = task["description"].as_str().unwrap();
    let status = task["status"].as_str().unwrap();
    (description.split('\n').next().unwrap(), if status == "blocked" { "pending" } else { status })
}

fn copy(from: &Path, into: &Path) {
    let copied = Program::new("cp").arg("-a").args([from, into]).status();
    assert!(copied.success(), "{} into {}", from.display(), into.display());
}
