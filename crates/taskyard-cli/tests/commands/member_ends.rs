//! Members that agree to end, as a program of the client's does: it writes to the lead's inbox, and leaves the rest to the lead.

use std::path::Path;

use serde_json::{Value, json};

use crate::test::Test;

const LATER: &str = "2099-01-01T00:00:00.000Z";

fn team() -> Test {
    Test::new()
        .quietly("team create alpha")
        .quietly("team join alpha --as bob")
        .quietly("team join alpha --as eve")
        .quietly("create Parser --as bob")
        .quietly("start 1 --as bob")
}

/// Writes what 2.1.34 writes when a member of its has agreed to end.
fn approve(place: &Path, name: &str, at: &str) {
    let said = json!({
        "type": "shutdown_approved", "requestId": format!("shutdown-1794704194621@{name}"), "from": name, "timestamp": at,
        "paneId": "%5", "backendType": "tmux",
    });
    let message = json!({"from": name, "text": said.to_string(), "timestamp": at, "color": "blue", "read": false});
    let inbox = place.join("home/.claude/teams/alpha/inboxes/team-lead.json");
    std::fs::create_dir_all(inbox.parent().unwrap()).unwrap();
    std::fs::write(inbox, serde_json::to_string_pretty(&json!([message])).unwrap()).unwrap();
}

fn members(test: &mut Test) -> Vec<String> {
    let shown = test.json("team show alpha --json");
    shown["members"].as_array().unwrap().iter().map(|member| member["name"].as_str().unwrap().to_owned()).collect()
}

fn notices(test: &Test, name: &str) -> usize {
    let path = test.path(&format!("home/.claude/teams/alpha/inboxes/{name}.json"));
    let messages: Vec<Value> =
        std::fs::read(path).map_or_else(|_| Vec::new(), |bytes| serde_json::from_slice(&bytes).unwrap());
    let is_notice = |message: &&Value| message["text"].as_str().unwrap().starts_with("bob has shut down.");
    messages.iter().filter(is_notice).count()
}

#[test]
fn the_next_command_takes_out_a_member_that_has_agreed_to_end() {
    let mut test = team().meanwhile(|place| approve(place, "bob", LATER));
    let listed = test.output_of("list --list alpha --as eve");
    let told = String::from_utf8(listed.stderr).unwrap();
    assert_eq!(told, "warning: removed bob from the team: it shut down as requested; #1 can be claimed again\n");
    assert!(String::from_utf8(listed.stdout).unwrap().contains("Parser"));
    assert_eq!(members(&mut test), ["team-lead", "eve"]);
    let task = &test.json("show 1 --list alpha --json")["task"];
    assert_eq!((&task["status"], &task["owner"]), (&json!("pending"), &Value::Null));
    // The actor knows it.
    assert_eq!((notices(&test, "team-lead"), notices(&test, "eve")), (1, 0));
    assert_eq!(test.output_of("doctor --list alpha").status.code(), Some(0));
    let again = test.output_of("list --list alpha --as eve");
    assert!(again.stderr.is_empty(), "{again:?}");
}

#[test]
fn every_command_that_looks_at_tasks_or_teams_does_it() {
    for line in [
        "team show alpha",
        "team list",
        "doctor",
        "inbox",
        "ready",
        "create x",
        "show 1 --list alpha",
        "hook SubagentStop",
    ] {
        let mut test = team().meanwhile(|place| approve(place, "bob", LATER));
        let output = test.answer_to(line, "{}");
        assert!(String::from_utf8(output.stderr).unwrap().contains("removed bob from the team"), "{line}");
        assert_eq!(members(&mut test), ["team-lead", "eve"], "{line}");
    }
}

#[test]
fn of_many_who_come_at_once_one_tells_the_others() {
    let mut test = team().meanwhile(|place| approve(place, "bob", LATER));
    let commands: Vec<_> = (0..8)
        .map(|number| {
            let mut command = test.command(env!("CARGO_BIN_EXE_taskyard"));
            command.args(["list", "--list", "alpha", "--as", &format!("stranger-{number}")]);
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).start()
        })
        .collect();
    let said = commands.into_iter().map(|command| String::from_utf8(command.wait_with_output().stderr).unwrap());
    let count = said.filter(|said| said.contains("removed bob from the team")).count();
    assert_eq!(count, 1);
    assert_eq!((notices(&test, "team-lead"), notices(&test, "eve")), (1, 1));
    assert_eq!(members(&mut test), ["team-lead", "eve"]);
}

#[test]
fn what_one_of_the_same_name_said_before_takes_nobody_out() {
    let mut test = team().meanwhile(|place| approve(place, "bob", "2020-01-01T00:00:00.000Z"));
    let listed = test.output_of("list --list alpha");
    assert!(listed.stderr.is_empty(), "{listed:?}");
    assert_eq!(members(&mut test), ["team-lead", "bob", "eve"]);
    let mut test = test.meanwhile(|place| approve(place, "bob", LATER)).quietly("team join alpha --as bob");
    // It was taken out, and joined again.
    assert_eq!(members(&mut test), ["team-lead", "eve", "bob"]);
}

#[test]
fn client_lead_removes_its_members_itself() {
    let config = r#"{"name":"alpha","createdAt":1,"leadAgentId":"team-lead@alpha","leadSessionId":"s","members":[{"agentId":"team-lead@alpha","name":"team-lead","joinedAt":1},{"agentId":"bob@alpha","name":"bob","joinedAt":2}]}"#;
    let mut test = Test::new()
        .file("home/.claude/teams/alpha/config.json", config)
        .meanwhile(|place| approve(place, "bob", LATER))
        .quietly("list");
    assert_eq!(members(&mut test), ["team-lead", "bob"]);
}

#[test]
fn in_the_clients_rules_nobody_is_taken_out_by_us() {
    let mut test = team().meanwhile(|place| approve(place, "bob", LATER)).quietly("list --list alpha --rules client");
    let file: Value =
        serde_json::from_slice(&std::fs::read(test.path("home/.claude/teams/alpha/config.json")).unwrap()).unwrap();
    assert_eq!(file["members"].as_array().unwrap().len(), 3);
    assert_eq!(members(&mut test).len(), 2);
}

#[test]
fn a_program_of_its_own_that_joins_is_written_down_as_one() {
    let test = Test::new()
        .quietly("team create alpha")
        .quietly("team join alpha --backend tmux --as bob")
        .quietly("team join alpha --backend tmux --pane %5 --as cyd")
        .quietly("team join alpha --backend in-process --as dan")
        .quietly("team join alpha --as eve");
    let file: Value =
        serde_json::from_slice(&std::fs::read(test.path("home/.claude/teams/alpha/config.json")).unwrap()).unwrap();
    let written: Vec<(&str, &str)> = file["members"].as_array().unwrap()[1..]
        .iter()
        .map(|member| (member["backendType"].as_str().unwrap(), member["tmuxPaneId"].as_str().unwrap()))
        .collect();
    assert_eq!(written, [("tmux", ""), ("tmux", "%5"), ("in-process", "in-process"), ("in-process", "in-process")]);
    test.run("team join alpha --pane %5 --as fay").snapshot();
}
