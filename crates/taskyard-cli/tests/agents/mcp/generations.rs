//! Both generations of the protocol over both transports, as the official clients and the inspector see them. The clients check
//! every answer against the protocol's schemas.

use serde_json::{Value, json};
use taskyard::core::{ClientVersion, Rules};
use taskyard_testkit::{Home, Program, install_mcp_clients, rules_under_test};

use crate::mcp::client::{Client, GENERATIONS};
use crate::mcp::http::Served;

const TOOLS: [&str; 8] =
    ["TaskCreate", "TaskGet", "TaskUpdate", "TaskList", "TaskClaim", "TaskRelease", "TaskOutput", "TaskStop"];

/// Returns those of these tools that are offered: the newest client has no `TaskOutput`.
fn known(tools: &[&'static str]) -> Vec<&'static str> {
    let is_gone = |tool: &str| tool == "TaskOutput" && rules_under_test() == Rules::Client(ClientVersion::V2_1_325);
    tools.iter().copied().filter(|tool| !is_gone(tool)).collect()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

/// Asks for everything there is.
fn exercise(client: &mut Client) {
    let tools = client.ask("listTools", json!({})).unwrap();
    assert_eq!(names(&tools["tools"]), known(&TOOLS));
    for tool in tools["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(
            tool["annotations"]["readOnlyHint"],
            ["TaskGet", "TaskList", "TaskOutput"].contains(&tool["name"].as_str().unwrap())
        );
    }
    let made = client.call("TaskCreate", &json!({ "subject": "One", "description": "all of it" }));
    assert_eq!(made["content"], json!([{ "type": "text", "text": "Task #1 created successfully: One" }]));
    assert_eq!(made.get("structuredContent"), None);
    let unknown = client.call("TaskCrate", &json!({}));
    assert_eq!(
        (&unknown["isError"], &unknown["content"][0]["text"]),
        (&json!(true), &json!("Error: No such tool available: TaskCrate"))
    );

    let resources = client.ask("listResources", json!({})).unwrap();
    assert_eq!(names(&resources["resources"]), ["list", "graph", "notifications", "task 1"]);
    let templates = client.ask("listResourceTemplates", json!({})).unwrap();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "taskyard://task/{id}");
    let mut read =
        |uri: &str| client.ask("readResource", json!({ "uri": uri })).map(|read| read["contents"][0]["text"].clone());
    assert_eq!(read("taskyard://list"), Ok(json!("#1 [pending] One")));
    assert_eq!(read("taskyard://task/1"), Ok(json!("Task #1: One\nStatus: pending\nDescription: all of it")));
    assert!(read("taskyard://graph").unwrap().as_str().unwrap().starts_with("flowchart"));
    for missing in ["taskyard://task/7", "taskyard://task/", "file:///etc/passwd", "taskyard://task/../../x"] {
        assert!(read(missing).is_err(), "{missing}");
    }

    let prompts = client.ask("listPrompts", json!({})).unwrap();
    assert_eq!(names(&prompts["prompts"]), ["plan", "next"]);
    let plan = client.ask("getPrompt", json!({ "name": "plan", "arguments": { "goal": "Ship it" } })).unwrap();
    assert!(plan["messages"][0]["content"]["text"].as_str().unwrap().ends_with("Ship it"));
    assert!(client.ask("getPrompt", json!({ "name": "plan" })).is_err());
}

#[test]
fn both_generations_are_served_over_pipes() {
    for generation in GENERATIONS {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        exercise(&mut Client::over_pipes(&home, "", generation));
    }
}

#[test]
fn both_generations_are_served_over_http() {
    for generation in GENERATIONS {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let served = Served::start(&home);
        exercise(&mut Client::over_http(&served.url(), &served.token, generation));
    }
}

#[test]
fn exactly_one_of_the_two_systems_is_offered() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    for (word, offered, other) in [
        ("0", &["TodoWrite", "TaskOutput", "TaskStop"][..], "TaskList"),
        ("on", &TOOLS[..], "TodoWrite"),
        ("perhaps", &TOOLS, "TodoWrite"),
    ] {
        let mut command = home.command("mcp");
        command.env("CLAUDE_CODE_ENABLE_TASKS", word);
        let mut client = Client::with_command(&command, json!({}));
        let tools = client.ask("listTools", json!({})).unwrap();
        assert_eq!(names(&tools["tools"]), known(offered), "{word}");
        let refused = client.call(other, &json!({}));
        assert_eq!(refused["content"][0]["text"], format!("Error: No such tool available: {other}"));
    }
}

#[test]
fn the_inspector_lists_and_calls_over_both_transports() {
    let over_pipes = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let server = [env!("CARGO_BIN_EXE_taskyard"), "mcp", "--list", "L"];
    inspected(&over_pipes, &server.map(str::to_owned));
    let over_http = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let served = Served::start(&over_http);
    let header = format!("Authorization: Bearer {}", served.token);
    inspected(&over_http, &[served.url(), "--transport".to_owned(), "http".to_owned(), "--header".to_owned(), header]);
}

fn inspected(home: &Home, server: &[String]) {
    let inspector =
        install_mcp_clients().join("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js");
    let inspect = |words: &[&str]| -> Value {
        let mut node = Program::new("node");
        node.arg(&inspector).arg("--cli").args(server).args(words);
        node.env("HOME", home.path()).current_dir(home.path());
        let output = node.output();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    for era in ["legacy", "modern"] {
        // With `--strict` it fails on schemas that are not portable.
        let list = inspect(&["--method", "tools/list", "--strict", "--protocol-era", era]);
        assert_eq!(names(&list["tools"]), TOOLS, "{era}");
    }
    let call = ["--method", "tools/call", "--tool-name", "TaskCreate", "--tool-arg", "subject=One", "description=x"];
    assert_eq!(inspect(&call)["content"][0]["text"], "Task #1 created successfully: One");
    assert_eq!(
        names(&inspect(&["--method", "resources/list"])["resources"]),
        ["list", "graph", "notifications", "task 1"]
    );
    assert_eq!(names(&inspect(&["--method", "prompts/list"])["prompts"]), ["plan", "next"]);
}
