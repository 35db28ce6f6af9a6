//! Servers that are killed, and servers that sleep.

use std::process::Stdio;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};
use taskyard::Store as _;
use taskyard::core::ListId;
use taskyard_testkit::{Home, Process, Program, Ran, wait_until};

use crate::two_sides::side::{SILENCE, on, throughout_a_silence};

/// A server and its agent.
pub(crate) struct Server {
    process: Process,
    calls: u64,
}

impl Server {
    /// Starts a server by a command, and says hello.
    pub(crate) fn started(mut command: Program) -> Self {
        let mut process = command.stdin(Stdio::piped()).start();
        let client = json!({ "name": "claude-code", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        for message in [
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ] {
            process.tell(&message.to_string());
        }
        Self { process, calls: 0 }
    }

    /// Calls a tool, and returns its result.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": self.calls, "method": "tools/call", "params": params });
        self.process.tell(&call.to_string());
        loop {
            let message = self.process.json().expect("the server has not ended");
            if message["id"] == self.calls {
                return message["result"].clone();
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal);
    }

    /// Starts a server through which ana has claimed task 1. What it says from then on is not heard, and its input stays open.
    fn with_a_claim(home: &Home) -> Self {
        assert_eq!(here(home, "create One").code, Some(0));
        let mut server = Self::started(on(home, "mcp --as ana"));
        server.call("TaskClaim", json!({ "taskId": "1" }));
        drop(server.process.take_output());
        server
    }
}

fn here(home: &Home, words: &str) -> Ran {
    on(home, words).run()
}

fn json_of(home: &Home, words: &str) -> Value {
    here(home, &format!("{words} --json")).json()
}

#[test]
fn readers_compute_when_a_dead_server_loses_its_task() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let server = Server::with_a_claim(&home);
    assert_eq!(json_of(&home, "show 1")["lease"]["state"], json!("live"));
    let revision = json_of(&home, "list")["revision"].clone();
    server.signal(Signal::KILL);
    let killed = Instant::now();
    wait_until("the death", || json_of(&home, "show 1")["lease"]["state"] != "live");
    let lease = json_of(&home, "list")["leases"][0].clone();
    assert_eq!(lease["state"], json!("lapsing"), "{lease}");
    assert!(lease["expiresAt"].is_string(), "{lease}");
    let lost = json_of(&home, "claim 1 --as ben");
    assert_eq!((&lost["claimed"], &lost["owner"]), (&json!(false), &json!("ana")));
    assert_eq!(lost["freeAt"], lease["expiresAt"]);
    let shown = here(&home, "show 1").stdout;
    assert!(shown.contains("has ended, free ") && !shown.contains("runs"), "{shown}");
    assert_eq!(json_of(&home, "stats")["counts"]["in_progress"], json!(1));
    assert_eq!(json_of(&home, "ready")["tasks"], json!([]));
    assert_eq!(json_of(&home, "list")["revision"], revision, "nothing was written");
    let won = || json_of(&home, "claim 1 --as ben")["claimed"] == true;
    wait_until("the end of the lease", won);
    // It left its last sign no longer before its death than signs lie apart.
    assert!(killed.elapsed() > SILENCE / 2, "{:?}", killed.elapsed());
}

#[test]
fn a_reader_sees_the_task_of_a_dead_server_free() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let server = Server::with_a_claim(&home);
    server.signal(Signal::KILL);
    let revision = json_of(&home, "list")["revision"].clone();
    // A transaction is open, so that no reader can record anything.
    let store = home.store();
    let writing = store.write(&ListId::new("L").unwrap()).unwrap();
    wait_until("the end of the lease", || json_of(&home, "ready")["tasks"] != json!([]));
    let listed = json_of(&home, "list");
    assert_eq!((&listed["tasks"][0]["status"], &listed["revision"]), (&json!("pending"), &revision), "{listed}");
    assert_eq!(listed["leases"][0]["state"], json!("ended"), "{listed}");
    let shown = json_of(&home, "show 1");
    assert_eq!((&shown["task"]["owner"], &shown["lease"]), (&Value::Null, &Value::Null), "{shown}");
    assert_eq!(json_of(&home, "stats")["counts"], json!({ "pending": 1, "in_progress": 0, "completed": 0 }));
    drop(writing);
    assert_eq!(json_of(&home, "claim 1 --as ben")["claimed"], json!(true));
}

#[test]
fn a_server_that_is_suspended_keeps_what_it_holds() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let server = Server::with_a_claim(&home);
    server.signal(Signal::STOP);
    throughout_a_silence("that ana has it", || {
        let lost = json_of(&home, "claim 1 --as ben");
        lost["claimed"] == false && json_of(&home, "show 1")["lease"]["state"] == "live"
    });
    server.signal(Signal::CONT);
}
