//! The server in a program that is not ours: the example, spoken to as an agent does.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::{Process, Program, example};

struct Agent {
    server: Process,
    asked: u64,
}

impl Agent {
    fn start() -> Self {
        let program = example("taskyard-mcp", "embedded");
        let mut agent = Self { server: Program::new(program).stdin(Stdio::piped()).start(), asked: 0 };
        let client = json!({ "name": "test", "version": "1" });
        agent.ask("initialize", json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client }));
        agent.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    fn say(&mut self, message: &Value) {
        self.server.tell(&message.to_string());
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        loop {
            let answer = self.server.json().expect("the server has not ended");
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

    assert!(agent.server.wait().success());
}
