//! Documents as others see them: what is in the file, and what becomes of what others do to it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use taskyard::core::{AgentName, ListId, Op, Status, TaskId};
use taskyard::operations::{Claim, NewTask, Update};
use taskyard::store::{DocumentOptions, DocumentPaths, HistoryQuery, open_documents};
use taskyard::{Outcome, Yard};
use taskyard_testkit::{PATIENCE, Program, rules_under_test};
use tempfile::TempDir;

const EXAMPLE: &str = include_str!("../../../../docs/formats/document.md");

struct DocumentSite {
    folder: TempDir,
    yard: Yard,
}

impl DocumentSite {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let yard = open(folder.path());
        Self { folder, yard }
    }

    /// Opens the same document as another process would.
    fn another_process(&self) -> Yard {
        open(self.folder.path())
    }

    /// With the document of the format's page in it.
    fn with_example() -> Self {
        let site = Self::new();
        let text = EXAMPLE.split("```json example\n").nth(1).unwrap().split("\n```").next().unwrap();
        fs::write(site.file(), text).unwrap();
        site
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("tasks.json")
    }

    fn root(&self) -> Value {
        serde_json::from_slice(&fs::read(self.file()).unwrap()).unwrap()
    }

    fn element(&self, id: &str) -> Value {
        let root = self.root();
        root["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap().clone()
    }

    fn edit(&self, edit: impl FnOnce(&mut Value)) {
        let mut root = self.root();
        edit(&mut root);
        fs::write(self.file(), serde_json::to_string_pretty(&root).unwrap()).unwrap();
    }
}

fn open(folder: &Path) -> Yard {
    let paths = DocumentPaths::File(folder.join("tasks.json"));
    let store = open_documents(DocumentOptions { paths, data: folder.join("data"), rules: rules_under_test() });
    Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap()).with_rules(rules_under_test())
}

fn id(text: &str) -> TaskId {
    TaskId::stored(text)
}

fn done<T: std::fmt::Debug>(outcome: Result<Outcome<T>, taskyard::Error>) -> T {
    outcome.unwrap().done().unwrap()
}

#[test]
fn a_new_task_is_written_as_the_format_says() {
    let site = DocumentSite::new();
    let new = NewTask { subject: "Title".into(), description: "Text".into(), ..NewTask::default() };
    let made = done(site.yard.create(new)).task.id;
    let root = site.root();
    assert_eq!(root["version"], 2);
    assert!(root["last_updated"].as_str().unwrap().ends_with('Z'));
    let task = site.element(made.as_str());
    let keys: Vec<&String> = task.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "description", "status", "created_at", "updated_at", "assignee", "dependencies"]);
    assert_eq!((&task["description"], &task["assignee"]), (&json!("Title\n\nText"), &Value::Null));
    assert!(fs::read_to_string(site.file()).unwrap().starts_with("{\n  \"tasks\": [\n    {\n      \"id\""));
}

#[test]
fn completing_a_task_unblocks_only_its_dependent() {
    let site = DocumentSite::with_example();
    let before = site.root();
    let updated = done(site.yard.done(&id("task-002")));
    assert_eq!(updated.now_ready, [id("task-003")]);
    let mut after = site.root();
    assert_eq!(after["tasks"][1]["status"], "completed");
    assert_eq!(after["tasks"][2]["status"], "pending");
    for (place, status) in [(1, "in_progress"), (2, "blocked")] {
        assert_ne!(after["tasks"][place]["updated_at"], before["tasks"][place]["updated_at"]);
        after["tasks"][place]["status"] = json!(status);
        after["tasks"][place]["updated_at"] = before["tasks"][place]["updated_at"].clone();
    }
    after["last_updated"] = before["last_updated"].clone();
    assert_eq!(after.to_string(), before.to_string());
}

#[test]
fn every_write_says_when_the_document_was_updated() {
    const LONG_AGO: &str = "2025-02-06T11:00:00Z";
    let site = DocumentSite::with_example();
    let writes: [(&str, &dyn Fn()); 4] = [
        ("create", &|| drop(done(site.yard.create(NewTask { subject: "New".into(), ..NewTask::default() })))),
        ("done", &|| drop(done(site.yard.done(&id("task-002"))))),
        ("reopen", &|| drop(done(site.yard.reopen(&id("task-002"))))),
        ("delete", &|| drop(done(site.yard.delete(&[id("task-003")])))),
    ];
    for (name, write) in writes {
        site.edit(|root| root["last_updated"] = LONG_AGO.into());
        write();
        let updated = site.root()["last_updated"].as_str().unwrap().to_owned();
        assert!(updated.ends_with('Z') && updated.as_str() > LONG_AGO, "{name}: {updated}");
    }
}

#[test]
fn a_task_that_gains_a_dependent_has_not_changed_itself() {
    let site = DocumentSite::with_example();
    let before = site.root();
    let blocked_by = vec![id("task-001"), id("task-002")];
    let made = done(site.yard.create(NewTask { subject: "Another".into(), blocked_by, ..NewTask::default() })).task.id;
    assert_eq!(site.element(made.as_str())["status"], "blocked");
    done(site.yard.delete(std::slice::from_ref(&made)));
    let after = site.root();
    assert_eq!(after["tasks"], before["tasks"]);
}

