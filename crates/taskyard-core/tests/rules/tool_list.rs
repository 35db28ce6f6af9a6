//! What the list of tools costs a model before it has done anything.

use serde_json::{Value, json};
use taskyard_core::rules::hooks::System;
use taskyard_core::tools::catalogue::Surface;
use taskyard_core::tools::{Tool, ToolSet, catalogue};
use taskyard_core::{ClientVersion, Rules};

/// The most the tools of today may cost. 2,000 are promised; the rest is for the tools that come later.
const MOST: usize = 1600;

fn offered(set: ToolSet, system: System, rules: Rules) -> impl Iterator<Item = &'static Tool> {
    catalogue::offered(set, Surface { system, rules, runs_commands: false })
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

fn tokens(set: ToolSet, system: System, rules: Rules) -> usize {
    let tools: Vec<Value> = offered(set, system, rules).map(told).collect();
    let list = serde_json::to_string(&json!({ "tools": tools })).unwrap();
    tiktoken_rs::o200k_base_singleton().encode_ordinary(&list).len()
}

#[test]
fn the_default_list_of_tools_is_cheap() {
    for rules in RULES {
        let tasks = tokens(ToolSet::Core, System::Tasks, rules);
        assert!(tasks < MOST, "the list of tools costs {tasks} tokens");
        // A list that lost its tools would be cheap, too.
        assert!(tasks > 500, "the list of tools costs {tasks} tokens");
        assert!(tokens(ToolSet::Core, System::Todos, rules) < 600);
    }
}

#[test]
fn the_tools_for_claims_cost_little() {
    let claims = tokens(ToolSet::Claims, System::Tasks, Rules::Strict);
    assert!((100..350).contains(&claims), "the list of tools costs {claims} tokens");
}

/// The words with which each description says when the tool is used, or what for.
const WHEN: [(&str, &str); 15] = [
    ("TaskCreate", "Use it to plan work"),
    ("TaskGet", "Use it before you start on a task"),
    ("TaskUpdate", "Set in_progress when you begin and completed as soon as the work is entirely done"),
    ("TaskList", "Use it to see what there is, and after finishing a task"),
    ("TaskClaim", "Use it to get your next task and before you work on any task"),
    ("TaskRelease", "a task you claimed and cannot finish"),
    ("SendMessage", "Plain text outside of this tool reaches no one"),
    ("InboxRead", "Read the messages your team wrote to you"),
    ("ListAgents", "whom you can write to with SendMessage"),
    ("TeamCreate", "if several agents will work on one task list"),
    ("TeamDelete", "once its members have left"),
    ("TodoWrite", "Use it to plan and show work of three or more steps"),
    ("TaskRun", "for builds, tests and servers that take longer than you want to wait"),
    ("TaskOutput", "not of a task of the list"),
    ("TaskStop", "Stop a running background command"),
];

const RULES: [Rules; 3] =
    [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), Rules::Client(ClientVersion::V2_1_325)];

/// Returns every tool there is under these rules, in the client's systems and in other dialects.
fn all_in(rules: Rules) -> impl Iterator<Item = &'static Tool> {
    let systems = [System::Tasks, System::Todos, System::Document, System::Teaching, System::Export];
    let surface = move |system| Surface { system, rules, runs_commands: true };
    systems.into_iter().flat_map(move |system| catalogue::offered(ToolSet::All, surface(system)))
}

#[test]
fn a_description_is_short_and_says_when_to_use_the_tool() {
    for tool in RULES.into_iter().flat_map(all_in) {
        assert!(tool.description.len() < 600, "{}: {} characters", tool.name, tool.description.len());
        assert!(!tool.description.contains("  "), "{}: a line break left spaces", tool.name);
        if tool.system.is_the_clients() {
            let (_, when) = WHEN.iter().find(|(name, _)| *name == tool.name).unwrap();
            assert!(tool.description.contains(when), "{}: {}", tool.name, tool.description);
        }
    }
}

#[test]
fn a_description_is_true_in_the_rules_it_is_served_in() {
    let description = |name: &str, rules| all_in(rules).find(|tool| tool.name == name).map(|tool| tool.description);
    let says = |name: &str, words: &str| RULES.map(|rules| description(name, rules).map(|told| told.contains(words)));
    assert_eq!(says("TaskClaim", "it sets owner and in_progress"), [Some(true), Some(false), Some(false)]);
    assert_eq!(says("TaskClaim", "it sets the owner alone"), [Some(false), Some(true), Some(true)]);
    assert_eq!(says("TeamDelete", "its tasks stay"), [Some(true), Some(false), None]);
    assert_eq!(says("TeamDelete", "with every task in it"), [Some(false), Some(true), None]);
    assert_eq!(says("TeamCreate", "which is emptied first"), [Some(false), Some(true), None]);
    assert_eq!(says("TaskCreate", "starts pending and unowned"), [Some(false), Some(true), Some(true)]);
    assert_eq!(says("TaskGet", "notes"), [Some(true), Some(false), Some(false)]);
    // Answers tell of ended jobs under strict rules alone, and the newest client has no `TaskOutput`.
    assert_eq!(says("TaskRun", "You are told when it ends"), [Some(true), Some(false), Some(false)]);
    assert_eq!(says("TaskRun", "TaskOutput"), [Some(true), Some(true), Some(false)]);
}

