//! The official clients, driven line by line.

use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::{Home, Process, Program, install_mcp_clients};

/// The generations of the protocol, each spoken by the official client of its time.
pub(crate) const GENERATIONS: [&str; 2] = ["initialize", "stateless"];

/// An official client and the server it is connected to.
pub(crate) struct Client {
    process: Process,
    next: u64,
    /// What came without being asked for.
    pub(crate) said: Vec<Value>,
}

impl Client {
    /// Connects to a server over pipes, in a home.
    pub(crate) fn over_pipes(home: &Home, flags: &str, generation: &str) -> Self {
        let command = home.command(&format!("mcp {flags}"));
        Self::with_command(&command, json!({ "generation": generation }))
    }

    /// Connects to the server a command starts, with further settings.
    pub(crate) fn with_command(command: &Program, mut settings: Value) -> Self {
        let words = command.arguments().map(|word| word.to_str().unwrap().to_owned());
        let variables = command.variables().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        settings["command"] = json!(command.program().to_str().unwrap());
        settings["args"] = words.collect();
        settings["env"] = variables.map(|(name, value)| (name.to_owned(), json!(value))).collect();
        settings["cwd"] = json!(command.directory().unwrap().to_str().unwrap());
        Self::connect(&settings)
    }

    /// Connects to a server over HTTP.
    pub(crate) fn over_http(url: &str, token: &str, generation: &str) -> Self {
        Self::connect(&json!({ "url": url, "token": token, "generation": generation }))
    }

    fn connect(settings: &Value) -> Self {
        let mut node = Program::new("node");
        let process = node.arg(install_mcp_clients().join("client.js")).stdin(Stdio::piped()).start();
        let mut client = Self { process, next: 0, said: Vec::new() };
        client.send(settings);
        let connected = client.line();
        assert_eq!(connected, json!({ "connected": true }), "{settings}");
        client
    }

    fn send(&mut self, line: &Value) {
        self.process.tell(&line.to_string());
    }

    fn line(&mut self) -> Value {
        self.process.json().expect("the client has not ended")
    }

    /// Asks without waiting; returns the number of the question.
    pub(crate) fn begin(&mut self, ask: &str, mut question: Value) -> u64 {
        self.next += 1;
        question["id"] = self.next.into();
        question["ask"] = ask.into();
        self.send(&question);
        self.next
    }

    /// Waits for the answer to a question.
    pub(crate) fn answer(&mut self, id: u64) -> Result<Value, Value> {
        loop {
            let line = self.line();
            if line["id"] == id && line.get("progress").is_none() {
                return match line.get("ok") {
                    Some(ok) => Ok(ok.clone()),
                    None => Err(line["error"].clone()),
                };
            }
            self.said.push(line);
        }
    }

    /// Asks and waits for the answer.
    pub(crate) fn ask(&mut self, ask: &str, with: Value) -> Result<Value, Value> {
        let id = self.begin(ask, json!({ "with": with }));
        self.answer(id)
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("callTool", json!({ "name": tool, "arguments": arguments })).unwrap()
    }

    /// Waits until something that was not asked for has come, and returns it.
    pub(crate) fn wait_until_said(&mut self, method: &str, uri: Option<&str>) {
        let is_it = |line: &Value| {
            line["said"]["method"] == method && uri.is_none_or(|uri| line["said"]["params"]["uri"] == uri)
        };
        while !self.said.iter().any(is_it) {
            let line = self.line();
            self.said.push(line);
        }
        self.said.clear();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The end of its input lets it close the connection, and the server end in order.
        self.process.close_input();
        if !std::thread::panicking() {
            self.process.wait();
        }
    }
}
