//! Completed tasks that other tools hide from the client under a dot name.

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::list_builder;

use crate::test::Test;

const FOLDER: &str = "home/.claude/tasks/project";

fn task(id: &str, subject: &str, status: &str) -> String {
    list_builder::file(&format!("{id} {status} '{subject}'"))
}

/// A list with an open task that waits for a hidden one.
fn with_hidden() -> Test {
    Test::new().strict().list("2 pending Next <- 7").task_file(".7.json", task("7", "Old work", "completed"))
}

fn files(test: &Test) -> Vec<String> {
    let names = fs::read_dir(test.path(FOLDER)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".json")).collect();
    names.sort();
    names
}

fn ids(tasks: &Value) -> Vec<&str> {
    tasks.as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap()).collect()
}

#[test]
fn a_hidden_task_is_seen_and_counts_as_done() {
    let mut test = with_hidden();
    assert_eq!(ids(&test.json("list --all --json")["tasks"]), ["2", "7"]);
    assert_eq!(test.json("show 7 --json")["task"]["status"], "completed");
    assert_eq!(ids(&test.json("search old --json")["tasks"]), ["7"]);
    assert_eq!(ids(&test.json("ready --json")["tasks"]), ["2"]);
    assert_eq!(test.json("list --json").get("problems"), None);
    assert_eq!(files(&test), [".7.json", "2.json"], "looking changes nothing");
}

#[test]
fn the_next_number_is_above_hidden_ones() {
    let mut test = with_hidden();
    assert_eq!(test.json("create New --json")["task"]["id"], "8");
}

#[test]
fn the_mark_and_the_lock_are_no_hidden_tasks() {
    let mut test = Test::new().list("1 pending").task_file(".highwatermark", "4").task_file(".lock", "");
    assert_eq!(ids(&test.json("list --all --json")["tasks"]), ["1"]);
    assert_eq!(test.json("create New --json")["task"]["id"], "5");
}

#[test]
fn a_task_that_is_reopened_comes_back_under_its_plain_name() {
    let mut test = with_hidden().quietly("reopen 7");
    assert_eq!(files(&test), ["2.json", "7.json"]);
    assert_eq!(test.json("show 7 --json")["task"]["status"], "pending");
    test = test.quietly("undo");
    assert_eq!(test.json("show 7 --json")["task"]["status"], "completed");
    assert_eq!(files(&test), ["2.json", "7.json"]);
}

#[test]
fn a_task_stays_hidden_while_it_is_done() {
    let mut test = with_hidden().quietly("update 7 --subject 'Older work'").quietly("undepend 2 --on 7");
    assert_eq!(files(&test), [".7.json", "2.json"]);
    assert_eq!(test.json("show 7 --json")["task"]["subject"], "Older work");
}

#[test]
fn a_hidden_task_can_be_deleted_and_restored() {
    let mut test = with_hidden().quietly("delete 7");
    assert_eq!(files(&test), ["2.json"]);
    test = test.quietly("restore 7 --deleted");
    assert_eq!(files(&test), ["2.json", "7.json"]);
    test = with_hidden().quietly("clear");
    assert_eq!(files(&test), [""; 0]);
}

#[test]
fn hiding_a_task_is_no_change_of_it() {
    let mut test = Test::new().list("1 pending; 7 completed").quietly("list");
    let before = test.json("history --json")["entries"].as_array().unwrap().len();
    for (from, to) in [("7.json", ".7.json"), (".7.json", "7.json"), ("7.json", ".7.json")] {
        fs::rename(test.path(FOLDER).join(from), test.path(FOLDER).join(to)).unwrap();
        assert_eq!(ids(&test.json("list --all --json")["tasks"]), ["1", "7"]);
    }
    assert_eq!(test.json("history --json")["entries"].as_array().unwrap().len(), before);
}

#[test]
fn the_client_does_not_see_it_and_its_rules_forget_nothing() {
    let mut test = with_hidden().quietly("list");
    let before = test.json("history --json")["entries"].as_array().unwrap().len();
    assert_eq!(ids(&test.json("list --all --rules client --json")["tasks"]), ["2"]);
    assert_eq!(test.json("show 7 --rules client --json")["error"]["code"], "task_not_found");
    assert_eq!(test.json("history --json")["entries"].as_array().unwrap().len(), before);
    assert_eq!(test.json("create New --rules client --json")["task"]["id"], "3");
}