#[test]
fn the_schemas_of_the_clients_tools_are_the_clients() {
    let text = || json!({ "type": "string" });
    let said = |words: &str| json!({ "type": "string", "description": words });
    let statuses = json!({ "type": "string", "enum": ["pending", "in_progress", "completed"] });
    let object = |properties: Value, required: &[&str]| {
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["additionalProperties"] = false.into();
        schema
    };
    let metadata = json!({ "type": "object", "additionalProperties": {} });
    let mut described = metadata.clone();
    described["description"] = "Arbitrary metadata to attach to the task".into();
    let filled = json!({ "type": "string", "minLength": 1 });
    let item = object(
        json!({ "content": filled, "status": statuses, "activeForm": filled }),
        &["content", "status", "activeForm"],
    );
    let expected = [
        (
            "TaskCreate",
            object(
                json!({
                    "subject": said("A brief title for the task"),
                    "description": said("A detailed description of what needs to be done"),
                    "activeForm":
                        said("Present continuous form shown in spinner when in_progress (e.g., \"Running tests\")"),
                    "metadata": described,
                }),
                &["subject", "description"],
            ),
        ),
        ("TaskGet", object(json!({ "taskId": said("The ID of the task to retrieve") }), &["taskId"])),
        (
            "TaskUpdate",
            object(
                json!({
                    "taskId": said("The ID of the task to update"),
                    "subject": text(), "description": text(), "activeForm": text(),
                    "status": {"anyOf": [statuses, {"type": "string", "const": "deleted"}]},
                    "addBlocks": {"type": "array", "items": text()},
                    "addBlockedBy": {"type": "array", "items": text()},
                    "owner": text(),
                    "metadata": metadata,
                }),
                &["taskId"],
            ),
        ),
        ("TaskList", object(json!({}), &[])),
        (
            "TodoWrite",
            object(
                json!({ "todos": {"type": "array", "items": item, "description": "The updated todo list"} }),
                &["todos"],
            ),
        ),
        (
            "TaskOutput",
            object(
                json!({
                    "task_id": said("The task ID to get output from"),
                    "block": {"type": "boolean", "description": "Whether to wait for completion", "default": true},
                    "timeout": {
                        "type": "number", "minimum": 0, "maximum": 600_000, "description": "Max wait time in ms",
                        "default": 30_000,
                    },
                }),
                &["task_id", "block", "timeout"],
            ),
        ),
        ("TaskStop", object(json!({ "task_id": text(), "shell_id": said("Deprecated: task_id") }), &[])),
    ];
    for rules in &RULES[1..] {
        for (name, schema) in &expected {
            let tool = all_in(*rules).find(|tool| tool.name == *name && tool.system.is_the_clients());
            // The newest client has no `TaskOutput`.
            let Some(tool) = tool else {
                assert_eq!((*name, *rules), ("TaskOutput", RULES[2]));
                continue;
            };
            assert_eq!(tool.input_schema(), *schema, "{name}");
        }
    }
}

#[test]
fn tool_answers_have_the_shape_the_client_gives() {
    for rules in RULES {
        let shape = |name: &str| {
            let tool = all_in(rules).find(|tool| tool.name == name && tool.system.is_the_clients()).unwrap();
            tool.output_schema()
        };
        for (name, required) in [
            ("TodoWrite", json!(["oldTodos", "newTodos"])),
            ("TaskCreate", json!(["task"])),
            ("TaskGet", json!(["task"])),
            ("TaskUpdate", json!(["success", "taskId", "updatedFields"])),
            ("TaskList", json!(["tasks"])),
        ] {
            assert_eq!((&shape(name)["type"], &shape(name)["required"]), (&json!("object"), &required), "{name}");
        }
        assert_eq!(shape("TodoWrite")["properties"]["oldTodos"]["description"], "The todo list before the update");
        assert_eq!(shape("TodoWrite")["properties"]["newTodos"]["description"], "The todo list after the update");
        assert_eq!(shape("TaskCreate")["properties"]["task"]["required"], json!(["id", "subject"]));
        let found = &shape("TaskGet")["properties"]["task"]["anyOf"];
        assert_eq!(found[0]["required"], json!(["id", "subject", "description", "status", "blocks", "blockedBy"]));
        assert_eq!(found[1], json!({ "type": "null" }));
        let listed = &shape("TaskList")["properties"]["tasks"]["items"];
        assert_eq!(listed["required"], json!(["id", "subject", "status", "blockedBy"]));
        let optional = ["error", "statusChange"].map(|key| shape("TaskUpdate")["properties"][key]["type"].clone());
        assert_eq!(optional, [json!("string"), json!("object")]);
        assert_eq!(shape("TaskUpdate")["properties"]["statusChange"]["required"], json!(["from", "to"]));
    }
}
