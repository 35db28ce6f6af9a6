//! The server in a program that is not ours: the example, spoken to as an agent does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use taskyard_testkit::example;

struct Agent {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Agent {
    fn start() -> Self {
        let program = example("taskyard-mcp", "embedded");
        let mut server = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        let mut agent = Self { server, input, output, asked: 0 };
        let client = json!({ "name": "test", "version": "1" });
        agent.ask("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }));
        agent.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == json!(self.asked) {
                return answer["result"].clone();
            }
        }
    }

    fn call(&mut self, tool: &str, input: Value) -> String {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": input }));
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

#[test]
fn a_program_offers_a_list_of_its_own() {
    let mut agent = Agent::start();
    let tools = agent.ask("tools/list", json!({}));
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"TaskCreate") && names.contains(&"TaskClaim") && !names.contains(&"TaskRun"), "{names:?}");

    assert!(agent.call("TaskList", json!({})).contains("Design the schema"));
    let created = agent.call("TaskCreate", json!({ "subject": "Write the API", "description": "all of it" }));
    assert!(created.contains("#2"), "{created}");
    let claimed = agent.call("TaskClaim", json!({}));
    assert!(claimed.contains("Design the schema"), "{claimed}");
    let done = agent.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert!(done.contains("#1"), "{done}");

    let Agent { mut server, input, .. } = agent;
    drop(input);
    assert!(server.wait().unwrap().success());
}