#[test]
fn in_client_rules_nothing_new_comes_beside_it_under_its_number() {
    let mut test = with_hidden().list("6 pending");
    let before = fs::read(test.path(FOLDER).join(".7.json")).unwrap();
    assert_eq!(test.json("create New --rules client --json")["task"]["id"], "8");
    assert_eq!(fs::read(test.path(FOLDER).join(".7.json")).unwrap(), before);
    assert_eq!(test.json("show 7 --json")["task"]["status"], "completed");
}

#[test]
fn hidden_file_beside_plain_one_is_reported_and_ignored() {
    let mut test = with_hidden().task_file("7.json", task("7", "New work", "pending"));
    assert_eq!(test.json("show 7 --json")["task"]["subject"], "New work");
    assert_eq!(ids(&test.json("list --all --json")["tasks"]), ["2", "7"]);
    let findings = test.json("doctor --json");
    let findings = findings["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["file"] == ".7.json"), "{findings:?}");
    test = test.quietly("update 7 --subject 'Newer work'");
    assert_eq!(files(&test), [".7.json", "2.json", "7.json"]);
    let hidden = fs::read_to_string(test.path(FOLDER).join(".7.json")).unwrap();
    assert_eq!(hidden, task("7", "Old work", "completed"), "nobody's file is rewritten");
}

#[test]
fn hidden_tasks_are_imported() {
    for dialect in ["native", "macf"] {
        let mut test = Test::new()
            .file("home/project/tasks/1.json", task("1", "One", "pending"))
            .file("home/project/tasks/.7.json", task("7", "Seven", "completed"))
            .file("home/project/tasks/.1.json", task("1", "Old one", "completed"))
            .file("home/project/tasks/tasks.json", r#"{"tasks": [], "version": 2}"#);
        let report = test.json(&format!("import tasks --from {dialect} --json"));
        assert_eq!(report["counts"]["created"], 2, "{dialect}");
        assert_eq!(report["lost"].as_array().unwrap().len(), 1, "{report}");
        assert_eq!(report["lost"][0]["of"], ".1.json");
        assert_eq!(test.json("show 1 --json")["task"]["subject"], "One");
    }
}

#[test]
fn a_task_that_was_hidden_twice_is_seen_and_pointed_out() {
    let mut test = Test::new().list("2 pending Next <- 7").task_file("..7.json", task("7", "Old work", "completed"));
    assert_eq!(ids(&test.json("list --all --json")["tasks"]), ["2", "7"]);
    assert_eq!(test.json("show 7 --json")["task"]["status"], "completed");
    assert_eq!(ids(&test.json("ready --json")["tasks"]), ["2"]);
    assert_eq!(test.json("create New --json")["task"]["id"], "8");
    assert_eq!(ids(&test.json("list --all --rules client --json")["tasks"]), ["2", "8"]);
    let findings = test.json("doctor --json")["findings"].clone();
    let found = findings.as_array().unwrap().iter().find(|finding| finding["file"] == "..7.json").expect("it is told");
    assert_eq!((&found["code"], &found["task"]), (&json!("invisible_task"), &json!("7")), "{findings}");
    test = test.quietly("update 7 --subject 'Older work'");
    assert_eq!(files(&test), ["..7.json", "2.json", "8.json"]);
    test = test.quietly("doctor --fix --yes");
    assert_eq!(files(&test), [".7.json", "2.json", "8.json"]);
    assert_eq!(test.json("doctor --json")["findings"], json!([]));
    assert_eq!(test.json("show 7 --json")["task"]["subject"], "Older work");
    fs::rename(test.path(FOLDER).join(".7.json"), test.path(FOLDER).join("..7.json")).unwrap();
    test = test.quietly("reopen 7");
    assert_eq!(files(&test), ["2.json", "7.json", "8.json"]);
}

#[test]
fn of_two_hidden_files_the_one_with_fewer_dots_counts() {
    let mut test = with_hidden().task_file("..7.json", task("7", "Older work", "completed"));
    assert_eq!(test.json("show 7 --json")["task"]["subject"], "Old work");
    let findings = test.json("doctor --json")["findings"].clone();
    assert!(findings.as_array().unwrap().iter().any(|finding| finding["file"] == "..7.json"), "{findings}");
    test = test.quietly("update 7 --subject x");
    let hidden = fs::read_to_string(test.path(FOLDER).join("..7.json")).unwrap();
    assert_eq!(hidden, task("7", "Older work", "completed"), "nobody's file is rewritten");
}
