//! Every schema that is advertised is one that its own tool takes: inputs are made from the schema of every tool, in every set,
//! dialect and version, and none is refused as malformed. Keys beyond the schema are refused by name under strict rules.
//!
//! Full scale: `TASKYARD_TEST_SCALE=1 cargo test -p taskyard --test advertised_schemas`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any};
use proptest::strategy::{Union, ValueTree as _};
use proptest::string::string_regex;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use taskyard::core::dialect::native::Shape;
use taskyard::core::rules::hooks::System;
use taskyard::core::tools::catalogue::Surface;
use taskyard::core::tools::{Answer, Scope, ToolSet, catalogue, task_run};
use taskyard::core::{AgentName, ClientVersion, ListId, Rules, Status, Task, TaskId};
use taskyard::operations::{Filter, NewTask};
use taskyard::store::{
    DocumentOptions, DocumentPaths, MemoryStore, TeachingOptions, TeachingPaths, open_documents, open_teaching,
};
use taskyard::teams::{FileTeamsOptions, TeamCaller, Teams};
use taskyard::{Outcome, Store, Yard};
use taskyard_mcp::calls::Toolbox;
use taskyard_testkit::{Scale, folder_in_memory};

const SYSTEMS: [System; 5] = [System::Tasks, System::Todos, System::Document, System::Teaching, System::Export];
const RULES: [Rules; 3] =
    [Rules::Strict, Rules::Client(ClientVersion::V2_1_34), Rules::Client(ClientVersion::V2_1_325)];
const SETS: [ToolSet; 3] = [ToolSet::Core, ToolSet::Team, ToolSet::All];

/// Returns what a schema allows.
fn values(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(shapes) = schema.get("anyOf").and_then(Value::as_array) {
        return Union::new(shapes.iter().map(values)).boxed();
    }
    if let Some(word) = schema.get("const") {
        return Just(word.clone()).boxed();
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return proptest::sample::select(words.clone()).boxed();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => {
            let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or_default();
            string_regex(&format!("[#*a-z0-9 \n\"é😀]{{{least},12}}")).unwrap().prop_map(Value::String).boxed()
        }
        Some("boolean") => any::<bool>().prop_map(Value::Bool).boxed(),
        Some("number") => {
            let bound = |name: &str| schema[name].as_f64().unwrap();
            (bound("minimum")..=bound("maximum")).prop_map(|number| json!(number)).boxed()
        }
        Some("array") => vec(values(&schema["items"]), 0..4).prop_map(Value::Array).boxed(),
        Some("object") => objects(schema),
        _ => panic!("nothing can be made from {schema}"),
    }
}

fn objects(schema: &Value) -> BoxedStrategy<Value> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let fields: Vec<BoxedStrategy<Option<(String, Value)>>> = properties
        .iter()
        .map(|(key, schema)| {
            let is_required = required.contains(&key.as_str());
            let key = key.clone();
            let field = values(schema).prop_map(move |value| (key.clone(), value));
            match is_required {
                true => field.prop_map(Some).boxed(),
                false => proptest::option::of(field).boxed(),
            }
        })
        .collect();
    let others = match schema["additionalProperties"] {
        Value::Bool(false) => 0..1,
        _ => 0..3,
    };
    let other = ("[A-Z]{1,4}", proptest::sample::select(vec![json!(1), json!("x"), json!([true]), json!({"a": null})]));
    (fields, vec(other, others))
        .prop_map(|(fields, others)| Value::Object(fields.into_iter().flatten().chain(others).collect()))
        .boxed()
}

/// Returns an input with what the older client wants of a message of its type and says in its description alone. Its schema wants nothing but
/// the type.
fn filled(mut input: Value) -> Value {
    let needed: &[(&str, Value)] = match input["type"].as_str() {
        Some("message") => &[("recipient", json!("ben")), ("content", json!("x")), ("summary", json!("x"))],
        Some("broadcast") => &[("content", json!("x")), ("summary", json!("x"))],
        Some("shutdown_request") => &[("recipient", json!("ben"))],
        Some("shutdown_response") => &[("request_id", json!("x")), ("approve", json!(true))],
        Some("plan_approval_response") => {
            &[("request_id", json!("x")), ("recipient", json!("ben")), ("approve", json!(true))]
        }
        _ => &[],
    };
    for (key, value) in needed {
        if input.get(key).is_none() {
            input[*key] = value.clone();
        }
    }
    input
}

