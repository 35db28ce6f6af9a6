//! Tasks that recur.

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::{Home, write_in_place};

use crate::test::Test;

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

fn tasks(home: &Home) -> Vec<Value> {
    home.ask("list --all")["tasks"].as_array().unwrap().clone()
}

fn task(home: &Home, id: &str) -> Value {
    home.ask(&format!("show {id}"))["task"].clone()
}

#[test]
fn completing_one_makes_the_next_in_the_same_revision() {
    let home = home();
    home.ask("create Water --every 1w --due 2036-01-07 --defer 2036-01-05 --tag home");
    let done = home.ask("done 1");
    let next = task(&home, "2");
    assert_eq!((&next["status"], &next["subject"]), (&json!("pending"), &json!("Water")));
    assert_eq!(next["metadata"]["due"].as_str().unwrap()[..10], *"2036-01-14");
    assert_eq!(next["metadata"]["defer"].as_str().unwrap()[..10], *"2036-01-12");
    assert_eq!(task(&home, "1")["metadata"]["followedBy"], "2");
    let entries = home.ask("history")["entries"].as_array().unwrap().clone();
    let last = entries.iter().map(|entry| entry["revision"].as_u64().unwrap()).max().unwrap();
    assert_eq!(entries.iter().filter(|entry| entry["revision"] == last).count(), 2, "{done} {entries:?}");

    home.ask("undo");
    assert_eq!((tasks(&home).len(), &task(&home, "1")["status"]), (1, &json!("pending")));
    home.ask("done 1");
    assert_eq!(tasks(&home).len(), 2);
}

#[test]
fn task_is_followed_once_and_a_cancelled_one_never() {
    let home = home();
    home.ask("create Water --every mon");
    home.ask("done 1");
    home.ask("reopen 1");
    home.ask("done 1");
    assert_eq!(tasks(&home).len(), 2);
    home.ask("cancel 2");
    assert_eq!(tasks(&home).len(), 2);
    home.ask("create Feed --every mon");
    home.ask("update 3 --every none");
    home.ask("done 3");
    assert_eq!(tasks(&home).len(), 3);
}

#[test]
fn what_the_client_completes_is_followed_by_the_next_look() {
    let home = home();
    home.ask("create Water --every 2w");
    let path = home.task_file("1");
    let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    file["status"] = json!("completed");
    write_in_place(&path, &file);
    assert_eq!(tasks(&home).len(), 2);
    assert_eq!(tasks(&home).len(), 2);
    assert_eq!(task(&home, "2")["metadata"]["every"], task(&home, "1")["metadata"]["every"]);
}

#[test]
fn completions_at_one_time_make_one_next_task() {
    let home = home();
    home.ask("create Water --every mon");
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| home.run("done 1"));
        }
    });
    assert_eq!(tasks(&home).len(), 2);
}

#[test]
fn parts_come_again_with_the_whole() {
    let home = home();
    home.ask("create Release --every 1mo --due 2036-01-31");
    home.ask("create Build --parent 1");
    home.ask("create Test --parent 1 --blocked-by 2");
    home.ask("done 1 2 3");
    let all = tasks(&home);
    assert_eq!(all.len(), 6, "{all:?}");
    assert_eq!(task(&home, "4")["metadata"]["due"].as_str().unwrap()[..10], *"2036-02-29");
    assert_eq!((&task(&home, "6")["blockedBy"], &task(&home, "6")["metadata"]["parent"]), (&json!(["5"]), &json!("4")));
}

#[test]
fn completion_that_a_hook_forbids_is_followed_by_nothing() {
    let home = home();
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    let hooks = r#"{"hooks":{"TaskCompleted":[{"hooks":[{"type":"command","command":"echo no >&2; exit 2"}]}]}}"#;
    fs::write(home.path().join(".claude/settings.json"), hooks).unwrap();
    home.ask("create Water --every mon");
    assert_eq!(home.run("done 1").code, Some(3));
    assert_eq!(tasks(&home).len(), 1);
}

#[test]
fn wrong_rule_names_those_there_are_and_the_next_one_is_told() {
    Test::new()
        .run("create Water --every fortnight")
        .run("a water the plants every:2w due:2036-01-01")
        .run("done 1")
        .run("update 2 --every 'first mon'")
        .snapshot();
}
