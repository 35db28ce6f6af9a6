//! The files of a list as a test looks at them and as a rival writes them.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

/// Task files by id, parsed.
pub type Tasks = BTreeMap<String, Value>;

/// Reads every task file of a list; each must be whole.
pub fn read_tasks(directory: &Path) -> Tasks {
    let Ok(entries) = fs::read_dir(directory) else { return Tasks::new() };
    let names = entries.map(|entry| entry.expect("a list can be read").file_name().into_string().expect("plain names"));
    names
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .map(|id| {
            let text = fs::read_to_string(directory.join(format!("{id}.json"))).expect("a task file can be read");
            let task =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{id}.json is torn ({error}): {text}"));
            (id, task)
        })
        .collect()
}

/// Returns the names of temporary files and lock directories that lie about in a list.
pub fn leftovers(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.map(|entry| entry.expect("a list can be read").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".taskyard-") || name.ends_with(".lock") && name != ".lock").collect()
}

/// Returns the edges that only one of their two tasks knows of.
pub fn one_sided_edges(tasks: &Tasks) -> Vec<String> {
    let has = |id: &str, key: &str, other: &str| {
        tasks.get(id).is_some_and(|task| task[key].as_array().is_some_and(|ids| ids.contains(&json!(other))))
    };
    let mut found = Vec::new();
    for (id, task) in tasks {
        for (key, other_key) in [("blocks", "blockedBy"), ("blockedBy", "blocks")] {
            let others = task[key].as_array().unwrap().iter().filter_map(Value::as_str);
            found.extend(others.filter(|other| !has(other, other_key, id)).map(|other| format!("{id} {key} {other}")));
        }
    }
    found
}

/// Writes a file as the newest client does: over the old text, then cut to length.
pub fn write_in_place(path: &Path, task: &Value) {
    let bytes = serde_json::to_vec_pretty(task).expect("a task is JSON");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(false).open(path).expect("a task file can be opened");
    file.write_all(&bytes).expect("a task file can be written");
    file.set_len(bytes.len() as u64).expect("a task file can be cut");
}

/// Adds a metadata key to a task as the client does.
pub fn rewrite_in_place(path: &Path, key: &str) {
    let text = fs::read_to_string(path).expect("a task file can be read");
    let mut task: Value = serde_json::from_str(&text).expect("a task file is whole");
    with_key(&mut task, key);
    write_in_place(path, &task);
}

fn with_key(task: &mut Value, key: &str) {
    task["metadata"][key] = json!(true);
}

/// Checks that a journal (the answer of `history --json`) replays to the files that are there; says what does not.
pub fn is_consistent_journal(history: &Value, present: &Tasks) -> Result<(), String> {
    let mut replayed = Tasks::new();
    let mut last_revision = 0;
    for entry in history["entries"].as_array().ok_or("no entries")? {
        let revision = entry["revision"].as_u64().ok_or("an entry without a revision")?;
        if revision < last_revision {
            return Err(format!("revision {revision} after {last_revision}"));
        }
        last_revision = revision;
        let task = entry["task"].as_str().ok_or("an entry without a task")?.to_owned();
        let known = replayed.get(&task).unwrap_or(&Value::Null);
        if entry["before"] != *known {
            return Err(format!(
                "revision {revision} says {task} was {}, the journal before it says {known}",
                entry["before"]
            ));
        }
        match &entry["after"] {
            Value::Null => replayed.remove(&task),
            after => replayed.insert(task, after.clone()),
        };
    }
    if replayed == *present {
        return Ok(());
    }
    let differing: Vec<&String> =
        replayed.keys().chain(present.keys()).filter(|id| replayed.get(*id) != present.get(*id)).collect();
    let first = differing.first().map_or("", |id| id.as_str());
    Err(format!(
        "tasks {differing:?} differ; {first} is {:?} by the journal and {:?} on disk",
        replayed.get(first),
        present.get(first)
    ))
}
