//! Many processes on one document: nothing is lost, and whoever reads it reads all of it.
//!
//! Full scale, 5,000 upserts: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-testkit --test one_document`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::process::{Child, Command};

use serde_json::{Value, json};
use taskyard_testkit::Scale;

const PROCESSES: usize = 20;
const UPSERTS: usize = 5_000;

#[test]
fn twenty_processes_on_one_document_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("tasks.json");
    let count = Scale::from_environment(0.1).of(UPSERTS).div_ceil(PROCESSES);
    let mut writers: Vec<Child> = (0..PROCESSES)
        .map(|number| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_upserter"));
            command.arg(&document).arg(folder.path().join("data")).arg(number.to_string()).arg(count.to_string());
            command.spawn().unwrap()
        })
        .collect();
    let mut looks = 0;
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        let Ok(text) = fs::read_to_string(&document) else { continue };
        let root: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(root["version"], 2);
        for task in root["tasks"].as_array().unwrap() {
            for key in ["id", "description", "status", "created_at", "updated_at"] {
                assert!(task[key].is_string(), "{key} in {task}");
            }
        }
        looks += 1;
    }
    assert!(looks > 0, "nobody looked");
    assert!(writers.iter_mut().all(|writer| writer.wait().unwrap().success()));
    let root: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
    let find = |id: &str| root["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap();
    assert_eq!(find("shared")["metadata"]["custom_fields"]["count"], json!(PROCESSES * count));
    for number in 0..PROCESSES {
        for mine in 0..count.min(10) {
            let last = (0..count).rev().find(|round| round % 10 == mine).unwrap();
            assert_eq!(find(&format!("p{number}-{mine}"))["description"], json!(format!("round {last}")));
        }
    }
}
