//! Many processes on one document: nothing is lost, and a reader reads all of it. A process that is killed leaves all of its commit or
//! nothing.
//!
//! Full scale, 5,000 upserts: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-testkit --test kit one_document::`.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use taskyard::core::dialect::teaching::parse_carried;
use taskyard_testkit::{Process, Program, Scale};

const PROCESSES: usize = 20;
const UPSERTS: usize = 5_000;

fn upserter(folder: &Path, store: &str, number: usize, count: usize) -> Program {
    let mut command = Program::new(env!("CARGO_BIN_EXE_upserter"));
    command.arg(store).arg(folder.join("data")).arg(number.to_string()).arg(count.to_string());
    command
}

#[test]
fn twenty_processes_on_one_document_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("tasks.json");
    let store = format!("document:{}", document.display());
    let count = Scale::from_environment(0.03).of(UPSERTS).div_ceil(PROCESSES);
    let start = |number| upserter(folder.path(), &store, number, count).start();
    let mut writers: Vec<Process> = (0..PROCESSES).map(start).collect();
    let mut looks = 0;
    while writers.iter_mut().any(|writer| writer.try_wait().is_none()) {
        // As its own programs read it.
        let Ok(file) = File::open(&document) else { continue };
        flock(&file, FlockOperation::LockExclusive).unwrap();
        let text = io::read_to_string(&file).unwrap();
        drop(file);
        let root: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(root["version"], 2);
        for task in root["tasks"].as_array().unwrap() {
            for key in ["id", "description", "status", "created_at", "updated_at"] {
                assert!(task[key].is_string(), "{key} in {task}");
            }
        }
        looks += 1;
        // The writers need the processors more than we do.
        thread::yield_now();
    }
    assert!(looks > 0, "nobody looked");
    assert!(writers.iter_mut().all(|writer| writer.wait().success()));
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

/// The steps of a commit to a document, and whether the commit exists at each.
const STEPS_OF_A_DOCUMENT: [(&str, bool); 8] = [
    ("dialect: before the journal", false),
    ("journal: flushed", true),
    ("document: before the overwriting", true),
    ("document: lengthened", true),
    ("document: a part written", true),
    ("document: overwritten", true),
    ("document: truncated", true),
    ("dialect: saved", true),
];

/// The steps of a commit to a folder, and whether the commit exists at each.
const STEPS_OF_A_FOLDER: [(&str, bool); 6] = [
    ("dialect: before the journal", false),
    ("journal: flushed", true),
    ("dialect: temporary file written", true),
    ("dialect: a file in its place", true),
    ("dialect: a file in its place*2", true),
    ("dialect: saved", true),
];

/// Kills a writer at each step of its fourth commit, lets another one write, and returns how many of the five commits there are.
fn count_after_a_kill(folder: &Path, store: &str, step: &str) -> bool {
    assert!(upserter(folder, store, 0, 3).status().success());
    let killed = upserter(folder, store, 0, 1).arg(format!("{step}=kill")).status();
    assert!(upserter(folder, store, 0, 1).status().success());
    !killed.success()
}

#[test]
fn killed_document_writer_leaves_whole_commit_or_nothing() {
    for (step, exists) in STEPS_OF_A_DOCUMENT {
        let folder = tempfile::tempdir().unwrap();
        let document = folder.path().join("tasks.json");
        let was_killed = count_after_a_kill(folder.path(), &format!("document:{}", document.display()), step);
        let root: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
        let find = |id: &str| root["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap();
        let count = if exists { 5 } else { 4 };
        assert_eq!(find("shared")["metadata"]["custom_fields"]["count"], count, "{step}");
        for round in 0..count {
            assert_eq!(find(&format!("p0-{round}"))["description"], format!("round {round}"), "{step}");
        }
        assert!(was_killed, "{step} is no step");
        let left = fs::read_dir(folder.path()).unwrap().flatten();
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).count();
        assert_eq!(left, 0, "{step}");
    }
}

#[test]
fn killed_folder_writer_leaves_whole_commit_or_nothing() {
    for (step, exists) in STEPS_OF_A_FOLDER {
        let folder = tempfile::tempdir().unwrap();
        let tasks = folder.path().join(".tasks");
        assert!(count_after_a_kill(folder.path(), &format!("teaching:{}", tasks.display()), step), "{step} is no step");
        let carried = parse_carried(&fs::read(tasks.join(".taskyard.json")).unwrap()).unwrap();
        let shared = carried.iter().find(|(id, _)| id.as_str() == "shared").unwrap().1;
        let count = if exists { 5 } else { 4 };
        assert_eq!(shared["more"]["metadata"]["count"], count, "{step}");
        for round in 0..count {
            let file: Value =
                serde_json::from_slice(&fs::read(tasks.join(format!("p0-{round}.json"))).unwrap()).unwrap();
            assert_eq!(file["subject"], format!("round {round}"), "{step}");
        }
        let names: Vec<_> = fs::read_dir(&tasks).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names.len(), usize::try_from(count).unwrap() + 2, "{step}: {names:?}");
    }
}
