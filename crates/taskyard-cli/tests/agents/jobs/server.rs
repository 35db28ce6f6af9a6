//! An MCP server that starts jobs.

use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::Process;

use crate::jobs::site::Site;

/// A server on pipes; dropped, it is killed.
pub(crate) struct Server {
    process: Process,
    next: u64,
}

impl Server {
    pub(crate) fn start(site: &Site) -> Self {
        let process = site.command("mcp --allow-exec").stdin(Stdio::piped()).start();
        let mut server = Self { process, next: 0 };
        let about = json!({ "name": "jobs", "version": "1" });
        let id = server
            .send("initialize", &json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about }));
        server.answer(id);
        server.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        server
    }

    /// Asks for a job and does not wait for the answer.
    pub(crate) fn send_run(&mut self, line: &str) -> u64 {
        self.send("tools/call", &json!({ "name": "TaskRun", "arguments": { "command": line, "description": "one" } }))
    }

    /// Starts a job.
    pub(crate) fn run(&mut self, line: &str) -> String {
        let id = self.send_run(line);
        self.text(id)
    }

    /// Calls a tool, and returns the text of its answer.
    pub(crate) fn call(&mut self, tool: &str, input: &Value) -> String {
        let id = self.send("tools/call", &json!({ "name": tool, "arguments": input }));
        self.text(id)
    }

    /// Calls a tool without input, and returns everything that came with its answer.
    pub(crate) fn told_with(&mut self, tool: &str) -> String {
        let id = self.send("tools/call", &json!({ "name": tool, "arguments": {} }));
        self.answer(id)["result"]["content"].to_string()
    }

    fn text(&mut self, id: u64) -> String {
        let answer = self.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        let content = answer["result"]["content"].as_array().unwrap();
        content.last().unwrap()["text"].as_str().unwrap().to_owned()
    }

    /// Returns how much memory it has, in kilobytes.
    pub(crate) fn memory(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn write(&mut self, message: &Value) {
        self.process.tell(&message.to_string());
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.process.json().expect("the server has not ended");
            if message["id"] == id {
                return message;
            }
        }
    }
}
