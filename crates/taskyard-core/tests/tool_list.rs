//! What the list of tools costs a model before it has done anything.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use serde_json::{Value, json};
use taskyard_core::rules::hooks::gate::System;
use taskyard_core::tools::catalogue::{self, Surface};
use taskyard_core::tools::{Tool, ToolSet};
use taskyard_core::{ClientVersion, Rules};

/// The most the tools of today may cost. 2,000 are promised; the rest is for the tools that come later.
const MOST: usize = 1600;

fn offered(set: ToolSet, system: System) -> impl Iterator<Item = &'static Tool> {
    catalogue::offered(set, Surface { system, rules: Rules::Strict, runs_commands: set == ToolSet::All })
}

/// Returns a tool as `tools/list` tells of it.
fn told(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema(),
        "annotations": {
            "readOnlyHint": tool.annotations.read_only,
            "destructiveHint": tool.annotations.destructive,
            "idempotentHint": tool.annotations.idempotent,
            "openWorldHint": false,
        },
    })
}

fn tokens(system: System) -> usize {
    let tools: Vec<Value> = offered(ToolSet::Core, system).map(told).collect();
    let list = serde_json::to_string(&json!({ "tools": tools })).unwrap();
    tiktoken_rs::o200k_base_singleton().encode_ordinary(&list).len()
}

#[test]
fn the_default_list_of_tools_is_cheap() {
    let tasks = tokens(System::Tasks);
    assert!(tasks < MOST, "the list of tools costs {tasks} tokens");
    // A list that lost its tools would be cheap, too.
    assert!(tasks > 500, "the list of tools costs {tasks} tokens");
    assert!(tokens(System::Todos) < 600);
}

#[test]
fn a_description_is_short_and_says_when_to_use_the_tool() {
    for tool in offered(ToolSet::All, System::Tasks).chain(offered(ToolSet::All, System::Todos)) {
        assert!(tool.description.len() < 600, "{}: {} characters", tool.name, tool.description.len());
        assert!(!tool.description.contains("  "), "{}: a line break left spaces", tool.name);
    }
}

#[test]
fn the_schemas_of_the_clients_tools_are_the_clients() {
    let schema = |name: &str| {
        let found = offered(ToolSet::All, System::Tasks).chain(offered(ToolSet::All, System::Todos));
        let mut schema = found.into_iter().find(|tool| tool.name == name).unwrap().input_schema();
        without_descriptions(&mut schema);
        schema
    };
    let text = || json!({ "type": "string" });
    // In strict rules it also takes a note.
    assert_eq!(schema("TaskUpdate")["properties"]["note"], text());
    let surface =
        Surface { system: System::Tasks, rules: Rules::Client(ClientVersion::V2_1_325), runs_commands: false };
    let clients = catalogue::offered(ToolSet::Core, surface).find(|tool| tool.name == "TaskUpdate").unwrap();
    let mut clients = clients.input_schema();
    without_descriptions(&mut clients);
    assert_eq!(
        clients,
        json!({
            "type": "object",
            "properties": {
                "taskId": text(), "subject": text(), "description": text(), "activeForm": text(),
                "status": {"anyOf": [
                    {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    {"type": "string", "const": "deleted"},
                ]},
                "addBlocks": {"type": "array", "items": text()},
                "addBlockedBy": {"type": "array", "items": text()},
                "owner": text(),
                "metadata": {"type": "object", "additionalProperties": {}},
            },
            "required": ["taskId"],
            "additionalProperties": false,
        })
    );
    assert_eq!(schema("TaskList"), json!({ "type": "object", "properties": {}, "additionalProperties": false }));
    assert_eq!(
        schema("TaskOutput"),
        json!({
            "type": "object",
            "properties": {
                "task_id": text(),
                "block": {"type": "boolean", "default": true},
                "timeout": {"type": "number", "minimum": 0, "maximum": 600_000, "default": 30_000},
            },
            "required": ["task_id", "block", "timeout"],
            "additionalProperties": false,
        })
    );
    let stop = json!({ "task_id": text(), "shell_id": text() });
    assert_eq!(schema("TaskStop"), json!({ "type": "object", "properties": stop, "additionalProperties": false }));
    assert_eq!(
        schema("TodoWrite")["properties"]["todos"]["items"],
        json!({
            "type": "object",
            "properties": {
                "content": {"type": "string", "minLength": 1},
                "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                "activeForm": {"type": "string", "minLength": 1},
            },
            "required": ["content", "status", "activeForm"],
            "additionalProperties": false,
        })
    );
}

/// Takes the texts out of a schema. A property may be called `description`, so only texts count.
fn without_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.retain(|key, value| key != "description" || !value.is_string());
            object.values_mut().for_each(without_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_descriptions),
        _ => {}
    }
}
