//! A command, the API and a tool that do the same answer the same.

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::mcp::http::{Line, Served};
use crate::stdio::Piped;

/// The three ways to change a list, as one agent.
struct Ways {
    home: Home,
    served: Served,
    api: Line,
    tools: Piped,
}

impl Ways {
    /// Opens the ways to a list in which ana has #1, #2 to #4 are free, and #5 waits for #1.
    fn open() -> Self {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard")).strict();
        for subject in ["Held", "One", "Two", "Three"] {
            home.ask(&format!("create {subject}"));
        }
        home.ask("create Waiting --blocked-by 1");
        home.ask("claim 1 --as ana");
        let served = Served::start(&home);
        let tools = Piped::start(&home, "--structured --as ben").initialized();
        Self { api: served.line("ben"), tools, served, home }
    }

    fn command(&self, words: &str) -> Value {
        self.home.run(&format!("{words} --as ben --json")).json()
    }

    fn api(&mut self, path: &str) -> (u16, Value) {
        let proof = format!("Bearer {}", self.served.token);
        let headers = [("Host", self.served.address.as_str()), ("Authorization", &proof), ("Taskyard-Agent", "ben")];
        let response = self.api.ask_for(&format!("POST /api/v1/lists/L/tasks/{path} HTTP/1.1"), &headers);
        (response.status, serde_json::from_str(&response.body).unwrap_or_else(|error| panic!("{error}: {response:?}")))
    }

    /// Calls a tool. Its structured content names no schema.
    fn tool(&mut self, name: &str, id: &str) -> Value {
        let called = self.tools.ask("tools/call", json!({ "name": name, "arguments": { "taskId": id } }));
        let mut answer = called["result"]["structuredContent"].clone();
        answer["schema"] = json!("taskyard/1");
        answer
    }
}

fn keys(answer: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn lost_claim_is_answered_alike_by_command_api_and_tool() {
    let mut ways = Ways::open();
    for (id, reason, status) in [("1", "already_claimed", 409), ("5", "blocked", 409), ("99", "task_not_found", 404)] {
        let command = ways.command(&format!("claim {id}"));
        assert_eq!((&command["claimed"], &command["reason"]), (&json!(false), &json!(reason)));
        assert_eq!((&command["error"]["code"], &command["error"]["task"]), (&json!(reason), &json!(id)));
        assert_eq!(ways.api(&format!("{id}/claim")), (status, command.clone()));
        assert_eq!(ways.tool("TaskClaim", id), command);
    }
}

#[test]
fn claim_and_release_have_the_same_keys_all_three_ways() {
    let mut ways = Ways::open();
    for (word, tool) in [("claim", "TaskClaim"), ("release", "TaskRelease")] {
        let command = ways.command(&format!("{word} 2"));
        let (status, api) = ways.api(&format!("3/{word}"));
        let tool = ways.tool(tool, "4");
        assert_eq!((status, &api["task"]["id"]), (200, &json!("3")));
        assert_eq!((keys(&api), keys(&tool)), (keys(&command), keys(&command)));
        assert_eq!((keys(&api["task"]), keys(&tool["task"])), (keys(&command["task"]), keys(&command["task"])));
    }
}