/// Returns the tools of an agent in a store of the system's own kind, in a folder of its own.
fn toolbox(folder: &Path, system: System, rules: Rules) -> Toolbox {
    Toolbox::new(yard(folder, system, rules), system)
}

fn yard(folder: &Path, system: System, rules: Rules) -> Yard {
    let data = folder.join("data");
    let store: Arc<dyn Store> = match system {
        System::Document => {
            let paths = DocumentPaths::File(folder.join("tasks.json"));
            open_documents(DocumentOptions { paths, data: data.clone(), rules })
        }
        System::Teaching => {
            let paths = TeachingPaths::Folder(folder.join(".tasks"));
            open_teaching(TeachingOptions { paths, data: data.clone(), rules })
        }
        System::Tasks | System::Todos | System::Export => Arc::new(MemoryStore::new(rules)),
    };
    let teams = FileTeamsOptions { root: folder.join("teams"), tasks: folder.join("tasks"), data, rules };
    let yard = Yard::new(store, ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
    yard.with_rules(rules).with_teams(Arc::new(Teams::new(teams, TeamCaller::default())))
}

fn inputs_of_each() -> usize {
    Scale::from_environment(0.05).of(500)
}

#[test]
fn no_input_that_is_made_from_a_schema_is_refused_as_malformed() {
    let mut runner = TestRunner::deterministic();
    let mut called = BTreeSet::new();
    for (system, rules) in SYSTEMS.into_iter().flat_map(|system| RULES.map(|rules| (system, rules))) {
        let folder = folder_in_memory();
        let tools = toolbox(folder.path(), system, rules);
        let surface = Surface { system, rules, runs_commands: true };
        for (set, tool) in
            SETS.into_iter().flat_map(|set| catalogue::offered(set, surface).map(move |tool| (set, tool)))
        {
            let inputs = values(&tool.input_schema());
            let outputs = jsonschema::draft202012::new(&tool.output_schema()).unwrap();
            for _ in 0..inputs_of_each() {
                let input = filled(inputs.new_tree(&mut runner).unwrap().current());
                let told = format!("{} of {set:?} in {system:?}, {rules:?}: {input}", tool.name);
                if tool.name == task_run::TOOL.name {
                    // A command is read and not run.
                    assert!(task_run::read(&input, rules).is_ok(), "{told}");
                    continue;
                }
                let answer = tools.call(tool.name, &input).unwrap();
                let is_malformed = answer.text.starts_with("InputValidationError");
                assert!(!is_malformed && !answer.text.contains("No such tool"), "{told}\n{}", answer.text);
                let structured = answer.structured.as_ref().filter(|structured| structured.is_object());
                assert!(answer.is_error || structured.is_some(), "{told}: no structure");
                let wrong = structured.and_then(|structured| outputs.validate(structured).err());
                assert!(wrong.is_none(), "{told}\n{structured:?}\n{wrong:?}");
            }
            called.insert((format!("{system:?}"), tool.name));
        }
    }
    assert!(called.len() >= 30, "{called:?}");
}

/// Keys that models send though no tool, or another one, has them; each with values of the type it would have.
fn plausible_keys() -> Vec<(&'static str, Vec<Value>)> {
    let texts = [
        "activeForm",
        "active_form",
        "activity",
        "agent",
        "agent_id",
        "agentId",
        "assigned_to",
        "assignedTo",
        "assignee",
        "bash_id",
        "body",
        "category",
        "command",
        "comment",
        "content",
        "cwd",
        "deadline",
        "defer",
        "description",
        "details",
        "due",
        "dueDate",
        "due_date",
        "epic",
        "estimate",
        "feedback",
        "format",
        "id",
        "job_id",
        "kind",
        "label",
        "list",
        "listId",
        "message",
        "name",
        "note",
        "notes",
        "owner",
        "parent",
        "parentId",
        "parent_id",
        "parentTaskId",
        "plan",
        "priority",
        "project",
        "prompt",
        "reason",
        "recipient",
        "request_id",
        "severity",
        "shell_id",
        "sort",
        "state",
        "status",
        "subagent_type",
        "subject",
        "summary",
        "task",
        "taskId",
        "task_id",
        "team",
        "team_name",
        "text",
        "title",
        "to",
        "token",
        "type",
        "urgency",
        "user",
    ];
    let lists = [
        "acknowledge",
        "addBlockedBy",
        "addBlocks",
        "add_blocked_by",
        "add_blocks",
        "after",
        "assignees",
        "before",
        "blockedBy",
        "blocked_by",
        "blocks",
        "checklist",
        "dependencies",
        "dependents",
        "dependsOn",
        "depends_on",
        "deps",
        "files",
        "ids",
        "labels",
        "prerequisites",
        "removeBlockedBy",
        "removeBlocks",
        "requires",
        "steps",
        "subtasks",
        "tag",
        "tags",
        "taskIds",
        "tasks",
        "todos",
    ];
    let flags = ["all", "approve", "block", "cancelled", "completed", "done", "force", "include_completed", "reserve"];
    let numbers = ["estimate", "limit", "offset", "order", "position", "progress", "timeout", "timeout_ms"];
    let objects = ["custom_fields", "fields", "meta", "metadata", "params", "task"];
    let valued = |key: &'static str| match key {
        "priority" | "severity" | "urgency" => vec![json!("high")],
        "status" | "state" => vec![json!("in_progress"), json!("done")],
        "due" | "dueDate" | "due_date" | "deadline" => vec![json!("2027-01-02")],
        _ => vec![json!("1"), json!("zz")],
    };
    let texts = texts.into_iter().map(|key| (key, valued(key)));
    let lists = lists.into_iter().map(|key| {
        // The second of three tasks waits for the first, and the third for the second.
        let id = if ["addBlockedBy", "removeBlocks"].contains(&key) { "3" } else { "1" };
        (key, vec![json!([id])])
    });
    let flags = flags.into_iter().map(|key| (key, vec![json!(true)]));
    let numbers = numbers.into_iter().map(|key| (key, vec![json!(1)]));
    let objects = objects.into_iter().map(|key| (key, vec![json!({"x": 1})]));
    texts.chain(lists).chain(flags).chain(numbers).chain(objects).collect()
}

