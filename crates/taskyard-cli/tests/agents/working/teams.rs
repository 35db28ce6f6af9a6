//! Workers in a team: a request to end comes before any task, and what is written to a worker goes to its command.

use std::fs;

use serde_json::Value;

use taskyard_testkit::wait_until;

use crate::working::site::Site;

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
fn lead_messages_are_given_to_a_command_first() {
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
    assert!(ran.stdout.contains("left the team as requested: ana"), "{ran:?}");
    assert!(!site.path("ran").exists());
    let answer = site.home.ask("inbox")["messages"].as_array().unwrap().clone();
    assert!(answer.iter().any(|message| message["text"].as_str().unwrap().contains("shutdown_approved")), "{answer:?}");
}

#[test]
fn a_worker_that_waits_for_work_is_woken_by_a_request_to_end() {
    let site = team();
    let worker = site.start("--team alpha --as ana --wait", "echo done > done");
    site.await_file("done");
    wait_until("the end of the task", || site.home.ask("list --list alpha")["tasks"][0]["status"] == "completed");
    site.home.ask("send --to ana --request shutdown");
    let ran = worker.end();
    assert!(ran.stdout.contains("left the team"), "{ran:?}");
    assert!(!fs::read_to_string(site.path(".claude/teams/alpha/config.json")).unwrap().contains("\"ana\""));
}

#[test]
fn a_message_alone_is_work_where_there_is_no_task() {
    let site = Site::with(&[]);
    site.home.ask("team create alpha");
    site.home.ask("team join alpha --as ana");
    site.home.ask("send --to ana hello");
    let line =
        "cat > stdin; echo \"$TASKYARD_MESSAGES\" > mail; echo \"task=${TASKYARD_TASK_ID-none} $TASKYARD_AGENT\" > who";
    let ran = site.worked("--team alpha --as ana", line);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let mail: Value = serde_json::from_str(&site.await_file("mail")).unwrap();
    assert_eq!(mail[0]["text"], "hello");
    let stdin: Value = serde_json::from_str(&site.await_file("stdin")).unwrap();
    assert_eq!(stdin, serde_json::json!({ "messages": mail }));
    assert_eq!(site.await_file("who"), "task=none ana");
    assert!(ran.stdout.contains("started ana on a message") && ran.stdout.contains("done ana on a message"), "{ran:?}");
    assert_eq!(site.home.ask("inbox --sent")["messages"][0]["state"], "read");
}

#[test]
fn command_failing_on_message_is_retried_and_message_stays() {
    let site = Site::with(&[]);
    site.home.ask("team create alpha");
    site.home.ask("team join alpha --as ana");
    site.home.ask("send --to ana hello");
    let ran = site.worked("--team alpha --as ana --retries 2", "echo x >> runs; exit 1");
    assert_eq!(site.await_file("runs").lines().count(), 3);
    assert!(ran.stdout.contains("returned ana on a message: exit status 1"), "{ran:?}");
    assert_eq!(site.home.ask("inbox --sent")["messages"][0]["state"], "expired", "it left before it was read");
    site.home.ask("team join alpha --as ana");
    assert_eq!(site.home.ask("inbox --as ana")["messages"][0]["text"], "hello");
}

#[test]
fn waiting_worker_is_woken_by_message_not_by_programs() {
    let site = team();
    let worker = site.start("--team alpha --as ana --wait", "echo \"${TASKYARD_TASK_ID-none}\" >> runs");
    wait_until("the end of the task", || site.home.ask("list --list alpha")["tasks"][0]["status"] == "completed");
    // A notice of a member that left, and a result: neither is a prompt.
    site.home.ask("send --to ana --task 1 fine --list alpha");
    site.home.ask("team leave alpha --as eve");
    site.home.ask("send --to ana hello");
    wait_until("the message", || site.home.ask("inbox --sent")["messages"][0]["state"] == "read");
    site.home.ask("send --to ana --request shutdown");
    worker.end();
    assert_eq!(site.await_file("runs"), "1\nnone");
}

#[test]
fn killed_worker_releases_work_with_notice_and_seat() {
    let site = team();
    let worker = site.start("--team alpha --as ana --wait", "echo $$ > began; sleep 600");
    site.await_file("began");
    // Of another kind: without a lease, it holds the task by its name alone.
    site.home.ask("create two --list alpha");
    site.home.ask("update 2 --status in_progress --owner ana --list alpha --as eve");
    worker.send(rustix::process::Signal::KILL);
    worker.end();
    let shown = site.home.ask("team show alpha");
    assert_eq!(
        (&shown["members"][1]["state"], &shown["members"][1]["alive"]),
        (&"ghost".into(), &false.into()),
        "{shown}"
    );
    let pid = shown["members"][1]["process"].as_u64().unwrap();
    let told = site.home.run("send --to ana hello");
    assert!(told.stderr.contains(&format!("process {pid} of ana has ended")), "{told:?}");
    let claimed = site.home.ask("claim --next --list alpha --as eve");
    assert_eq!(claimed["claimed"], true);
    let tasks = site.home.ask("list --list alpha")["tasks"].as_array().unwrap().clone();
    assert!(tasks.iter().all(|task| task["owner"] != "ana"), "{tasks:?}");
    assert_eq!(site.home.ask("team list")["teams"][0]["members"], serde_json::json!(["team-lead", "eve"]));
    let heard = site.home.ask("inbox --as eve")["messages"].as_array().unwrap().clone();
    let notices = heard.iter().filter(|message| message["text"].as_str().unwrap().starts_with("ana was terminated"));
    let notices: Vec<&str> = notices.filter_map(|message| message["text"].as_str()).collect();
    // Those whose leases ended and those without one are told of together.
    assert!(matches!(notices[..], [all] if all.contains("#1 \"one\", #2 \"two\"")), "{heard:?}");
}
