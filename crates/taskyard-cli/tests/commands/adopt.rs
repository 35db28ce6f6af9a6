use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use crate::test::Test;

pub(crate) const SESSION: &str = "0198c0de-1111-4222-8333-444455556666";

/// Returns a project in which an earlier session of the client left three open tasks, one of them in progress.
pub(crate) fn left_behind() -> Test {
    let test =
        Test::new().list_named(SESSION, "1 completed; 2 pending Docs <- 1; 3 in_progress Parser; 4 pending <- 3");
    let begun = File::options().append(true).open(test.path(&format!("home/.claude/tasks/{SESSION}/3.json")));
    // Before the machine was started, so that no client that runs beside the test can have written it.
    begun.unwrap().set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    let project = test.path("home/project").canonicalize().unwrap().display().to_string();
    let slug: String =
        project.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' }).collect();
    test.file(&format!("home/.claude/projects/{slug}/{SESSION}.jsonl"), "{}\n")
}

#[test]
fn a_pipe_is_told_what_to_type() {
    left_behind().run("adopt").run("list").snapshot();
}

#[test]
fn everything_open_comes_here() {
    left_behind().run("adopt --yes").run("list").run("adopt").snapshot();
}

#[test]
fn one_list_can_be_named() {
    Test::new()
        .list_named("old", "1 pending; 2 completed")
        .run("adopt old --json")
        .run("list")
        .run("adopt nowhere")
        .snapshot();
}

#[test]
fn nothing_left_behind_is_said() {
    Test::new().run("adopt").run("adopt --yes").run("adopt --json").snapshot();
}

#[test]
fn a_list_is_not_merged_into_itself_whatever_it_is_called() {
    let test =
        Test::new().list("1 pending One").run("adopt project").run("adopt project --json").run("adopt project --yes");
    let test = test.file("home/package.json", r#"{"name":"@scope/shop"}"#).quietly("create Two");
    // Two names with one directory are one list.
    test.run("adopt -- -scope-shop").run("list").snapshot();
}

#[test]
fn directory_list_keeps_its_tasks_unless_forced() {
    Test::new()
        .list("1 pending 'For all'")
        .env("CLAUDE_CODE_TASK_LIST_ID", SESSION)
        .run("adopt project")
        .run("adopt project --json")
        .run("list --list project")
        .run("adopt project --yes")
        .run("list --list project")
        .snapshot();
}

#[test]
fn bound_or_team_lists_keep_tasks_unless_forced() {
    Test::new()
        .file("home/shop/x", "")
        .list_named("bound", "1 pending One")
        .list_named("crew", "1 pending Two")
        .list_named("done", "1 completed Three")
        .inside("../shop")
        .quietly("use bound")
        .quietly("team create crew")
        .quietly("use done")
        .quietly("use bound")
        .inside("")
        .run("adopt bound")
        .run("adopt crew")
        .run("adopt done")
        .run("adopt crew --yes")
        .run("list")
        .snapshot();
}

#[test]
fn what_somebody_works_on_is_not_moved_at_all() {
    let mut test = left_behind().quietly(&format!("claim 2 --as ana --list {SESSION}"));
    let refused = test.json(&format!("adopt {SESSION} --yes --json"));
    assert_eq!(refused["error"]["code"], "leased", "{refused}");
    let all = test.json("adopt --yes --json");
    assert_eq!(
        (&all["adopted"], &all["left"][0]["reason"]),
        (&serde_json::json!([]), &"ana works on it".into()),
        "{all}"
    );
    // The agent that holds it may take it along.
    assert_eq!(test.json(&format!("adopt {SESSION} --as ana --json"))["tasks"].as_array().unwrap().len(), 3);
}

#[test]
fn shared_session_list_is_found_and_left_in_place() {
    let test = left_behind().inside("..").quietly(&format!("use {SESSION}")).inside("");
    let test = test.run("use project").run("adopt").run("adopt --yes").run("list");
    test.snapshot();
}

#[cfg(unix)]
#[test]
fn person_is_asked_before_shared_list_is_cleared() {
    Test::new()
        .list("1 pending 'For all'")
        .env("TASKYARD_LIST", "mine")
        .on_terminal(80, "adopt project", "n\n")
        .on_terminal(80, "adopt project", "y\n")
        .run("list --list project")
        .snapshot();
}
