//! The same in the files of other dialects.

use std::fs;

use serde_json::{Value, json};

use crate::stale_writers::home;

#[test]
fn a_stale_write_to_a_document_is_noticed_across_its_tasks() {
    let home = home();
    let path = home.path().join("tasks.json");
    let store = format!("--store document:{}", path.display());
    let first = home.ask(&format!("create Parser {store}"))["task"]["id"].as_str().unwrap().to_owned();
    home.ask(&format!("create Lexer {store}"));
    let stale: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    home.ask(&format!("start {first} {store}"));
    // It changes the one task and, without knowing, the other.
    let mut text = stale;
    let tasks = text["tasks"].as_array_mut().unwrap();
    let lexer = tasks.iter_mut().find(|task| task["id"] != first.as_str()).unwrap();
    lexer["description"] = json!("theirs");
    fs::write(&path, serde_json::to_string_pretty(&text).unwrap()).unwrap();
    let listed = home.ask(&format!("list {store}"));
    let tasks = listed["tasks"].as_array().unwrap();
    let parser = tasks.iter().find(|task| task["id"] == first.as_str()).unwrap();
    assert_eq!(parser["status"], json!("in_progress"), "{listed}");
    // In a document the description is the title.
    assert!(tasks.iter().any(|task| task["subject"] == "theirs"), "{listed}");
    let history = home.ask(&format!("history {store}"));
    let entries = history["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["takenBack"][0]["verdict"] == "certain"), "{history}");
    assert_eq!(entries.last().unwrap()["op"], json!("put_back"));
}

#[test]
fn a_stale_write_to_a_teaching_folder_is_noticed() {
    let home = home();
    let folder = home.path().join(".tasks");
    let store = format!("--store teaching:{}", folder.display());
    let made = |title: &str| home.ask(&format!("create {title} {store}"))["task"]["id"].as_str().unwrap().to_owned();
    let [id, blocker] = ["Parser", "Lexer"].map(made);
    let file = folder.join(format!("{id}.json"));
    let mut stale: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    home.ask(&format!("claim {id} --as ana {store}"));
    stale["blockedBy"] = json!([blocker]);
    fs::write(&file, serde_json::to_string_pretty(&stale).unwrap()).unwrap();
    let listed = home.ask(&format!("list {store}"));
    let task = listed["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id.as_str()).unwrap();
    assert_eq!((&task["owner"], &task["blockedBy"]), (&json!("ana"), &json!([blocker])), "{listed}");
}
