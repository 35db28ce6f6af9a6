use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use taskyard::core::Timestamp;

use crate::test::Test;

#[test]
fn a_task_is_shown_with_what_surrounds_it() {
    Test::new()
        .list("1 completed; 2 pending; 3 in_progress (ana) \"Write it\" <- 1,2; 4 pending <- 3")
        .quietly("create Part --parent 3")
        .quietly("update 3 -d 'First line\nsecond line' --priority low --meta 'note=\"x\"' --as ben")
        .run("show 3")
        .run("show '#3' --json")
        .snapshot();
}

#[test]
fn a_task_that_is_not_there_is_not_found() {
    Test::new().list("1 pending").run("show 9").run("show 9 --json").snapshot();
}

#[test]
fn an_id_that_could_leave_the_directory_is_wrong_usage() {
    Test::new().list("1 pending").run("show ../../x").run("show ../../x --json").run("show ''").snapshot();
}

#[test]
fn a_task_says_who_made_it_and_in_which_revision() {
    Test::new()
        .quietly("create one --as ana")
        .quietly("create two --blocked-by 1 --as ben")
        .run("show 1")
        .run("show 2")
        .quietly("delete 2 --as eve")
        .quietly("restore 2 --deleted --as eve")
        .run("show 2")
        .list("7 pending 'From elsewhere'")
        .quietly("list")
        .run("show 7")
        .run("show 2 --json")
        .snapshot();
}

#[test]
fn the_session_behind_an_owner_is_named() {
    const SESSION: &str = "0198ffff-1c5d-7b9e-8a61-0123456789ab";
    let test = Test::new().quietly("create one").quietly("create two");
    let mut test = test.quietly("start 1 --as claude-code-0198ffff").quietly("start 2 --as claude-7f3a");
    let directory = test.path("home/project").canonicalize().unwrap().display().to_string();
    let slug: String = directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let folder = test.path("home/.claude/projects").join(slug);
    std::fs::create_dir_all(&folder).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let at = Timestamp(i64::try_from(now).unwrap()).to_string();
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3});
    let said = json!({"type": "assistant", "cwd": directory, "timestamp": at, "message": {"id": "m", "usage": usage}});
    let cost = json!({"type": "cost-state", "totalCostUSD": 0.25});
    std::fs::write(folder.join(format!("{SESSION}.jsonl")), format!("{said}\n{said}\n{cost}\n")).unwrap();
    let shown = test.json("show 1 --json")["session"].clone();
    assert_eq!((&shown["id"], &shown["directory"]), (&json!(SESSION), &json!(directory)));
    let resume = shown["resume"].as_str().unwrap();
    assert!(resume.ends_with(&format!("{directory} && claude --resume {SESSION}")), "{resume}");
    assert!(shown["transcript"].as_str().unwrap().ends_with(&format!("{SESSION}.jsonl")));
    assert_eq!(shown["clientTokens"], json!({"input": 10, "output": 5, "cacheRead": 3, "cacheCreation": 0}));
    assert_eq!(shown["clientSessionCostUsd"], 0.25);
    // Another name is found by the answer that gave its agent the task.
    assert_eq!(test.json("show 2 --json").get("session"), None);
    let answer = json!({"type": "user", "message": {"content": "Task #2: two\n\nYours, as claude-7f3a (token 7)."}});
    std::fs::write(folder.join("other.jsonl"), format!("{answer}\n")).unwrap();
    let shown = test.json("show 2 --json")["session"].clone();
    assert_eq!((&shown["id"], &shown["clientTokens"]), (&json!("other"), &json!(null)));
    assert_eq!(shown["resume"], "claude --resume other");
}
