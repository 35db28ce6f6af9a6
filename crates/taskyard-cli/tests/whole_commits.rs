//! Whoever looks at a list while others change it sees whole commits, however long looking takes.
//!
//! Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test whole_commits`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Task, TaskId};
use taskyard::operations::Filter;
use taskyard_testkit::{Home, Scale, write_in_place};

const TASKS: u64 = 3000;
const WRITERS: u64 = 3;

#[test]
fn a_long_list_under_constant_change_is_shown_in_whole_commits() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let looks = Scale::from_environment(0.1).of(1500);
    let yard = yard(&home);
    std::fs::create_dir_all(home.list("L")).unwrap();
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
