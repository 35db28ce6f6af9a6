//! Calls that come twice.

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::stdio::{Piped, text};

fn create(subject: &str, meta: Value) -> Value {
    json!({ "name": "TaskCreate", "arguments": { "subject": subject, "description": "" }, "_meta": meta })
}

#[test]
fn call_with_same_id_runs_once_while_first_is_pending() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = Piped::start(&home, "").initialized();
    for key in ["claudecode/toolUseId", "taskyard/callId"] {
        let ids: Vec<u64> =
            (0..5).map(|_| server.request("tools/call", create("One", json!({ key: format!("{key}-1") })))).collect();
        let texts: Vec<String> = answers(&mut server, &ids);
        assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    }
    assert_eq!(home.present().len(), 2);
    let other = server.ask("tools/call", create("Two", json!({ "taskyard/callId": "taskyard/callId-1" })));
    assert_eq!(text(&other), "Task #3 created successfully: Two");
    let by_another = json!({ "taskyard/callId": "taskyard/callId-1", "taskyard/agent": "ben" });
    assert_eq!(text(&server.ask("tools/call", create("One", by_another))), "Task #4 created successfully: One");
}

#[test]
fn refused_call_is_remembered_and_reads_are_always_fresh() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = Piped::start(&home, "").initialized();
    let meta = json!({ "taskyard/callId": "7" });
    let get = json!({ "name": "TaskGet", "arguments": { "taskId": "1" }, "_meta": meta });
    let update = json!({ "name": "TaskUpdate", "arguments": { "taskId": "1", "subject": "x" }, "_meta": meta });
    assert_eq!(text(&server.ask("tools/call", get.clone())), "Task not found");
    assert_eq!(text(&server.ask("tools/call", update.clone())), "Task not found");
    home.run("create One");
    assert!(text(&server.ask("tools/call", get)).starts_with("Task #1: One"));
    assert_eq!(text(&server.ask("tools/call", update)), "Task not found");
}

#[test]
fn calls_of_one_connection_are_made_side_by_side() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let mut server = Piped::start(&home, "").initialized();
    let ids: Vec<u64> =
        (0..50).map(|number| server.request("tools/call", create(&number.to_string(), json!({})))).collect();
    let mut texts = answers(&mut server, &ids);
    texts.sort();
    texts.dedup();
    assert_eq!((texts.len(), home.present().len()), (50, 50));
}

/// Waits for the answers to all of these, in whatever order they come.
fn answers(server: &mut Piped, ids: &[u64]) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < ids.len() {
        let message = server.message().unwrap();
        if message["id"].as_u64().is_some_and(|id| ids.contains(&id)) {
            texts.push(text(&message));
        }
    }
    texts
}
