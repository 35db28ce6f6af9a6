//! One document, written by programs that know nothing of us but its lock, and by many processes of ours: nothing is lost on either side,
//! and a reader of ours sees whole commits.
//!
//! Full scale, 5,000 writes: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard-testkit --test kit document_rivals::`.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use taskyard::core::{ListId, Rules, Task};
use taskyard::store::{DocumentOptions, DocumentPaths, HistoryQuery, open_documents};
use taskyard_testkit::{Process, Program, Rival, Scale};

const OF_EACH: usize = 10;
const WRITES: usize = 5_000;
const WRITES_WHILE_READING: usize = 1_000;

fn start_ours(folder: &Path, number: usize, count: usize) -> Process {
    let store = format!("document:{}", folder.join("tasks.json").display());
    let mut command = Program::new(env!("CARGO_BIN_EXE_upserter"));
    command.arg(store).arg(folder.join("data")).arg(number.to_string()).arg(count.to_string());
    command.start()
}

fn start_theirs(folder: &Path, name: &str, count: usize, option: &[&str]) -> Rival {
    let (document, count) = (folder.join("tasks.json"), count.to_string());
    let arguments = [&[document.to_str().unwrap(), &count, name], option].concat();
    Rival::start_python("document.py", &arguments)
}

/// Returns what one of theirs said it left.
fn left_by(rival: Rival) -> BTreeMap<String, String> {
    let ran = rival.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

fn descriptions(folder: &Path) -> HashMap<String, Value> {
    let root: Value = serde_json::from_slice(&fs::read(folder.join("tasks.json")).unwrap()).unwrap();
    let tasks = root["tasks"].as_array().unwrap().clone();
    let count = tasks.len();
    let by_id: HashMap<String, Value> =
        tasks.into_iter().map(|task| (task["id"].as_str().unwrap().to_owned(), task)).collect();
    assert_eq!(by_id.len(), count, "an id is there twice");
    by_id
}

fn write_together(theirs: &[&str], ours: usize, count: usize, option: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tasks.json"), "{\n  \"tasks\": [],\n  \"version\": 2\n}").unwrap();
    let rivals: Vec<Rival> = theirs.iter().map(|name| start_theirs(folder.path(), name, count, option)).collect();
    let writers: Vec<Process> = (0..ours).map(|number| start_ours(folder.path(), number, count)).collect();
    for mut writer in writers {
        assert!(writer.wait().success());
    }
    let left: BTreeMap<String, String> = rivals.into_iter().flat_map(left_by).collect();
    let found = descriptions(folder.path());
    for (id, description) in &left {
        assert_eq!(found.get(id).map(|task| &task["description"]), Some(&json!(description)), "{id}");
    }
    for name in theirs {
        assert_eq!(found["counts"]["metadata"]["custom_fields"][name], json!(count), "of {name}");
    }
    assert_eq!(found["shared"]["metadata"]["custom_fields"]["count"], json!(ours * count));
    for number in 0..ours {
        for mine in 0..count.min(10) {
            let last = (0..count).rev().find(|round| round % 10 == mine).unwrap();
            assert_eq!(found[&format!("p{number}-{mine}")]["description"], json!(format!("round {last}")));
        }
    }
    assert_eq!(found.len(), left.len() + 2 + ours * count.min(10));
}

#[test]
fn nothing_is_lost_beside_rivals_locking_the_document() {
    let names: Vec<String> = (0..OF_EACH).map(|number| format!("theirs{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = Scale::from_environment(0.06).of(WRITES).div_ceil(2 * OF_EACH);
    write_together(&names, OF_EACH, count, &[]);
}

#[test]
fn nothing_is_lost_beside_rivals_replacing_the_locked_file() {
    let count = Scale::from_environment(0.06).of(WRITES).div_ceil(2 * OF_EACH);
    write_together(&["theirs1", "theirs2", "theirs3"], 3, count, &["--replace"]);
}

#[test]
fn a_reader_sees_whole_commits_while_others_write() {
    let folder = tempfile::tempdir().unwrap();
    let paths = DocumentPaths::File(folder.path().join("tasks.json"));
    let list = ListId::new("L").unwrap();
    let open = || {
        let options = DocumentOptions { paths: paths.clone(), data: folder.path().join("data"), rules: Rules::Strict };
        open_documents(options)
    };
    let many = (0..300)
        .map(|number| json!({"id": format!("task-{number:04}"), "description": "As before", "status": "pending"}));
    // So that every commit changes something at the beginning and something at the end.
    let first = json!({"id": "shared", "description": "shared", "status": "pending"});
    let tasks: Vec<Value> = [first].into_iter().chain(many).collect();
    let root = json!({ "tasks": tasks, "version": 2 });
    fs::write(folder.path().join("tasks.json"), serde_json::to_string_pretty(&root).unwrap()).unwrap();
    assert!(start_ours(folder.path(), 0, 10).wait().success());
    let count = 10 + Scale::from_environment(0.1).of(WRITES_WHILE_READING);
    let mut writer = start_ours(folder.path(), 0, count - 10);
    let (mut looks, mut last, mut differences) = (0, 0, 0);
    let store = open();
    loop {
        let has_ended = writer.try_wait().is_some();
        let tasks = store.read(&list).unwrap().tasks().unwrap();
        let find = |id: &str| tasks.iter().find(|task| task.id.as_str() == id).unwrap();
        let counted = find("shared").meta("count").and_then(Value::as_u64).unwrap();
        for round in counted - 10..counted {
            assert_eq!(find(&format!("p0-{}", round % 10)).subject, format!("round {round}"), "after {counted}");
        }
        assert_eq!(tasks.iter().filter(|task: &&Task| task.subject == "As before").count(), 300, "after {counted}");
        assert!(counted >= last, "{counted} after {last}");
        differences += u64::from(counted != last);
        (looks, last) = (looks + 1, counted);
        if has_ended {
            break;
        }
    }
    assert!(writer.wait().success());
    assert_eq!(last, count as u64);
    assert!(differences > 2, "{looks} looks saw nothing move");
    // Nothing that we did was ever taken for what another program did.
    let entries = store.history(&list, &HistoryQuery::default()).unwrap();
    let elsewhere = entries.iter().filter(|entry| entry.op.is_elsewhere()).count();
    assert_eq!(elsewhere, 301);
}
