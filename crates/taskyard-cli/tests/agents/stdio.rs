//! A server on pipes, spoken to in bare JSON-RPC.

use std::process::{ChildStdin, ExitStatus, Stdio};

use serde_json::{Value, json};
use taskyard_testkit::{Home, Process, Program};

/// A server on pipes.
pub(crate) struct Piped {
    process: Process,
    next: u64,
    /// What it said without being asked.
    pub(crate) said: Vec<Value>,
}

impl Piped {
    /// Starts a server in a home, with more flags.
    pub(crate) fn start(home: &Home, flags: &str) -> Self {
        Self::spawn(home.command(&format!("mcp {flags}")))
    }

    /// Starts a server from a command.
    pub(crate) fn spawn(mut command: Program) -> Self {
        command.stderr(Stdio::inherit());
        Self::spawn_quiet(command)
    }

    /// Starts a server from a command that says where complaints go.
    pub(crate) fn spawn_quiet(mut command: Program) -> Self {
        Self { process: command.stdin(Stdio::piped()).start(), next: 0, said: Vec::new() }
    }

    /// Initialises the connection in the older way.
    pub(crate) fn initialized(mut self) -> Self {
        let client = json!({ "name": "claude-code", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        self.ask("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        self
    }

    /// Returns the id of the process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Writes bytes as they are. A server that has ended cannot be written to.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let _ = self.process.write(bytes);
    }

    /// Takes the pipe to the server, to write to it from elsewhere.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.process.take_input()
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Sends a request and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    /// Waits for the next message; none when the server has ended.
    pub(crate) fn message(&mut self) -> Option<Value> {
        self.process.json()
    }

    /// Waits for the answer to a request; what comes before it is kept.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.message().unwrap_or_else(|| panic!("no answer to {id}"));
            if message.get("id").and_then(Value::as_u64) == Some(id) && message.get("method").is_none() {
                return message;
            }
            self.said.push(message);
        }
    }

    /// Asks and waits for the answer.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool and returns its text; an error among the answers is one of the test.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        text(&answer)
    }

    /// Closes the pipe, waits for the end of the server, and returns what else it said.
    pub(crate) fn close(mut self) -> (ExitStatus, Vec<Value>) {
        self.process.close_input();
        while let Some(message) = self.message() {
            self.said.push(message);
        }
        let status = self.process.wait();
        (status, std::mem::take(&mut self.said))
    }
}

/// Returns the text of the answer to a call.
pub(crate) fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}")).to_owned()
}