/// Returns an input that a tool takes; `ids` are those of three tasks, each of which waits for the one before.
fn plain_input(system: System, tool: &str, ids: &[String]) -> Value {
    match (system, tool) {
        (System::Document, "TodoWrite") => json!({ "description": "D" }),
        (_, "TodoWrite") => json!({ "todos": [{"content": "c", "status": "pending", "activeForm": "a"}] }),
        (System::Export, "TaskCreate") | (_, "create_task") => json!({ "subject": "S" }),
        (System::Export, "TaskUpdate") => json!({ "id": ids[1], "status": "pending" }),
        (_, "TaskCreate") => json!({ "subject": "S", "description": "D" }),
        (_, "TaskGet" | "TaskUpdate" | "TaskRelease" | "TaskClaim") => json!({ "taskId": "2" }),
        (_, "get_task" | "claim_task" | "complete_task") => json!({ "task_id": ids[1] }),
        (_, "SendMessage") => json!({ "to": "ben", "message": "m" }),
        (_, "TaskOutput" | "TaskStop") => json!({ "task_id": "b1" }),
        (_, "TaskRun") => json!({ "command": "true" }),
        (_, "TeamCreate") => json!({ "team_name": "t" }),
        _ => json!({}),
    }
}

/// Tools on a list of three tasks, each of which waits for the one before.
struct World {
    _folder: tempfile::TempDir,
    yard: Yard,
    tools: Toolbox,
}

impl World {
    fn new(system: System) -> Self {
        let folder = folder_in_memory();
        let yard = yard(folder.path(), system, Rules::Strict);
        let mut before = Vec::new();
        for subject in ["A", "B", "C"] {
            let new = NewTask { subject: subject.to_owned(), blocked_by: before, ..NewTask::default() };
            let Outcome::Done(created) = yard.create(new).unwrap() else { panic!("{subject} is not made") };
            before = vec![created.task.id];
        }
        Self { _folder: folder, tools: Toolbox::new(yard.clone(), system), yard }
    }

    fn tasks(&self) -> Vec<Task> {
        self.yard.list(&Filter::default()).unwrap().tasks
    }

    fn call(&self, tool: &str, input: &Value) -> Answer {
        if tool == task_run::TOOL.name {
            // A command is read and not run.
            return task_run::read(input, Rules::Strict).map_or_else(Answer::from, |_| Answer::error("read"));
        }
        self.tools.call(tool, input).unwrap()
    }
}

