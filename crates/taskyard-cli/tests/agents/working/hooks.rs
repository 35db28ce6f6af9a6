//! The hooks that `work` fires.

use std::fs;

use serde_json::{Value, json};

use crate::working::site::Site;

fn hook(event: &str, command: &str) -> Value {
    json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}})
}

fn told(site: &Site, file: &str) -> Vec<Value> {
    let text = fs::read_to_string(site.path(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_end_of_an_agent_is_told_with_what_came_of_it() {
    let site = Site::with(&["good", "bad"]).settings(&hook("SubagentStop", "cat >> told"));
    let ran = site.worked("--as ana --retries 0", "echo some words; test $TASKYARD_TASK_ID = 1 || kill -9 $$");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let told = told(&site, "told");
    assert_eq!(told.len(), 2, "{told:?}");
    let (good, bad) =
        if told[0]["tasks_completed"] == json!(["1"]) { (&told[0], &told[1]) } else { (&told[1], &told[0]) };
    assert_eq!((good["agent_id"].as_str(), good["agent_type"].as_str()), (Some("ana"), Some("sh")));
    assert_eq!(good["result"], json!({"exit_code": 0, "signal": null, "output": "some words"}));
    assert_eq!(bad["tasks_completed"], json!([]));
    assert_eq!(bad["result"], json!({"exit_code": null, "signal": 9, "output": "some words"}));
    assert_eq!(site.notes("2"), ["ended by signal 9\nsome words"]);
}

#[test]
fn hook_blocking_completion_returns_task_with_reason() {
    let refuse = r#"cat >> told; grep -q '"stop_hook_active":true' told || { echo not like this >&2; exit 2; }"#;
    let site = Site::with(&["one"]).settings(&hook("SubagentStop", refuse));
    let ran = site.worked("--as ana", "true");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("returned #1 one: a SubagentStop hook blocked it (attempt 1 of 3)\n"), "{ran:?}");
    let notes = site.notes("1");
    assert!(notes.len() == 1 && notes[0].contains("not like this"), "{notes:?}");
    let active: Vec<Value> = told(&site, "told").iter().map(|told| told["stop_hook_active"].clone()).collect();
    assert_eq!(active, [json!(false), json!(true)]);
}

#[test]
fn what_a_hook_wants_changed_is_changed() {
    let answer = r#"echo '{"hookSpecificOutput": {"tasks_to_update": [{"task_id": "2", "status": "completed"}, {"task_id": "9", "status": "pending"}]}}'"#;
    let site = Site::with(&["one", "two"]).settings(&hook("SubagentStop", answer));
    let ran = site.worked("--as ana", "echo $TASKYARD_TASK_ID >> log");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(site.await_file("log"), "1");
    assert_eq!(site.task("2")["status"], "completed");
    assert!(ran.stderr.contains("not completed as a hook requested: there is no task 9"), "{ran:?}");
}

#[test]
fn a_completion_that_hooks_forbid_goes_back_with_their_words() {
    let site = Site::with(&["one"]).settings(&hook("TaskCompleted", "echo tests fail >&2; exit 2"));
    let ran = site.worked("--as ana --retries 0", "true");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stdout.contains("gave up #1 one: a TaskCompleted hook blocked the completion of task 1 (attempt 1 of 1)\n"),
        "{ran:?}"
    );
    let notes = site.notes("1");
    assert!(notes[0].contains("tests fail"), "{notes:?}");
    assert_eq!(site.task("1")["status"], "pending");
}

#[test]
fn an_idle_worker_is_told_of_once_and_can_be_sent_to_look_again() {
    let site = Site::with(&["one"]).settings(&hook("TeammateIdle", "cat >> told"));
    let ran = site.worked("--as ana", "true");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let told_once = told(&site, "told");
    assert_eq!(told_once.len(), 1, "{told_once:?}");
    assert_eq!((told_once[0]["teammate_name"].as_str(), told_once[0]["team_name"].as_str()), (Some("ana"), Some("L")));

    // The hook finds more work, and says so until there is nothing more to say.
    let more = "cat >> told; test $(grep -c . told) -gt 2 || { $TASKYARD create more > /dev/null; exit 2; }";
    let site = Site::with(&["one"]).settings(&hook("TeammateIdle", more));
    let ran = site.worked("--as ana", "true");
    assert!(ran.stdout.ends_with("3 completed\n"), "{ran:?}");
    assert_eq!(told(&site, "told").len(), 3);
}

#[test]
fn idle_hook_cannot_keep_worker_forever_and_can_end_it() {
    let site = Site::with(&["one"]).settings(&hook("TeammateIdle", "echo x >> told; exit 2"));
    let ran = site.worked("--as ana", "true");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read_to_string(site.path("told")).unwrap().lines().count(), 9);

    let site = Site::with(&[]).settings(&hook("TeammateIdle", r#"echo '{"continue": false, "stopReason": "enough"}'"#));
    let ran = site.worked("--as ana --wait", "true");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "nothing was ready\n"));
}
