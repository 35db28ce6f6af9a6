//! Workers in a team: a request to end comes before any task, and what is written to a worker goes to its command.

use std::fs;

use serde_json::Value;

use crate::site::{Site, await_that};

/// Returns a team with a task, and ana and eve in it.
fn team() -> Site {
    let site = Site::with(&[]);
    site.home.ask("team create alpha");
    site.home.ask("create one --list alpha");
    site.home.ask("team join alpha --as ana");
    site.home.ask("team join alpha --as eve");
    site
}

#[test]
fn a_command_gets_the_leads_messages_first_and_then_those_of_others() {
    let site = team();
    site.home.ask("send --to ana second --as eve");
    site.home.ask("send --to ana first");
    let ran = site.worked("--team alpha --as ana", "echo \"$TASKYARD_MESSAGES\" > mail");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mail: Value = serde_json::from_str(&site.await_file("mail")).unwrap();
    let texts: Vec<&str> = mail.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["first", "second"]);
    assert_eq!(site.home.ask("inbox --sent")["messages"][0]["state"], "read");
    let members = site.home.ask("team list")["teams"][0]["members"].clone();
    assert_eq!(members, serde_json::json!(["team-lead", "eve"]));
}

#[test]
fn messages_come_again_when_the_command_failed() {
    let site = team();
    site.home.ask("send --to ana hello");
    let line = "echo \"$TASKYARD_MESSAGES\" >> mail; test -e second && exit 0; touch second; exit 1";
    let ran = site.worked("--team alpha --as ana", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mail = site.await_file("mail");
    assert_eq!(mail.lines().filter(|line| line.contains("hello")).count(), 2, "{mail}");
}

#[test]
fn a_worker_that_is_asked_to_end_takes_no_task_and_leaves() {
    let site = team();
    site.home.ask("send --to ana --request shutdown enough");
    let ran = site.worked("--team alpha --as ana", "touch ran");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("left the team, as it was asked to: ana"), "{ran:?}");
    assert!(!site.path("ran").exists());
    let answer = site.home.ask("inbox")["messages"].as_array().unwrap().clone();
    assert!(answer.iter().any(|message| message["text"].as_str().unwrap().contains("shutdown_approved")), "{answer:?}");
}

#[test]
fn a_worker_that_waits_for_work_is_woken_by_a_request_to_end() {
    let site = team();
    let worker = site.start("--team alpha --as ana --wait", "echo done > done");
    site.await_file("done");
    await_that("the end of the task", || site.home.ask("list --list alpha")["tasks"][0]["status"] == "completed");
    site.home.ask("send --to ana --request shutdown");
    let ran = worker.end();
    assert!(ran.stdout.contains("left the team"), "{ran:?}");
    assert!(!fs::read_to_string(site.path(".claude/teams/alpha/config.json")).unwrap().contains("\"ana\""));
}