/// Returns an input with one more key.
fn with_key(input: &Value, key: &str, value: &Value) -> Value {
    let mut input = input.clone();
    input[key] = value.clone();
    input
}

fn names(answer: &Answer, key: &str) -> bool {
    let text = &answer.text;
    answer.is_error
        && [format!("`{key}`"), format!(".{key}`"), format!("\"{key}\"")].iter().any(|name| text.contains(name))
}

#[test]
fn no_tool_ignores_a_key_that_a_model_may_send() {
    let (mut refused, mut honoured) = (0, 0);
    for system in SYSTEMS {
        let surface = Surface { system, rules: Rules::Strict, runs_commands: true };
        let world = World::new(system);
        let before = world.tasks();
        let ids: Vec<String> = before.iter().map(|task| task.id.to_string()).collect();
        for tool in catalogue::offered(ToolSet::All, surface) {
            let plain = plain_input(system, tool.name, &ids);
            let schema = tool.input_schema();
            let hidden: &[&str] = match (system, tool.name) {
                (System::Tasks, "TaskCreate") => &["addBlockedBy", "dependencies", "addBlocks", "active_form"],
                (System::Tasks, "TaskUpdate") => &["active_form"],
                _ => &[],
            };
            let usual = (tool.scope > Scope::Read && system.has_tasks()).then(|| {
                let world = World::new(system);
                let answer = world.call(tool.name, &plain);
                (answer.text, changes(&world.tasks()))
            });
            for (key, values) in plausible_keys() {
                if plain.get(key).is_some() {
                    continue;
                }
                let is_taken = schema["properties"].get(key).is_some() || hidden.contains(&key);
                for value in values {
                    let input = with_key(&plain, key, &value);
                    let told = format!("{} in {system:?}: {input}", tool.name);
                    if !is_taken {
                        let answer = world.call(tool.name, &input);
                        assert!(names(&answer, key), "{told}\n{}", answer.text);
                        refused += 1;
                        continue;
                    }
                    let Some((text, tasks)) = &usual else { continue };
                    if !WRITERS.contains(&tool.name) {
                        continue;
                    }
                    let other = World::new(system);
                    let answer = other.call(tool.name, &input);
                    let after = other.tasks();
                    // Ids are masked in what is compared.
                    let is_id_given = key == "id" && after.iter().any(|task| value == task.id.as_str());
                    let is_ignored =
                        if answer.is_error { answer.text == *text } else { !is_id_given && changes(&after) == *tasks };
                    assert!(!is_ignored, "{told}\n{}", answer.text);
                    honoured += 1;
                }
            }
        }
        assert_eq!(world.tasks(), before, "{system:?}: a refused call changed something");
    }
    assert!(refused > 5_000 && honoured > 50, "{refused} refused, {honoured} honoured");
}

/// The tools that make and change tasks, whose every parameter shows in the tasks or in the answer.
const WRITERS: [&str; 4] = ["TaskCreate", "TaskUpdate", "TodoWrite", "create_task"];

/// Returns tasks without what differs between two runs: times, and ids made from them.
fn changes(tasks: &[Task]) -> String {
    let told: Vec<Value> = tasks.iter().map(|task| json!(Shape(task))).collect();
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    let mut text = Value::Array(told).to_string();
    for (place, id) in ids.iter().enumerate() {
        text = text.replace(&format!("\"{id}\""), &format!("\"<{place}>\""));
    }
    for key in ["created_at", "updated_at"] {
        while let Some(at) = text.find(&format!("\"{key}\":\"")) {
            let end = text[at + key.len() + 4..].find('"').unwrap() + at + key.len() + 5;
            text.replace_range(at..end, "");
        }
    }
    text
}

#[test]
fn no_key_within_a_value_is_ignored() {
    let world = World::new(System::Todos);
    let item = json!({ "content": "c", "status": "pending", "activeForm": "a" });
    let team = World::new(System::Tasks);
    let message = json!({ "type": "shutdown_request" });
    for (key, values) in plausible_keys() {
        if item.get(key).is_none() {
            let input = json!({ "todos": [item, with_key(&item, key, &values[0])] });
            let answer = world.call("TodoWrite", &input);
            assert!(answer.text.contains(&format!("`todos[1].{key}`")), "{input}\n{}", answer.text);
        }
        if !["type", "reason"].contains(&key) {
            let input = json!({ "to": "ben", "message": with_key(&message, key, &values[0]) });
            let answer = team.call("SendMessage", &input);
            assert!(answer.text.contains(&format!("`message.{key}`")), "{input}\n{}", answer.text);
        }
    }
}

