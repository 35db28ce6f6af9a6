//! Programs that write whole tasks from what they read before, beside ours: they take back what we acknowledged meanwhile, and none of that
//! goes unnoticed.
//!
//! Full scale (100 changes of ours a second for 20 s, against 100 of theirs):
//! `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-cli --test rivals stale_writers:: -- --nocapture`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on panics; its counts are for people"
)]

mod claims;
mod dialects;
mod hot_lists;
mod notes;
mod recorded;
mod replaced;
mod single_writes;

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use taskyard_testkit::{Home, write_in_place};

/// By then the time of a file tells one write from another.
const SETTLED: Duration = Duration::from_millis(25);

/// Returns an empty home.
fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

/// Has the user's configuration leave what was taken back to `doctor`.
fn without_putting_back(home: &Home) {
    let folder = home.path().join(".config/taskyard");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("taskyard.toml"), "[merge]\nput_back = false\n").unwrap();
}

/// Reads a task as a client does, and returns what it will write later.
fn read(home: &Home, id: &str) -> Value {
    home.present()[id].clone()
}

/// Writes a task as the client does, whatever is there by now.
fn write(home: &Home, id: &str, task: &Value) {
    write_in_place(&home.task_file(id), task);
    // What was written this instant is left to the next look: its time does not tell it from another write yet.
    let written = fs::metadata(home.task_file(id)).unwrap().modified().unwrap();
    while written.elapsed().unwrap_or_default() < SETTLED {
        thread::sleep(SETTLED / 5);
    }
}

/// Has a client read a task, runs a command of ours, and has the client write what it read, with an active form of its own.
fn write_stale(home: &Home, ours: &str) {
    let mut stale = read(home, "1");
    home.ask(ours);
    stale["activeForm"] = "theirs".into();
    write(home, "1", &stale);
}

/// Returns the entries of the journal.
fn entries(home: &Home) -> Vec<Value> {
    home.ask("history")["entries"].as_array().unwrap().clone()
}

/// Returns the verdict on each value that was taken back, by field, in the order in which that happened.
fn verdicts(home: &Home) -> Vec<(String, String)> {
    let losses = entries(home).into_iter().flat_map(|entry| entry["takenBack"].as_array().cloned().unwrap_or_default());
    let text = |loss: &Value, key: &str| loss[key].as_str().unwrap().to_owned();
    losses.map(|loss| (text(&loss, "field"), text(&loss, "verdict"))).collect()
}

/// Returns the findings of a kind.
fn findings(home: &Home, code: &str) -> Vec<Value> {
    let answer = home.run("doctor --json").json();
    answer["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == code).cloned().collect()
}
