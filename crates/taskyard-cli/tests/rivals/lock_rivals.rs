//! One list, Node processes that lock as the client does, and ours: no process loses anything, none starves.
//!
//! Full scale (200 tasks for each of eight): `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals lock_rivals::`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, TaskId};
use taskyard::operations::{NewTask, Patch, Update};
use taskyard_testkit::{Home, Rival, Scale, Tasks, is_consistent_journal, leftovers};

const OF_EACH_KIND: usize = 4;
/// How long a lock lives that no process refreshes: a process that waits for one waits this long at least.
const LIFE: Duration = Duration::from_secs(10);

#[test]
fn one_shot_commands_and_node_processes_share_a_list() {
    share(|home, name| Box::new(OneShot { home, name }));
}

#[test]
fn a_program_with_the_library_and_node_processes_share_a_list() {
    share(|home, name| {
        let agent = AgentName::new(name.as_str()).unwrap();
        Box::new(Library { yard: Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), agent), name })
    });
}

#[test]
fn a_dead_lock_on_the_list_is_taken_over() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    make_lock(&home.list("L").join(".lock.lock"), Duration::from_secs(11));
    let (ran, took) = home.run_timed("create B");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(took.waited < LIFE, "{took:?}");
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
    assert_eq!(home.present().len(), 2);
}

#[test]
fn a_dead_lock_on_a_task_is_taken_over() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    make_lock(&home.list("L").join("1.json.lock"), Duration::from_secs(11));
    let (ran, took) = home.run_timed("update 1 --subject B");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(took.waited < LIFE, "{took:?}");
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
    assert_eq!(home.present()["1"]["subject"], json!("B"));
}

#[test]
fn lock_of_living_rival_is_awaited_then_named_with_age() {
    thread::scope(|scope| {
        for (file, command) in [(".lock", "create B"), ("1.json", "update 1 --subject B"), ("1.json", "delete 1")] {
            scope.spawn(move || is_waited_for(file, command));
        }
    });
}

fn is_waited_for(file: &str, command: &str) {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create A");
    let before = home.present();
    let file = home.list("L").join(file);
    let mut rival = Rival::start_listening("hold.js", &[file.to_str().unwrap(), "told", "--refresh"]);
    assert_eq!(rival.line().as_deref(), Some("held"));
    let (ran, took) = home.run_timed("list");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(took.waited < LIFE, "a reader waited for a lock");
    let (ran, took) = home.run_timed(command);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(took.elapsed > Duration::from_secs(11) && took.waited < 2 * LIFE, "{took:?}");
    assert!(ran.stderr.contains(".lock") && ran.stderr.contains(" s old"), "{ran:?}");
    assert_eq!(home.present(), before);
    let end = rival.end();
    assert_eq!((end.code, end.stdout.as_str()), (Some(0), "released\n"), "{end:?}");
    home.ask(command);
    assert_eq!(leftovers(&home.list("L")), Vec::<String>::new());
}

/// One of ours that changes a list.
trait Worker: Send {
    fn name(&self) -> &str;
    fn create(&self, subject: &str) -> String;
    fn revise(&self, id: &str, subject: &str, key: &str, value: usize);
    fn delete(&self, id: &str);
}

struct OneShot<'a> {
    home: &'a Home,
    name: String,
}

impl Worker for OneShot<'_> {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, subject: &str) -> String {
        self.home.ask(&format!("create {subject}"))["task"]["id"].as_str().unwrap().to_owned()
    }

    fn revise(&self, id: &str, subject: &str, key: &str, value: usize) {
        self.home.ask(&format!("update {id} --subject {subject} --meta {key}={value}"));
    }

    fn delete(&self, id: &str) {
        self.home.ask(&format!("delete {id}"));
    }
}

struct Library {
    yard: Yard,
    name: String,
}

impl Worker for Library {
    fn name(&self) -> &str {
        &self.name
    }

    fn create(&self, subject: &str) -> String {
        let new = NewTask { subject: subject.to_owned(), ..NewTask::default() };
        self.yard.create(new).unwrap().done().unwrap().task.id.to_string()
    }

    fn revise(&self, id: &str, subject: &str, key: &str, value: usize) {
        let metadata = json!({ key: value }).as_object().cloned();
        let patch = Patch { subject: Some(subject.to_owned()), metadata, ..Patch::default() };
        self.yard.update(&task_id(id), Update { patch, ..Update::default() }).unwrap().done().unwrap();
    }

    fn delete(&self, id: &str) {
        self.yard.delete(&[task_id(id)]).unwrap().done().unwrap();
    }
}