#[test]
fn a_task_that_is_reopened_blocks_again() {
    let site = DocumentSite::with_example();
    done(site.yard.done(&id("task-002")));
    done(site.yard.reopen(&id("task-002")));
    assert_eq!(site.element("task-003")["status"], "blocked");
}

#[test]
fn a_blocked_task_cannot_be_started_and_a_circle_is_refused() {
    let site = DocumentSite::with_example();
    assert!(matches!(site.yard.start(&id("task-003")).unwrap(), Outcome::Refused(_)));
    let circle = Update { add_blocked_by: vec![id("task-003")], ..Update::default() };
    assert!(matches!(site.yard.update(&id("task-001"), circle).unwrap(), Outcome::Refused(_)));
    let nothing = Update { add_blocked_by: vec![id("nothing")], ..Update::default() };
    assert!(matches!(site.yard.update(&id("task-001"), nothing).unwrap(), Outcome::Refused(_)));
}

#[test]
fn foreign_change_is_in_history_and_can_be_restored() {
    let site = DocumentSite::with_example();
    site.yard.list(&Default::default()).unwrap();
    site.edit(|root| {
        root["tasks"][0]["description"] = json!("Another title");
        root["tasks"].as_array_mut().unwrap().remove(2);
        root["tasks"].as_array_mut().unwrap().push(json!({"id": "new", "description": "New", "status": "pending"}));
    });
    let tasks = site.yard.list(&Default::default()).unwrap().tasks;
    assert_eq!(tasks.len(), 3);
    let entries =
        site.yard.history(&HistoryQuery { since: taskyard::core::Revision(1), ..Default::default() }).unwrap();
    let mut told: Vec<_> = entries.iter().map(|entry| (entry.task.as_str().to_owned(), entry.op)).collect();
    told.sort_by(|one, two| one.0.cmp(&two.0));
    let expected = [
        ("new", Op::CreatedElsewhere),
        ("task-001", Op::ChangedElsewhere),
        ("task-002", Op::ChangedElsewhere),
        ("task-003", Op::RemovedElsewhere),
    ];
    assert_eq!(told, expected.map(|(id, op)| (id.to_owned(), op)));
}

#[test]
fn a_document_that_was_deleted_is_remembered() {
    let site = DocumentSite::with_example();
    site.yard.list(&Default::default()).unwrap();
    fs::remove_file(site.file()).unwrap();
    assert!(site.yard.list(&Default::default()).unwrap().tasks.is_empty());
    let entries = site.yard.history(&HistoryQuery::default()).unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.op == Op::RemovedElsewhere).count(), 3);
    let mut txn = site.yard.store().write(site.yard.list_id()).unwrap();
    for entry in entries.iter().filter(|entry| entry.op == Op::RemovedElsewhere) {
        txn.put_image(&entry.task, entry.before.clone().unwrap()).unwrap();
    }
    txn.commit(&taskyard_testkit::signature(Op::Restore)).unwrap();
    assert_eq!(site.element("task-002")["assignee"], "agent-123");
    assert_eq!(site.element("task-003")["status"], "blocked");
}

#[test]
fn a_document_at_rest_is_believed_until_somebody_writes_to_it() {
    let site = DocumentSite::with_example();
    let other = site.another_process();
    let titles = || -> Vec<String> {
        let tasks = site.yard.list(&Default::default()).unwrap().tasks;
        tasks.into_iter().map(|listed| listed.subject).collect()
    };
    let rest = || {
        let file = File::options().write(true).open(site.file()).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        drop(file);
        assert_eq!(titles(), titles());
    };
    rest();
    site.edit(|root| root["tasks"][0]["description"] = json!("Set up project structurE"));
    assert!(titles().contains(&"Set up project structurE".to_owned()));
    rest();
    done(other.create(NewTask { subject: "Another".into(), ..NewTask::default() }));
    assert!(titles().contains(&"Another".to_owned()));
    rest();
    done(other.undo(taskyard::operations::UndoRange::Newest));
    assert!(!titles().contains(&"Another".to_owned()));
    rest();
    fs::remove_file(site.file()).unwrap();
    assert_eq!(titles(), Vec::<String>::new());
}

#[test]
fn a_file_of_the_first_version_is_upgraded_and_kept() {
    let site = DocumentSite::new();
    let old = r#"{"tasks":[{"id":"a","description":"A","status":"pending","created_at":"2025-01-01T00:00:00Z","updated_at":"2025-01-01T00:00:00Z"}],"version":1,"by":"hand"}"#;
    fs::write(site.file(), old).unwrap();
    assert_eq!(site.yard.list(&Default::default()).unwrap().tasks.len(), 1);
    assert_eq!(fs::read_to_string(site.file()).unwrap(), old, "looking changes nothing");
    done(site.yard.start(&id("a")));
    assert_eq!((&site.root()["version"], &site.root()["by"]), (&json!(2), &json!("hand")));
    assert_eq!(fs::read_to_string(site.folder.path().join("tasks.json.v1")).unwrap(), old);
    assert_eq!(site.element("a")["created_at"], "2025-01-01T00:00:00Z");
}

