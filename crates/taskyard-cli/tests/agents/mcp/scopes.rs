//! What a token may do over MCP, by its scope.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use taskyard_testkit::{Home, finishes, wait_until};

use crate::mcp::http::{Line, Served};

/// All tools, by the scope that each needs.
const TOOLS: [(&str, &[&str]); 3] = [
    ("read", &["TaskGet", "TaskList", "ListAgents", "TaskOutput"]),
    (
        "work",
        &[
            "TaskCreate",
            "TaskUpdate",
            "TaskClaim",
            "TaskRelease",
            "SendMessage",
            "InboxRead",
            "TeamCreate",
            "TaskStop",
            "KillShell",
        ],
    ),
    ("all", &["TeamDelete", "TaskRun"]),
];

/// Names that are answered to and not listed.
const UNLISTED: [&str; 1] = ["KillShell"];

fn home_and_server() -> (Home, Served) {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::with(&home, "--tools all --allow-exec");
    (home, served)
}

pub(crate) fn token(home: &Home, words: &str) -> String {
    home.ask(&format!("token create {words}"))["token"].as_str().unwrap().to_owned()
}

fn text(result: &Value) -> String {
    let texts = result["content"].as_array().unwrap().iter().map(|part| part["text"].as_str().unwrap());
    texts.collect::<Vec<_>>().join("\n")
}

fn listed(line: &mut Line) -> BTreeSet<String> {
    let tools = line.ask("tools/list", json!({}))["tools"].clone();
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_scope_has_its_tools_and_no_others() {
    let (home, served) = home_and_server();
    home.run("create One");
    let before = home.ask("history")["entries"].clone();
    for (reach, (scope, _)) in TOOLS.iter().enumerate() {
        let token = token(&home, &format!("{scope} --scope {scope}"));
        let mut line = served.session_with(&token, scope);
        let (may, may_not) = TOOLS.split_at(reach + 1);
        let names = may.iter().flat_map(|(_, names)| names.iter()).filter(|name| !UNLISTED.contains(name));
        assert_eq!(listed(&mut line), names.map(|name| (*name).to_owned()).collect(), "{scope}");
        for (needed, names) in may_not {
            for name in *names {
                let refused = line.call(name, json!({ "subject": "x", "description": "x", "command": "echo x" }));
                assert_eq!(refused["isError"], true, "{scope}: {name}");
                let words = format!("Error: {name} needs a token with the scope `{needed}`. Nothing was done.");
                assert_eq!(text(&refused), words, "{scope}");
            }
        }
        assert_eq!(home.ask("history")["entries"], before, "{scope}");
        for name in may.iter().flat_map(|(_, names)| names.iter()) {
            let told = text(&line.call(name, json!({ "nothing": true })));
            assert!(!told.contains("scope"), "{scope}: {name}: {told}");
        }
    }
    assert_eq!(home.ask("job list")["jobs"], json!([]));
}

#[test]
fn a_work_token_stops_no_job_of_another_agent() {
    let (home, served) = home_and_server();
    home.run("job run --as ana -- sleep 600");
    let job = home.ask("job list")["jobs"][0]["id"].clone();
    let status = || home.ask("job list")["jobs"][0]["status"].clone();
    let stop = json!({ "task_id": job });
    // The name that a call gives proves nothing.
    let (ben, ana) = (token(&home, "ben --scope work"), token(&home, "ana --scope work"));
    for mut line in [served.session_with(&ben, "ana"), served.line_with(&ben, "ana")] {
        let refused = line.call("TaskStop", stop.clone());
        assert!(refused["isError"] == true && text(&refused).contains("belongs to another agent"), "{refused}");
        assert_eq!(status(), "running");
    }
    assert_eq!(served.session_with(&ana, "ana").call("TaskStop", stop)["isError"], false);
    assert_eq!(status(), "killed");
}

#[test]
fn a_token_that_may_only_read_acknowledges_nothing() {
    let (home, served) = home_and_server();
    let reading = token(&home, "reader --scope read");
    home.run("job run --as ana -- true");
    wait_until("the job runs on", || home.ask("job list")["jobs"][0]["status"] == "completed");
    let job = home.ask("job list")["jobs"][0]["id"].clone();
    let mut line = served.session_with(&reading, "ana");
    for _ in 0..2 {
        assert!(!text(&line.call("TaskList", json!({}))).contains("NOTIFICATION"));
        assert!(text(&line.call("TaskOutput", json!({ "task_id": job }))).contains("success"));
    }
    let told = text(&served.session("ana").call("TaskList", json!({})));
    assert!(told.contains("NOTIFICATION") && told.contains(job.as_str().unwrap()), "{told}");
}

#[test]
fn a_session_belongs_to_the_token_that_opened_it() {
    let (home, served) = home_and_server();
    let (one, two) = (token(&home, "one --scope work"), token(&home, "two --scope all"));
    let mut owner = served.session_with(&one, "ana");
    let mut other = owner.beside(&served).proving(&two);
    let list = br#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#;
    assert_eq!(other.post(&[], list).status, 404);
    assert_eq!(other.bare("GET").status, 404);
    assert_eq!(other.bare("DELETE").status, 404);
    assert_eq!(owner.beside(&served).post(&[], list).status, 404, "the server's own token is another, too");
    assert_eq!(owner.call("TaskList", json!({}))["isError"], false);
}

#[test]
fn sessions_and_streams_end_with_their_token() {
    let (home, served) = home_and_server();
    let token = token(&home, "ci --scope work");
    let mut line = served.session_with(&token, "ana");
    let mut stream = line.beside(&served).proving(&token);
    stream.open_stream();
    let mut waiting = line.beside(&served).proving(&token);
    home.run("job run -- sleep 600");
    let job = home.ask("job list")["jobs"][0]["id"].clone();
    waiting.begin_call("TaskOutput", json!({ "task_id": job, "timeout": 600_000 }));
    home.ask("token revoke ci");
    finishes(move || stream.read_to_the_end());
    finishes(move || waiting.response());
    assert_eq!(line.bare("GET").status, 401);
    let new = self::token(&home, "ci --scope work");
    assert_eq!(line.proving(&new).bare("GET").status, 404, "the session has ended");
    home.run(&format!("job stop {}", job.as_str().unwrap()));
}
