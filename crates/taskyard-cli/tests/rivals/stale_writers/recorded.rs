//! The writes that two releases of the client were seen to make, come too late.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use taskyard::Yard;
use taskyard::core::{AgentName, ListId, Op, TaskId, Verdict};
use taskyard::operations::{Filter, Patch, Update};
use taskyard::store::HistoryQuery;

use crate::stale_writers::home;

#[test]
fn recorded_late_updates_are_noticed_and_lose_nothing() {
    for release in ["2.1.34", "2.1.325"] {
        let tried = recorded_updates(release).iter().filter(|update| comes_too_late(update)).count();
        assert!(tried > 10, "{release}: {tried}");
    }
}

/// A file as the client found it, and as it left it.
struct Recorded {
    id: String,
    before: String,
    after: String,
}

/// Returns every rewriting of a task file in the recording of a release.
fn recorded_updates(release: &str) -> Vec<Recorded> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../taskyard-mcp/tests/fixtures/conformance");
    let text = fs::read_to_string(folder.join(format!("crud.{release}.json"))).unwrap();
    let recording: Value = serde_json::from_str(&text).unwrap();
    let mut disk: BTreeMap<String, String> = BTreeMap::new();
    let mut updates = Vec::new();
    for step in recording["steps"].as_array().unwrap() {
        for (path, content) in step["disk"].as_object().into_iter().flatten() {
            let (Some(content), Some((_, name))) = (content.as_str(), path.rsplit_once('/')) else { continue };
            let before = disk.insert(path.clone(), content.to_owned());
            if let (Some(id), Some(before)) = (name.strip_suffix(".json"), before)
                && before != content
                && step["tool"] == "TaskUpdate"
            {
                updates.push(Recorded { id: id.to_owned(), before, after: content.to_owned() });
            }
        }
    }
    updates
}

/// Has one of ours write after the client has read, and then the client. Returns whether the recording is one of a task that changed.
fn comes_too_late(recorded: &Recorded) -> bool {
    // To write down that there is no metadata changes nothing.
    let read = |text: &str| {
        let mut task = serde_json::from_str::<BTreeMap<String, Value>>(text).ok()?;
        task.retain(|_, value| *value != json!({}));
        Some(task)
    };
    let (Some(before), Some(after)) = (read(&recorded.before), read(&recorded.after)) else { return false };
    if before == after {
        return false;
    }
    let home = home();
    fs::create_dir_all(home.list("L")).unwrap();
    let file = home.task_file(&recorded.id);
    fs::write(&file, &recorded.before).unwrap();
    let yard = Yard::new(Arc::new(home.store()), ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
    let id = TaskId::stored(recorded.id.as_str());
    if yard.list(&Filter::default()).unwrap().tasks.is_empty() {
        return false;
    }
    let metadata = json!({"ours": "acknowledged"}).as_object().cloned();
    let patch = Patch { metadata, ..Patch::default() };
    yard.update(&id, Update { patch, ..Update::default() }).unwrap().done().unwrap();
    fs::write(&file, &recorded.after).unwrap();
    let entries = yard.history(&HistoryQuery::default()).unwrap();
    let now: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    if before["subject"] != after["subject"] || before["description"] != after["description"] {
        // Nothing else shows that these are the same task, so the old one is kept apart.
        let losses = &entries.last().unwrap().remark.taken_back;
        assert!(losses.iter().any(|loss| loss.verdict == Verdict::OtherTask), "{}: {losses:?}", recorded.after);
        assert_eq!(now, serde_json::from_str::<Value>(&recorded.after).unwrap());
        assert_eq!(yard.restorable().unwrap().len(), 1, "{}", recorded.after);
        return true;
    }
    let ops: Vec<Op> = entries.iter().map(|entry| entry.op).collect();
    assert_eq!(ops.last(), Some(&Op::PutBack), "{}: {ops:?}", recorded.after);
    assert_eq!(now["metadata"]["ours"], json!("acknowledged"));
    // Of what the client wrote, nothing is lost either.
    for (key, value) in after.iter().filter(|(key, _)| *key != "metadata") {
        assert_eq!(now[key], *value, "{key}");
    }
    true
}
