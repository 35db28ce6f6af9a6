//! Agents are told which of their jobs have ended: until they have heard it, and never after.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::mcp::client::{Client, GENERATIONS};
use crate::stdio::{Piped, text};

const UPDATED: &str = "notifications/resources/updated";

fn home() -> Home {
    Home::new(env!("CARGO_BIN_EXE_taskyard"))
}

fn server(home: &Home, flags: &str) -> Piped {
    Piped::start(home, &format!("--allow-exec {flags}")).initialized()
}

/// Runs a command in the background to its end, which comes after the answer to the call that started it; returns the id of its job.
fn run_to_its_end(server: &mut Piped, home: &Home, call: &str, command: &str) -> String {
    let gate = home.path().join(format!("gate-{call}"));
    let id = run(server, call, &format!("until [ -e {} ]; do sleep 0.02; done; {command}", gate.display()));
    fs::write(gate, "").unwrap();
    assert_eq!(home.run(&format!("job wait {id} --as somebody")).signal, None);
    id
}

/// Runs a command in the background, by a call of this id; returns the id of its job.
fn run(server: &mut Piped, call: &str, command: &str) -> String {
    let call = json!({
        "name": "TaskRun",
        "arguments": { "command": command, "description": "a job" },
        "_meta": { "claudecode/toolUseId": format!("toolu_{call}") },
    });
    let answer = server.ask("tools/call", call);
    id_in(answer["result"]["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap())
}

fn id_in(text: &str) -> String {
    text.split("with ID: ").nth(1).unwrap_or_else(|| panic!("{text}")).split('.').next().unwrap().to_owned()
}

/// Returns the notifications that come with the answer to a call; the answer itself is always there.
fn told(server: &mut Piped) -> Option<String> {
    told_with(server, json!({}))
}

fn told_with(server: &mut Piped, meta: Value) -> Option<String> {
    let answer = server.ask("tools/call", json!({ "name": "TaskList", "arguments": {}, "_meta": meta }));
    let content = answer["result"]["content"].as_array().unwrap();
    assert_eq!(content.last().unwrap()["text"], "No tasks found");
    assert!(content.len() <= 2, "{answer}");
    (content.len() == 2).then(|| text(&answer))
}

#[test]
fn next_answer_reports_ended_job_and_later_call_acks_it() {
    let home = home().strict();
    let mut one = server(&home, "");
    let id = run_to_its_end(&mut one, &home, "1", "exit 3");
    let notification = told(&mut one).unwrap();
    let path = home.ask("job list")["jobs"][0]["outputFile"].as_str().unwrap().to_owned();
    assert_eq!(
        notification,
        format!(
            "[SYSTEM NOTIFICATION - NOT USER INPUT]\n\n<task-notification>\n<task-id>{id}</task-id>\n\
             <tool-use-id>toolu_1</tool-use-id>\n<output-file>{path}</output-file>\n<status>failed</status>\n\
             <summary>Background command \"a job\" failed with exit code 3</summary>\n</task-notification>"
        )
    );
    assert_eq!(told(&mut one), None);
    assert_eq!(told(&mut server(&home, "")), None, "acknowledged is acknowledged everywhere");
}

#[test]
fn killed_server_leaves_notification_to_next_server() {
    let home = home().strict();
    let mut one = server(&home, "");
    let id = run_to_its_end(&mut one, &home, "1", "true");
    for _ in 0..3 {
        let notification = told(&mut one).unwrap();
        assert!(notification.contains(&id), "{notification}");
        // Dropping it kills it.
        one = server(&home, "");
    }
    assert!(told(&mut one).is_some());
    assert_eq!(told(&mut one), None);
    assert_eq!(told(&mut server(&home, "")), None);
}

#[test]
fn two_servers_of_one_agent_do_not_lose_it_between_them() {
    let home = home();
    let (mut one, mut two) = (server(&home, ""), server(&home, ""));
    run_to_its_end(&mut one, &home, "1", "true");
    assert!(told(&mut one).is_some());
    assert!(told(&mut two).is_some(), "the other has not heard it");
    assert_eq!(told(&mut one), None);
    assert_eq!(told(&mut two), None);
}

#[test]
fn other_agents_are_not_told() {
    let home = home();
    let mut one = server(&home, "");
    run_to_its_end(&mut one, &home, "1", "true");
    assert_eq!(told_with(&mut one, json!({ "taskyard/agent": "ben" })), None);
    assert_eq!(told(&mut server(&home, "--list other")), None, "nor the same agent at other work");
    assert!(told(&mut one).is_some());
}

#[test]
fn a_call_that_is_repeated_is_told_again() {
    let home = home();
    let mut one = server(&home, "");
    run_to_its_end(&mut one, &home, "1", "true");
    let meta = json!({ "taskyard/callId": "c1" });
    assert!(told_with(&mut one, meta.clone()).is_some());
    assert!(told_with(&mut one, meta).is_some());
    assert_eq!(told_with(&mut one, json!({ "taskyard/callId": "c2" })), None);
}

#[test]
fn a_stopped_job_tells_nothing_by_whatever_name_it_is_stopped() {
    let home = home();
    let mut one = server(&home, "");
    for (tool, key, command) in [("TaskStop", "task_id", "sleep 600"), ("KillShell", "shell_id", "sleep 601")] {
        let id = run(&mut one, tool, command);
        let stopped: Value = serde_json::from_str(&one.call(tool, json!({ key: id }))).unwrap();
        assert_eq!(stopped["message"], format!("Successfully stopped task: {id} ({command})"));
        let again = one.ask("tools/call", json!({ "name": tool, "arguments": { key: id } }));
        assert_eq!(text(&again), format!("Task {id} is not running (status: killed)"));
    }
    let named = home.run("job run --json --name server -- sleep 600").json()["job"]["id"].clone();
    let stopped: Value = serde_json::from_str(&one.call("TaskStop", json!({ "task_id": "server" }))).unwrap();
    assert_eq!(stopped["task_id"], named);
    assert_eq!(told(&mut one), None);
    assert_eq!(told(&mut server(&home, "")), None);
}

#[test]
fn agent_shown_the_end_of_a_job_needs_no_notification() {
    let home = home();
    let mut one = server(&home, "");
    let id = run(&mut one, "1", "echo out");
    let shown = one.call("TaskOutput", json!({ "task_id": id, "block": true, "timeout": 600_000 }));
    assert!(shown.contains("<status>completed</status>"), "{shown}");
    assert_eq!(told(&mut one), None);
}

#[test]
fn in_the_clients_rules_only_the_resource_tells() {
    for (version, says_where_to_read) in [("2.1.34", true), ("2.1.325", false)] {
        let home = home();
        let mut one = server(&home, &format!("--rules client --client-version {version}"));
        let id = run_to_its_end(&mut one, &home, "1", "true");
        assert_eq!(told(&mut one), None, "{version}");
        let read = one.ask("resources/read", json!({ "uri": "taskyard://notifications" }));
        let waiting = read["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(waiting.contains(&format!("<task-id>{id}</task-id>")), "{waiting}");
        let where_to_read = "</task-notification>\nRead the output file to retrieve the result: ";
        assert_eq!(waiting.contains(where_to_read), says_where_to_read, "{waiting}");
    }
}

#[test]
fn job_end_is_pushed_to_subscribers_in_both_generations() {
    for generation in GENERATIONS {
        let home = home();
        let mut client = Client::over_pipes(&home, "--allow-exec", generation);
        let uri = "taskyard://notifications";
        match generation {
            "stateless" => drop(client.ask("listen", json!({ "resourceSubscriptions": [uri] })).unwrap()),
            _ => drop(client.ask("subscribeResource", json!({ "uri": uri })).unwrap()),
        }
        client.call("TaskRun", &json!({ "command": "true" }));
        client.wait_until_said(UPDATED, Some(uri));
        let read = client.ask("readResource", json!({ "uri": uri })).unwrap();
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("completed (exit code 0)"), "{read}");
    }
}

#[test]
fn with_structure_the_notification_is_in_the_structure_too() {
    let home = home();
    let mut one = server(&home, "--structured");
    run_to_its_end(&mut one, &home, "1", "true");
    let answer = one.ask("tools/call", json!({ "name": "TaskList", "arguments": {} }));
    assert_eq!(answer["result"]["structuredContent"]["taskNotifications"], text(&answer).as_str());
}

#[test]
fn watcher_hears_of_jobs_again_until_acknowledged() {
    let home = home();
    let mut one = server(&home, "");
    let watched = |words: &str| {
        let mut watcher = home.command(words).stdout(Stdio::piped()).start();
        let lines = watcher.take_output().lines();
        (watcher, lines)
    };
    let next = |lines: &mut std::io::Lines<BufReader<std::process::ChildStdout>>| -> Value {
        serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()
    };
    let id = run_to_its_end(&mut one, &home, "1", "true");
    let (mut watcher, mut lines) = watched("watch --since 0");
    let line = next(&mut lines);
    assert_eq!((&line["op"], &line["job"]["id"]), (&json!("job_ended"), &json!(id)));
    assert_eq!((&line["actor"], line.get("revision"), &line["task"]), (&json!("tester"), None, &Value::Null));
    // It is at work by now, and hears of what comes.
    let new = run_to_its_end(&mut one, &home, "2", "false");
    let line = next(&mut lines);
    assert_eq!((&line["job"]["id"], &line["job"]["status"]), (&json!(new), &json!("failed")));
    watcher.kill();
    // The call that ran the second job acknowledged nothing: its answer brought the news of the first.
    assert!(told(&mut one).is_some_and(|told| told.contains(&new)));
    assert_eq!(told(&mut one), None);
    home.run("create One");
    let (mut watcher, mut lines) = watched("watch --since 0");
    assert_eq!(next(&mut lines)["op"], "create", "what was heard does not come again");
    watcher.kill();
}

#[test]
fn commands_are_run_only_by_a_server_that_allows_it() {
    let home = home();
    let mut one = Piped::start(&home, "").initialized();
    let answer = one.ask("tools/call", json!({ "name": "TaskRun", "arguments": { "command": "true" } }));
    assert_eq!(text(&answer), "Error: No such tool available: TaskRun");
    assert_eq!(home.ask("job list")["jobs"], json!([]));
}
