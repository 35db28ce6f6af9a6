//! Notes over MCP: added with `TaskUpdate`, shown by `TaskGet`, and told to those they concern.

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::stdio::{Piped, text};

#[test]
fn an_agent_adds_a_note_and_every_agent_reads_it() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    let mut ana = Piped::start(&home, "--as ana").initialized();
    ana.call("TaskClaim", json!({}));
    let mut ben = Piped::start(&home, "--as ben").initialized();
    // An agent without a claim may note all the same, and change nothing with it.
    assert_eq!(ben.call("TaskUpdate", json!({ "taskId": "1", "note": "mind the encoding" })), "Updated task #1 note");
    let refused = ben.ask(
        "tools/call",
        json!({ "name": "TaskUpdate", "arguments": { "taskId": "1", "note": "mine", "subject": "mine" } }),
    );
    assert_eq!(refused["result"]["isError"], true, "{}", text(&refused));
    let updated = ana.call("TaskUpdate", json!({ "taskId": "1", "status": "completed", "note": "done in utf-8" }));
    assert!(updated.starts_with("Updated task #1 status, note"), "{updated}");
    let page = ana.call("TaskGet", json!({ "taskId": "1" }));
    let notes: Vec<&str> = page.split_once("Notes:\n").unwrap().1.lines().collect();
    assert_eq!(notes.len(), 2, "{page}");
    assert!(notes[0].ends_with("Z ben: mind the encoding") && notes[1].ends_with("Z ana: done in utf-8"), "{page}");
    // One call, one revision.
    let entries = home.ask("history 1")["entries"].as_array().unwrap().clone();
    assert_eq!(entries.last().unwrap()["after"]["status"], "completed");
    assert_eq!(entries.last().unwrap()["after"]["metadata"]["notes"].as_array().unwrap().len(), 2);
}

#[test]
fn the_owner_gets_a_note_as_a_message() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("team create alpha");
    home.ask("team join alpha --as bob");
    home.ask("create One --list alpha --owner bob");
    let mut lead = Piped::start(&home, "--list alpha").initialized();
    let told = lead.call("TaskUpdate", json!({ "taskId": "1", "note": "hurry" }));
    assert!(told.starts_with("Updated task #1 note\nThe note was sent to bob."), "{told}");
    let inbox = home.ask("inbox --as bob");
    let texts: Vec<&Value> = inbox["messages"].as_array().unwrap().iter().map(|message| &message["text"]).collect();
    assert_eq!(*texts.last().unwrap(), "Note on task #1 (One): hurry");
}

#[test]
fn the_client_knows_no_notes() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    home.run("note 1 unseen");
    let mut server = Piped::start(&home, "--rules client").initialized();
    let answer = server.ask("tools/call", json!({ "name": "TaskUpdate", "arguments": { "taskId": "1", "note": "x" } }));
    assert!(text(&answer).contains("An unexpected parameter `note` was provided"), "{answer}");
    assert!(!server.call("TaskGet", json!({ "taskId": "1" })).contains("unseen"));
    let tools = server.ask("tools/list", json!({}));
    let update = tools["result"]["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "TaskUpdate").unwrap();
    assert_eq!(update["inputSchema"]["properties"]["note"], Value::Null);
}