fn task_id(id: &str) -> TaskId {
    id.parse().unwrap()
}

/// Lets four of ours and four Node processes work on one list, and looks for everything that was acknowledged.
fn share<'a>(ours: impl Fn(&'a Home, String) -> Box<dyn Worker + 'a>) {
    // Lives until the end of the test program; the workers borrow it.
    let home: &'a Home = Box::leak(Box::new(Home::new(env!("CARGO_BIN_EXE_taskyard"))));
    home.ask("create First");
    let count = Scale::from_environment(0.15).of(200);
    let directory = home.list("L");
    let (ours, theirs) = thread::scope(|scope| {
        let theirs: Vec<_> = (0..OF_EACH_KIND)
            .map(|number| {
                let arguments = [directory.to_str().unwrap().to_owned(), count.to_string(), format!("node{number}")];
                scope.spawn(move || changes_of_node(&arguments))
            })
            .collect();
        let ours: Vec<_> = (0..OF_EACH_KIND)
            .map(|number| {
                let worker = ours(home, format!("yard{number}"));
                scope.spawn(move || changes_of_ours(&*worker, count))
            })
            .collect();
        let ours: Vec<_> = ours.into_iter().map(|worker| worker.join().unwrap()).collect();
        let theirs: Vec<_> = theirs.into_iter().map(|worker| worker.join().unwrap()).collect();
        (ours, theirs)
    });
    assert_eq!(leftovers(&directory), Vec::<String>::new());
    let present = home.present();
    let mut expected = Tasks::new();
    expected.insert("1".to_owned(), json!({ "subject": "First" }));
    for changes in ours.into_iter().chain(theirs) {
        replay(&changes, &mut expected);
    }
    expected.retain(|_, task| !task.is_null());
    assert_eq!(expected.keys().collect::<Vec<_>>(), present.keys().collect::<Vec<_>>());
    for (id, expected) in &expected {
        assert_eq!(present[id]["subject"], expected["subject"], "{}", present[id]);
        assert_eq!(present[id].get("metadata"), expected.get("metadata"), "{}", present[id]);
    }
    is_consistent_journal(&home.ask("history"), &home.present()).unwrap();
    fs::remove_dir_all(home.path()).unwrap();
}

/// Creates tasks, updating and deleting some of its own in between, as `worker.js` does.
fn changes_of_ours(worker: &dyn Worker, count: usize) -> Vec<Value> {
    let mut changes = Vec::new();
    let mut mine: Vec<(String, String)> = Vec::new();
    for turn in 1..=count {
        let subject = format!("{}-{turn}", worker.name());
        let id = worker.create(&subject);
        changes.push(json!({ "op": "create", "id": id, "subject": subject }));
        mine.push((id, subject));
        let chosen = [turn.is_multiple_of(2).then(|| mine.len() - 1), turn.is_multiple_of(3).then_some(0)];
        for place in chosen.into_iter().flatten() {
            let (id, subject) = &mine[place];
            let revised = format!("{subject}-revised");
            worker.revise(id, &revised, worker.name(), turn);
            changes.push(json!({ "op": "update", "id": id, "subject": revised, "metadata": { worker.name(): turn } }));
        }
        if turn.is_multiple_of(5) {
            let (id, _) = mine.remove(mine.len() / 2);
            worker.delete(&id);
            changes.push(json!({ "op": "delete", "id": id }));
        }
    }
    changes
}

fn changes_of_node(arguments: &[String]) -> Vec<Value> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut rival = Rival::start("worker.js", &arguments);
    let changes = std::iter::from_fn(|| rival.json()).collect();
    let end = rival.end();
    assert_eq!(end.code, Some(0), "{end:?}");
    changes
}

fn replay(changes: &[Value], expected: &mut Tasks) {
    let mut mine: BTreeMap<&str, Value> = BTreeMap::new();
    for change in changes {
        let id = change["id"].as_str().unwrap();
        match change["op"].as_str().unwrap() {
            "create" => assert!(mine.insert(id, change.clone()).is_none(), "number {id} was given out twice"),
            "update" => {
                let task = mine.get_mut(id).unwrap();
                task["subject"] = change["subject"].clone();
                task["metadata"] = change["metadata"].clone();
            }
            _ => drop(mine.insert(id, Value::Null)),
        }
    }
    for (id, task) in mine {
        let taken = expected.insert(id.to_owned(), task);
        assert!(taken.is_none(), "number {id} was given out twice: {taken:?}");
    }
}

fn make_lock(path: &Path, age: Duration) {
    fs::create_dir(path).unwrap();
    File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}
