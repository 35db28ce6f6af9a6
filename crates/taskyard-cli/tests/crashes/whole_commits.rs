//! A reader that looks at a list while writers change it sees whole commits, however long looking takes.
//!
//! Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test crashes whole_commits::`.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Task, TaskId};
use taskyard::operations::Filter;
use taskyard_testkit::{Home, Scale, Suspended, wait_until, write_in_place};

const TASKS: u64 = 3000;
const WRITERS: u64 = 3;

#[test]
fn a_long_list_under_constant_change_is_shown_in_whole_commits() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let looks = Scale::from_environment(0.04).of(1500);
    let yard = yard(&home);
    fs::create_dir_all(home.list("L")).unwrap();
    for number in 1..=TASKS {
        let (id, subject) = (number.to_string(), format!("Task {number}"));
        let task = json!({ "id": id, "subject": subject, "description": "", "status": "pending", "blocks": [], "blockedBy": [] });
        write_in_place(&home.task_file(&id), &task);
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (home, is_over) = (&home, &is_over);
            scope.spawn(move || change(home, writer, is_over));
        }
        let looking = scope.spawn(|| {
            for look in 0..looks {
                let tasks = yard.list(&Filter::default()).unwrap().tasks;
                assert_eq!(tasks.len() as u64, TASKS, "look {look}");
                assert_eq!(one_sided(&tasks), Vec::<String>::new(), "look {look}");
            }
        });
        let looked = looking.join();
        is_over.store(true, Ordering::Relaxed);
        looked.unwrap();
    });
}

/// The steps of a look at a short list whose journal no process has open.
const STEPS_AT_REST: [&str; 4] = ["at rest: found", "at rest: half read", "at rest: copied", "at rest: looked"];

/// Makes a list of two tasks, and waits until it is at rest: nothing has to be written down any more.
fn home_at_rest() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create One");
    home.ask("create Two --blocked-by 1");
    let entered = || fs::metadata(home.sidecar("L")).unwrap().modified().unwrap();
    wait_until("a look that writes nothing", || {
        let before = entered();
        // A process that makes a file beside the journal changes the time of their directory.
        steps_at_rest(&home) == STEPS_AT_REST && entered() == before
    });
    home
}

/// Looks at the list, and returns which of those steps are reached.
fn steps_at_rest(home: &Home) -> Vec<String> {
    let trace = home.path().join("trace");
    let plans = STEPS_AT_REST.map(|step| format!("{step}=trace:{}", trace.display()));
    assert_eq!(home.run_with(&plans.join(";"), "list").code, Some(0));
    let steps = fs::read_to_string(&trace).unwrap_or_default();
    let _ = fs::remove_file(trace);
    steps.lines().map(str::to_owned).collect()
}

fn subjects(listed: &Value) -> Vec<&str> {
    listed["tasks"].as_array().unwrap().iter().filter_map(|task| task["subject"].as_str()).collect()
}

#[test]
fn reading_a_short_list_at_rest_creates_no_files() {
    let home = home_at_rest();
    let names = || {
        let names = fs::read_dir(home.sidecar("L")).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<BTreeSet<_>>()
    };
    let before = names();
    assert_eq!(subjects(&home.ask("list")), ["One", "Two"]);
    assert_eq!(names(), before);
}

#[test]
fn foreign_write_during_read_at_rest_is_shown_as_foreign() {
    for step in STEPS_AT_REST {
        let home = home_at_rest();
        let looking = Suspended::at(&home, step, "list --json");
        home.ask("delete 1");
        home.ask("create Three --blocks 2");
        let listed = looking.go_on().json();
        assert_eq!(subjects(&listed), ["Two", "Three"], "{step}: {listed}");
        assert_eq!(listed["revision"], json!(4), "{step}: {listed}");
        let history = home.ask("history");
        let ops: Vec<&str> =
            history["entries"].as_array().unwrap().iter().filter_map(|entry| entry["op"].as_str()).collect();
        assert!(!ops.is_empty() && !ops.iter().any(|op| op.contains("elsewhere")), "{step}: {ops:?}");
    }
}

#[test]
fn foreign_write_during_read_at_rest_is_recorded() {
    for step in STEPS_AT_REST {
        let home = home_at_rest();
        let looking = Suspended::at(&home, step, "list --json");
        let task = json!({ "id": "1", "subject": "Theirs", "description": "", "status": "pending", "blocks": ["2"], "blockedBy": [] });
        write_in_place(&home.task_file("1"), &task);
        assert_eq!(looking.go_on().code, Some(0));
        let shown = home.ask("history");
        assert!(shown["entries"].to_string().contains("changed_elsewhere"), "{step}: {shown}");
        assert_eq!(subjects(&home.ask("list")), ["Theirs", "Two"], "{step}");
    }
}

#[test]
fn reopened_short_list_always_shows_whole_commits() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for number in 1..=4 {
        home.ask(&format!("create Task{number}"));
    }
    let (changes, looks) = (Scale::from_environment(0.04).of(600), AtomicUsize::new(0));
    let (first, last) = (TaskId::number(1), TaskId::number(4));
    thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for change in 0..changes {
                // The store is dropped with the yard, and the log folded in.
                let yard = yard(&home);
                let changed = match change % 2 {
                    0 => yard.depend(&last, std::slice::from_ref(&first)),
                    _ => yard.undepend(&last, std::slice::from_ref(&first)),
                };
                changed.unwrap().done().unwrap();
                drop(yard);
                // Now and then the list is left alone, until a reader has looked at it several times.
                let before = looks.load(Ordering::Relaxed);
                while change % 5 == 0 && looks.load(Ordering::Relaxed) < before + 8 {
                    thread::yield_now();
                }
            }
        });
        while !writing.is_finished() {
            let listing = yard(&home).list(&Filter::default()).unwrap();
            assert_eq!((listing.tasks.len(), one_sided(&listing.tasks)), (4, Vec::new()));
            looks.fetch_add(1, Ordering::Relaxed);
        }
        writing.join().unwrap();
    });
    let history = home.ask("history");
    assert!(!history.to_string().contains("elsewhere"), "{history}");
}

/// Lets the last task of a writer wait for its first, and takes that back, again and again.
fn change(home: &Home, writer: u64, is_over: &AtomicBool) {
    let yard = yard(home);
    let (first, last) = (TaskId::number(1 + writer), TaskId::number(TASKS - writer));
    while !is_over.load(Ordering::Relaxed) {
        yard.depend(&last, std::slice::from_ref(&first)).unwrap().done().unwrap();
        yard.undepend(&last, std::slice::from_ref(&first)).unwrap().done().unwrap();
    }
}

/// Returns the edges that only one of their two tasks knows of.
fn one_sided(tasks: &[Task]) -> Vec<String> {
    let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    let mut found = Vec::new();
    for task in tasks {
        let blocked = task.blocks.iter().filter(|id| !by_id[id].blocked_by.contains(&task.id));
        let blocking = task.blocked_by.iter().filter(|id| !by_id[id].blocks.contains(&task.id));
        found.extend(blocked.chain(blocking).map(|id| format!("{} and {id}", task.id)));
    }
    found
}

fn yard(home: &Home) -> Yard {
    Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), AgentName::new("tester").unwrap())
}
