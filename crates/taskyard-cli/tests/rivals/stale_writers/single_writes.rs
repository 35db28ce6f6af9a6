//! One stale write at a time.

use std::fs;
use std::io::BufRead;

use serde_json::{Value, json};

use crate::stale_writers::{entries, findings, home, read, verdicts, without_putting_back, write, write_stale};

#[test]
fn put_back_of_stale_write_is_a_revision_one_can_undo() {
    let home = home();
    home.ask("create Parser -d Grammar --owner tester");
    write_stale(&home, "start 1");
    let listed = home.ask("list");
    assert_eq!(listed["tasks"][0]["status"], json!("in_progress"), "{listed}");
    assert_eq!(listed["tasks"][0]["activeForm"], json!("theirs"));
    let entries = entries(&home);
    let ops: Vec<&str> = entries.iter().map(|entry| entry["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["create", "update", "changed_elsewhere", "put_back"]);
    let taken: Vec<&Value> = entries[2]["takenBack"].as_array().unwrap().iter().collect();
    assert_eq!(taken.len(), 1);
    assert_eq!(
        *taken[0],
        json!({"field":"status","revision":2,"lost":"in_progress","now":"pending","verdict":"certain"})
    );
    assert!(findings(&home, "taken_back").is_empty());
    home.ask("undo");
    assert_eq!(read(&home, "1")["status"], json!("pending"));
    // An agent that takes it back has said so.
    assert!(findings(&home, "taken_back").is_empty());
}

#[test]
fn doctor_reports_and_mends_losses_not_put_back() {
    let home = home();
    without_putting_back(&home);
    for subject in ["Parser", "Lexer"] {
        home.ask(&format!("create {subject} -d Grammar"));
    }
    let mut stale = read(&home, "1");
    home.ask("update 1 --owner ana --meta k=1 --meta gone=2");
    home.ask("update 1 --meta gone=null --add-blocked-by 2");
    stale["activeForm"] = json!("theirs");
    write(&home, "1", &stale);
    home.ask("list");
    assert_eq!(read(&home, "1")["blockedBy"], json!([]));
    let found = findings(&home, "taken_back");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["task"], json!("1"));
    let lost: Vec<(&str, &Value)> = found[0]["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lost| (lost["field"].as_str().unwrap(), &lost["lost"]))
        .collect();
    assert_eq!(lost, [("owner", &json!("ana")), ("blockedBy.2", &json!(true)), ("metadata.k", &json!(1))]);
    let mended = home.run("doctor --fix --yes --json");
    assert_eq!(mended.code, Some(0), "{mended:?}");
    let task = read(&home, "1");
    assert_eq!((&task["owner"], &task["blockedBy"]), (&json!("ana"), &json!(["2"])));
    assert_eq!((&task["metadata"], &task["activeForm"]), (&json!({"k": 1}), &json!("theirs")));
    assert_eq!(home.run("doctor").code, Some(0));
    home.ask("undo");
    assert_eq!(read(&home, "1")["owner"], Value::Null);
}

#[test]
fn revert_or_new_value_of_outside_write_stands() {
    let home = home();
    for subject in ["Parser", "Lexer"] {
        home.ask(&format!("create {subject} --owner tester"));
    }
    let (before, mut other) = (read(&home, "1"), read(&home, "2"));
    home.ask("start 1");
    home.ask("start 2");
    write(&home, "1", &before);
    other["status"] = json!("completed");
    other["description"] = json!("done");
    write(&home, "2", &other);
    home.ask("list");
    assert_eq!(read(&home, "1")["status"], json!("pending"));
    assert_eq!(read(&home, "2")["status"], json!("completed"));
    let told = [("status", "meant"), ("status", "replaced")].map(|(field, word)| (field.to_owned(), word.to_owned()));
    assert_eq!(verdicts(&home), told);
    assert!(findings(&home, "taken_back").is_empty());
    let shown = home.run("history");
    assert!(shown.stdout.contains("(took back status of r3)"), "{}", shown.stdout);
    assert!(shown.stdout.contains("(replaced status of r4)"), "{}", shown.stdout);
}

#[test]
fn what_is_taken_back_again_is_told_of_and_not_fought_for() {
    let home = home();
    home.ask("create Parser -d Grammar");
    let mut stale = read(&home, "1");
    home.ask("update 1 --subject Ours");
    for turn in 0..3 {
        stale["activeForm"] = json!(format!("theirs {turn}"));
        write(&home, "1", &stale);
        home.ask("list");
    }
    assert_eq!(read(&home, "1")["subject"], json!("Parser"));
    let put_back = entries(&home).iter().filter(|entry| entry["op"] == "put_back").count();
    assert_eq!(put_back, 1);
    let told: Vec<String> = verdicts(&home).into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(told, ["certain", "likely"]);
    assert_eq!(findings(&home, "taken_back").len(), 1);
    assert_eq!(home.run("doctor --fix --yes").code, Some(0));
    assert_eq!(read(&home, "1")["subject"], json!("Ours"));
    assert_eq!(read(&home, "1")["activeForm"], json!("theirs 2"));
}

#[test]
fn a_writer_notices_what_nobody_saw_between_two_of_our_writes() {
    let home = home();
    home.ask("create Parser -d Grammar");
    write_stale(&home, "update 1 --meta ours=1");
    // No reader looks; the next thing that happens is another write of ours.
    home.ask("update 1 --subject Second");
    let task = read(&home, "1");
    assert_eq!((&task["metadata"], &task["subject"]), (&json!({"ours": 1}), &json!("Second")));
    assert_eq!(task["activeForm"], json!("theirs"));
    let ops: Vec<Value> = entries(&home).into_iter().map(|entry| entry["op"].clone()).collect();
    assert_eq!(ops, ["create", "update", "changed_elsewhere", "put_back", "update"]);
}

#[test]
fn stale_write_long_after_ours_is_reported_not_put_back() {
    let home = home();
    home.ask("create Parser -d Grammar");
    write_stale(&home, "update 1 --meta ours=1");
    let file = fs::File::options().write(true).open(home.task_file("1")).unwrap();
    // The clock that counts is that of the file.
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    home.ask("list");
    assert_eq!(verdicts(&home), [("metadata.ours".to_owned(), "likely".to_owned())]);
    assert_eq!(read(&home, "1")["metadata"], Value::Null);
    assert_eq!(findings(&home, "taken_back").len(), 1);
}

#[test]
fn deleted_task_revived_by_stale_write_is_reported() {
    let home = home();
    home.ask("create Parser -d text");
    home.ask("create Lexer --blocked-by 1");
    write_stale(&home, "delete 1");
    assert_eq!(home.ask("list")["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(verdicts(&home), [("deleted".to_owned(), "likely".to_owned())]);
    let found = findings(&home, "taken_back");
    assert!(found[0]["message"].as_str().unwrap().contains("task 1 is back"), "{found:?}");
    assert_eq!(home.run("doctor --fix --yes").code, Some(0));
    assert_eq!(home.present().keys().collect::<Vec<_>>(), ["2"]);
    home.ask("undo");
    assert_eq!(read(&home, "1")["activeForm"], json!("theirs"));
}

#[test]
fn watch_marks_a_stale_write_and_puts_back_what_it_took() {
    let home = home();
    home.ask("create Parser -d Grammar --owner tester");
    let mut stale = read(&home, "1");
    home.ask("start 1");
    let mut watch = home.command("watch --since 2").start();
    let mut lines = watch.take_output().lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    stale["activeForm"] = json!("theirs");
    write(&home, "1", &stale);
    let told = lines.next().unwrap();
    assert_eq!(told["takenBack"][0]["field"], json!("status"), "{told}");
    assert_eq!(lines.next().unwrap()["op"], json!("put_back"));
    watch.kill();
    assert_eq!(read(&home, "1")["status"], json!("in_progress"));
}

#[test]
fn in_the_clients_rules_nothing_is_put_back() {
    let home = home();
    home.ask("create Parser -d Grammar --owner tester");
    write_stale(&home, "start 1");
    home.ask("list --rules client");
    assert_eq!(verdicts(&home), [("status".to_owned(), "certain".to_owned())]);
    assert_eq!(read(&home, "1")["status"], json!("pending"));
}