#[test]
fn what_is_no_task_stays_in_the_file_as_it_is() {
    let site = DocumentSite::with_example();
    site.edit(|root| root["tasks"].as_array_mut().unwrap().push(json!({"id": "bad", "status": 5})));
    done(site.yard.done(&id("task-002")));
    assert_eq!(site.element("bad"), json!({"id": "bad", "status": 5}));
    let problems = site.yard.store().read(site.yard.list_id()).unwrap().problems().unwrap();
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_file_that_is_no_document_is_left_alone() {
    let site = DocumentSite::new();
    for text in ["", "[]", "{\"tasks\": 5}", "{\"tasks\": [], \"version\": 3}", "{\"tasks\": ["] {
        fs::write(site.file(), text).unwrap();
        assert!(site.yard.create(NewTask { subject: "x".into(), ..NewTask::default() }).is_err(), "{text}");
        assert_eq!(fs::read_to_string(site.file()).unwrap(), text);
    }
}

#[test]
fn a_name_that_is_no_file_is_an_error_and_nothing_happens() {
    for make in
        ["mkfifo tasks.json", "mkdir tasks.json", "ln -s nowhere.json tasks.json", "ln -s tasks.json tasks.json"]
    {
        let site = DocumentSite::new();
        let made = Program::new("sh").args(["-c", make]).current_dir(site.folder.path()).status();
        assert!(made.success(), "{make}");
        assert!(site.yard.create(NewTask { subject: "x".into(), ..NewTask::default() }).is_err(), "{make}");
        assert_eq!(site.yard.history(&HistoryQuery::default()).unwrap_or_default(), [], "{make}");
        let is_there = site.yard.list(&Default::default()).is_ok_and(|list| !list.tasks.is_empty());
        assert!(!is_there, "{make}");
    }
}

#[test]
fn we_wait_for_a_program_that_locks_the_file() {
    let site = DocumentSite::with_example();
    let held = File::options().read(true).write(true).open(site.file()).unwrap();
    flock(&held, FlockOperation::LockExclusive).unwrap();
    let (send, receive) = channel();
    let yard = site.yard.clone();
    let writer = thread::spawn(move || {
        send.send("begins").unwrap();
        done(yard.done(&id("task-002")));
        send.send("done").unwrap();
    });
    assert_eq!(receive.recv_timeout(PATIENCE), Ok("begins"));
    // As the format's own programs write: in place, with the lock held.
    site.edit(|root| root["tasks"][1]["assignee"] = json!("agent-456"));
    assert!(receive.try_recv().is_err(), "it did not wait");
    drop(held);
    assert_eq!(receive.recv_timeout(PATIENCE), Ok("done"));
    writer.join().unwrap();
    let task = site.element("task-002");
    assert_eq!((&task["assignee"], &task["status"]), (&json!("agent-456"), &json!("completed")));
}

#[test]
fn blocked_task_in_progress_resumes_when_unblocked() {
    let site = DocumentSite::with_example();
    let new = NewTask { subject: "First".into(), ..NewTask::default() };
    let first = done(site.yard.create(new)).task.id;
    let wait = Update { add_blocked_by: vec![first.clone()], ..Update::default() };
    done(site.yard.update(&id("task-002"), wait));
    assert_eq!(site.element("task-002")["status"], "blocked");
    let is = |id: &TaskId| done(site.yard.show(id)).task.status;
    assert_eq!(is(&id("task-002")), Status::InProgress);
    done(site.yard.done(&first));
    assert_eq!(site.element("task-002")["status"], "in_progress");
}

#[test]
fn tasks_are_listed_and_given_out_in_the_order_of_the_document() {
    let site = DocumentSite::new();
    let subjects: Vec<String> = (1..=12).map(|number| format!("step {number}")).collect();
    for subject in &subjects {
        site.yard.create(NewTask { subject: subject.clone(), ..NewTask::default() }).unwrap().done().unwrap();
    }
    let yard = site.another_process();
    let listed: Vec<String> =
        yard.store().read(yard.list_id()).unwrap().tasks().unwrap().into_iter().map(|task| task.subject).collect();
    assert_eq!(listed, subjects);
    let ready: Vec<String> = yard.ready(None).unwrap().ranked.into_iter().map(|ranked| ranked.task.subject).collect();
    assert_eq!(ready, subjects);
    for subject in &subjects {
        let Outcome::Done(claimed) = yard.claim_next(&Claim::default()).unwrap() else { panic!("{subject}") };
        assert_eq!(&claimed.task.subject, subject);
        yard.done(&claimed.task.id).unwrap().done().unwrap();
    }
}