#[test]
fn what_a_call_creates_is_what_the_command_creates() {
    for key in ["blockedBy", "addBlockedBy", "dependencies"] {
        let world = World::new(System::Tasks);
        let answer =
            world.call("TaskCreate", &with_key(&plain_input(System::Tasks, "TaskCreate", &[]), key, &json!(["#1"])));
        assert_eq!(answer.text, "Task #4 created successfully: S");
        let made = world.tasks().into_iter().find(|task| task.subject == "S").unwrap();
        assert_eq!(made.blocked_by, [TaskId::number(1)], "{key}");
        let start = world.call("TaskUpdate", &json!({ "taskId": "4", "status": "in_progress" }));
        assert!(start.is_error && start.text.contains("it waits for #1 A"), "{}", start.text);
    }
    let world = World::new(System::Tasks);
    let blocked = json!({ "subject": "S", "description": "D", "blockedBy": ["1"], "status": "in_progress" });
    let refused = world.call("TaskCreate", &blocked);
    assert!(refused.is_error && refused.text.contains("cannot start: it waits for #1 A"), "{}", refused.text);
    assert_eq!(world.tasks().len(), 3, "nothing was made");
    let all = json!({
        "subject": "S", "description": "D", "blocks": ["1"], "status": "in_progress", "owner": "ben", "priority": "high",
        "tags": ["x"], "due": "2027-01-02", "metadata": {"y": 1},
    });
    assert!(!world.call("TaskCreate", &all).is_error);
    let made = world.tasks().into_iter().find(|task| task.subject == "S").unwrap();
    assert_eq!((made.owner.as_deref(), made.status), (Some("ben"), Status::InProgress));
    assert_eq!(made.blocks, [TaskId::number(1)]);
    let metadata = json!({ "y": 1, "priority": "high", "tags": ["x"], "due": "2027-01-02T23:59:59.999Z" });
    assert_eq!(made.metadata.map(Value::Object), Some(metadata));
    let part = world.call("TaskCreate", &json!({ "subject": "P", "description": "D", "parent": "#3" }));
    assert!(!part.is_error, "{}", part.text);
    let done = world.call("TaskUpdate", &json!({ "taskId": "3", "status": "completed" }));
    assert!(done.is_error && done.text.contains("it has open parts"), "{}", done.text);
    for (wrong, why) in [
        (json!({ "parent": "99" }), "There is no task #99 to be the parent"),
        (json!({ "blockedBy": ["99"] }), "There is no task #99 to depend on"),
        (json!({ "due": "whenever" }), "invalid time `whenever`"),
    ] {
        let mut input = json!({ "subject": "W", "description": "D" });
        input.as_object_mut().unwrap().extend(wrong.as_object().cloned().unwrap());
        let answer = world.call("TaskCreate", &input);
        assert!(answer.is_error && answer.text.contains(why), "{input}: {}", answer.text);
    }
    assert!(world.tasks().iter().all(|task| task.subject != "W"));
}

#[test]
fn messages_are_advertised_in_the_words_of_each_version() {
    let advertised = |rules| {
        let surface = Surface { system: System::Tasks, rules, runs_commands: false };
        catalogue::offered(ToolSet::Team, surface).find(|tool| tool.name == "SendMessage").unwrap()
    };
    let keys = |rules| -> Vec<String> {
        advertised(rules).input_schema()["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(RULES[0]), ["to", "message", "summary"]);
    assert_eq!(keys(RULES[1]), ["type", "recipient", "content", "summary", "request_id", "approve"]);
    assert_eq!(keys(RULES[2]), ["to", "message", "summary"]);
    // What each client says that has to be there.
    let required = |rules| advertised(rules).input_schema()["required"].clone();
    assert_eq!(RULES.map(required), [json!(["to", "message"]), json!(["type"]), json!(["to", "message"])]);
    // Only where all can be written to at once is that offered.
    assert_eq!(RULES.map(|rules| advertised(rules).description.contains('*')), [true, false, false]);
}
