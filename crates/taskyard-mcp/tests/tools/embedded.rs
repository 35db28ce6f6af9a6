//! The server in a program that is not ours: the example, spoken to as an agent does.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;

use serde_json::{Value, json};
use taskyard_testkit::{PATIENCE, Process, Program, example, wait_until};

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

/// The example over HTTP.
struct Served {
    _server: Process,
    address: String,
}

impl Served {
    fn start() -> Self {
        let mut server = Program::new(example("taskyard-mcp", "embedded_http")).start();
        let told = server.json().expect("the server has not ended");
        let address = told["mcp"].as_str().unwrap().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        Self { address: address.to_owned(), _server: server }
    }

    /// Sends a request, and returns the status, the session and the body of the answer.
    fn ask(&self, method: &str, headers: &[(&str, &str)], body: &str) -> (u16, Option<String>, String) {
        let mut request = format!("{method} /mcp HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n");
        request.push_str("Accept: application/json, text/event-stream\r\n");
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        request.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).map(str::to_owned);
        (status, session, body.to_owned())
    }

    fn initialize(&self, headers: &[(&str, &str)]) -> (u16, Option<String>) {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let (status, session, _) = self.ask("POST", headers, &message.to_string());
        (status, session)
    }

    /// Opens a session as a program does.
    fn session(&self) -> String {
        let (status, session) = self.initialize(&[("Host", &self.address)]);
        assert_eq!(status, 200);
        let session = session.unwrap();
        let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        assert_eq!(self.ask("POST", &[("Host", &self.address), ("Mcp-Session-Id", &session)], &message).0, 202);
        session
    }

    fn call(&self, session: &str, tool: &str) -> String {
        let params = json!({ "name": tool, "arguments": {} });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.ask("POST", &[("Host", &self.address), ("Mcp-Session-Id", session)], &message.to_string()).2
    }
}

#[test]
fn a_page_of_another_host_gets_no_session() {
    let served = Served::start();
    let own = served.address.as_str();
    assert_eq!(served.initialize(&[("Host", "evil.example")]), (421, None));
    assert_eq!(served.initialize(&[("Host", own), ("Origin", "https://evil.example")]), (403, None));
    assert_eq!(served.initialize(&[("Host", own), ("Origin", "null")]), (403, None));
    assert_eq!(served.initialize(&[("Host", own), ("Origin", "http://localhost:3000")]).0, 200);
    assert_eq!(served.initialize(&[("Host", own)]).0, 200);
}

#[test]
fn tasks_come_back_when_the_session_of_their_agent_ends() {
    let served = Served::start();
    let (left, stays) = (served.session(), served.session());
    assert!(served.call(&left, "TaskClaim").contains("Claimed"));
    assert!(!served.call(&stays, "TaskClaim").contains("Claimed"));
    assert!(served.ask("DELETE", &[("Host", &served.address), ("Mcp-Session-Id", &left)], "").0 < 300);
    wait_until("the task", || served.call(&stays, "TaskClaim").contains("Claimed"));
}
