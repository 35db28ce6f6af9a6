//! The threads that pass messages on wait for nothing else: neither for a lock nor for the disk.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use taskyard_testkit::{Home, Program, finishes};

use crate::stdio::{Piped, text};

/// So many calls wait for a lock.
const WAITING: usize = 50;
/// What a debug build says before it panics.
const COMPLAINT: &str = "on a thread that passes messages";

fn home() -> Home {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.run("create One");
    home
}

#[test]
fn messages_are_answered_while_calls_wait_for_a_foreign_lock() {
    finishes(ask_while_calls_wait);
}

fn ask_while_calls_wait() {
    let home = home();
    let mut server = Piped::start(&home, "").initialized();
    server.call("TaskList", json!({}));
    let lock = home.list("L").join(".lock.lock");
    fs::create_dir(&lock).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // A rival that lives touches its lock.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                File::open(&lock).unwrap().set_modified(SystemTime::now()).unwrap();
                thread::sleep(Duration::from_millis(100));
            }
            fs::remove_dir(&lock).unwrap();
        });
        let create = json!({ "name": "TaskCreate", "arguments": { "subject": "Two", "description": "" } });
        let calls: Vec<u64> = (0..WAITING).map(|_| server.request("tools/call", create.clone())).collect();
        assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
        assert!(!server.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().is_empty());
        for _ in 0..3 {
            assert_eq!(server.call("TaskList", json!({})), "#1 [pending] One");
        }
        let read = server.ask("resources/read", json!({ "uri": "taskyard://task/1" }));
        assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("One"), "{read}");
        assert!(!server.said.iter().any(|message| message.get("result").is_some()), "{:?}", server.said);
        is_over.store(true, Ordering::Relaxed);
        let mut answered = 0;
        while answered < calls.len() {
            let message = server.message().unwrap();
            answered += usize::from(message["id"].as_u64().is_some_and(|id| calls.contains(&id)));
        }
    });
    assert_eq!(home.present().len(), 1 + WAITING);
}

#[test]
fn whatever_is_asked_the_disk_is_asked_elsewhere() {
    for flags in ["", "--tools all --allow-exec", "--rules client", "--store memory: --allow-exec", "--store document:"]
    {
        // A message that is never answered is how a panic on such a thread shows.
        finishes(move || ask_everything(flags));
    }
}

fn ask_everything(flags: &str) {
    let home = home();
    home.run("team create crew --as ana");
    let complaints = home.path().join("complaints");
    let mut command: Program = home.command(&format!("mcp {flags}"));
    command.stderr(File::create(&complaints).unwrap());
    let mut server = Piped::spawn_quiet(command);
    let client = json!({ "name": "claude-code", "version": "1" });
    let capabilities = json!({ "roots": { "listChanged": true } });
    server.ask(
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client }),
    );
    server.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let asked = server.message().unwrap();
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let roots =
        json!({ "roots": [{ "uri": "file:///nowhere" }, { "uri": format!("file://{}", home.path().display()) }] });
    server.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": roots }));
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/subscribe", json!({ "uri": "taskyard://notifications" })),
        ("resources/read", json!({ "uri": "taskyard://notifications" })),
        ("resources/read", json!({ "uri": "taskyard://task/1" })),
        ("prompts/list", json!({})),
        ("ping", json!({})),
    ] {
        let answer: Value = server.ask(method, params);
        assert!(answer.get("result").is_some() || answer.get("error").is_some(), "{answer}");
    }
    for (tool, input) in [
        ("TaskCreate", json!({ "subject": "Two", "description": "" })),
        ("TaskList", json!({})),
        ("TaskList", json!({})),
        ("TaskClaim", json!({ "taskId": "1" })),
        ("TaskUpdate", json!({ "taskId": "1", "status": "completed" })),
        ("TaskRun", json!({ "command": "true" })),
        ("TaskList", json!({})),
        ("InboxRead", json!({})),
        ("TaskOutput", json!({ "task_id": "b000000" })),
    ] {
        let meta = json!({ "taskyard/agent": "ana" });
        let answer = server.ask("tools/call", json!({ "name": tool, "arguments": input, "_meta": meta }));
        assert!(answer.get("error").is_some() || !text(&answer).contains("because of a bug"), "{flags}: {answer}");
    }
    assert!(server.close().0.success(), "{flags}");
    let complaints = fs::read_to_string(complaints).unwrap();
    assert!(!complaints.contains(COMPLAINT) && !complaints.contains("panicked"), "{flags}: {complaints}");
}
