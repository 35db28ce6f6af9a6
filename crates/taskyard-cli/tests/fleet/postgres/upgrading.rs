//! Clients that run while the tables become those of a newer release.

use std::process::Stdio;

use serde_json::json;
use taskyard_testkit::{SharedPostgres, wait_until};

use crate::postgres::{ask, command, home, run};

#[test]
fn running_clients_are_told_of_newer_tables_and_lose_nothing() {
    let server = SharedPostgres::get();
    let (home, store) = (home(), server.fresh_address());
    let schema = store.rsplit_once('=').unwrap().1;
    for subject in ["one", "two", "three"] {
        ask(&home, &store, &format!("create {subject}"));
    }
    let is_held = |task: &str| ask(&home, &store, &format!("show {task} --json")).contains("\"in_progress\"");
    let mut watching = command(&home, &store, "watch --json --since 0").stdout(Stdio::piped()).start();
    assert!(watching.line().is_some());
    let go = home.path().join("go");
    let mut working = command(&home, &store, "work --as worker -- sh -c");
    working.arg(format!("until [ -e {} ]; do sleep 0.1; done", go.display())).stdout(Stdio::piped());
    let working = working.start();
    wait_until("the worker's claim", || is_held("1"));
    let mut serving = command(&home, &store, "mcp --as ana");
    let mut serving = serving.stdin(Stdio::piped()).stdout(Stdio::piped()).start();
    serving.tell(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
    );
    serving.tell(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let mut call = |id: u64, tool: &str, arguments: serde_json::Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        serving.tell(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string());
        loop {
            let answer = serving.json().expect("the server answers");
            if answer["id"] == id {
                return answer["result"].clone();
            }
        }
    };
    let claimed = call(2, "TaskClaim", json!({ "taskId": "2" }));
    assert_eq!(claimed["isError"], json!(false), "{claimed}");
    let history = ask(&home, &store, "history --json");

    server.cluster().sql(&format!("UPDATE {schema}.yard SET version = 99"));
    let told = watching.end();
    assert!(told.code == Some(1) && told.stdout.contains("newer taskyard"), "{told:?}");
    let told = call(3, "TaskUpdate", json!({ "taskId": "2", "status": "completed" }));
    assert!(told["isError"] == json!(true) && told.to_string().contains("newer taskyard"), "{told}");
    std::fs::write(&go, "").unwrap();
    let told = working.end();
    assert!(told.code == Some(1) && told.stderr.contains("newer taskyard"), "{told:?}");
    let told = run(&home, &store, "list");
    assert!(told.code == Some(1) && told.stderr.contains("newer taskyard"), "{told:?}");

    // As if the newer release had come in their place.
    server.cluster().sql(&format!("UPDATE {schema}.yard SET version = 2"));
    let entries = history.trim_end().trim_end_matches("]}");
    assert!(ask(&home, &store, "history --json").starts_with(entries));
    assert!(is_held("2"));
    let done = call(4, "TaskUpdate", json!({ "taskId": "2", "status": "completed" }));
    assert_eq!(done["isError"], json!(false), "{done}");
    serving.kill();
    // The worker that ended left its task in progress.
    wait_until("all to be done", || {
        ask(&home, &store, "work --as worker -- true");
        ask(&home, &store, "stats").contains("3 of 3 done")
    });
}
