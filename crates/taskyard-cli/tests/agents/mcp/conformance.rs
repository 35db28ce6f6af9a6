//! What the client was recorded doing, asked for through the official MCP client: the same texts, errors, structures and files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use taskyard_testkit::{Home, SharedPostgres};

use crate::mcp::client::Client;
use crate::mcp::recording::{Disk, Recording, Step};
use crate::stdio::Piped;

fn replay(contents: &str) {
    let recording = Recording::read(contents);
    let list = recording.list().to_owned();
    for structured in [false, true] {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let config = home.path().join(".claude");
        lay_out(&recording.disk_before, &config);
        let flags = format!(
            "--rules client --client-version {} --list {list}{}",
            recording.client,
            if structured { " --structured" } else { "" }
        );
        let mut client = Client::over_pipes(&home, &flags, "initialize");
        let mut expected = recording.disk_before.clone();
        for (number, step) in recording.steps.iter().enumerate() {
            let told = format!("step {number}: {} {}", step.tool, step.input);
            compare(&client.call(&step.tool, &step.input), step, structured, &told);
            step.change(&mut expected);
            assert_eq!(files(&config, &format!("tasks/{list}/")), expected, "{told}");
        }
    }
}

/// Replays on PostgreSQL: the same answers, and in the place of each file its contents to the letter.
fn replay_on_postgres(contents: &str) -> usize {
    let recording = Recording::read(contents);
    let list = recording.list().to_owned();
    let (home, server) = (Home::new(env!("CARGO_BIN_EXE_taskyard")), SharedPostgres::get());
    let store = server.fresh_address();
    let schema = store.rsplit_once('=').unwrap().1;
    let flags = format!("--rules client --client-version {} --list {list} --structured", recording.client);
    let mut command = home.command(&format!("mcp {flags}"));
    command.env("TASKYARD_STORE", &store);
    let mut client = Client::with_command(&command, serde_json::json!({ "generation": "initialize" }));
    let mut expected = recording.disk_before.clone();
    for (number, step) in recording.steps.iter().enumerate() {
        let told = format!("step {number}: {} {}", step.tool, step.input);
        compare(&client.call(&step.tool, &step.input), step, true, &told);
        step.change(&mut expected);
    }
    let folder = format!("tasks/{list}/");
    let is_task = |name: &&str| name.ends_with(".json") && !name.starts_with('.');
    let files = expected.iter().filter_map(|(path, text)| Some((path.strip_prefix(&folder)?, text)));
    let files: BTreeMap<String, String> = files
        .filter(|(name, _)| is_task(name))
        .map(|(name, text)| (name.trim_end_matches(".json").to_owned(), text.clone()))
        .collect();
    // A recording in which everything is refused makes no tables.
    let has_tables = server.cluster().sql(&format!("SELECT to_regclass('{schema}.tasks') IS NOT NULL")) == "t";
    let tasks = format!("SELECT coalesce(json_object_agg(task, image), '{{}}') FROM {schema}.tasks");
    let kept = if has_tables { server.cluster().sql(&tasks) } else { "{}".to_owned() };
    let kept: BTreeMap<String, String> = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept, files);
    kept.len()
}

#[test]
fn on_postgres_the_recordings_have_the_same_answers() {
    let recordings = [
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/crud.2.1.34.json"),
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/crud.2.1.325.json"),
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/coerce.2.1.34.json"),
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/coerce.2.1.325.json"),
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/blank.2.1.34.json"),
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/blank.2.1.325.json"),
    ];
    let kept: Vec<usize> = recordings.into_iter().map(replay_on_postgres).collect();
    assert!(kept.iter().any(|count| *count > 0), "nothing was kept");
}

fn compare(answer: &Value, step: &Step, structured: bool, told: &str) {
    assert_eq!(answer["content"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(answer["content"][0]["text"], step.text.as_str(), "{told}");
    assert_eq!(answer["isError"], step.is_error, "{told}");
    // Where an input was wrong, the client keeps a text; the protocol knows objects only.
    let expected = Some(&step.structured).filter(|value| structured && value.is_object());
    if !structured || !step.structured.is_null() {
        assert_eq!(answer.get("structuredContent"), expected, "{told}");
    }
}

fn lay_out(disk: &Disk, config: &Path) {
    for (path, contents) in disk {
        let file = config.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(file).unwrap();
        } else {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, contents).unwrap();
        }
    }
}

/// Returns the files of a folder, hidden ones included, as recordings have them.
fn files(config: &Path, folder: &str) -> Disk {
    let mut disk = BTreeMap::new();
    let Ok(entries) = fs::read_dir(config.join(folder)) else { return disk };
    disk.insert(folder.to_owned(), String::new());
    for entry in entries.map(Result::unwrap) {
        let name = format!("{folder}{}", entry.file_name().to_str().unwrap());
        match entry.path().is_dir() {
            true => disk.insert(format!("{name}/"), String::new()),
            false => disk.insert(name, fs::read_to_string(entry.path()).unwrap()),
        };
    }
    disk
}

#[test]
fn every_field_and_every_refusal_of_2_1_34() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/crud.2.1.34.json"));
}

#[test]
fn every_field_and_every_refusal_of_2_1_325() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/crud.2.1.325.json"));
}

#[test]
fn files_of_other_programs_as_2_1_34_sees_them() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/foreign.2.1.34.json"));
}

#[test]
fn files_of_other_programs_as_2_1_325_sees_them() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/foreign.2.1.325.json"));
}

#[test]
fn malformed_input_as_2_1_34_refuses_it() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/coerce.2.1.34.json"));
}

#[test]
fn malformed_input_as_2_1_325_repairs_or_refuses_it() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/coerce.2.1.325.json"));
}

#[test]
fn blank_and_missing_fields_as_2_1_34_refuses_them() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/blank.2.1.34.json"));
}

#[test]
fn blank_and_missing_fields_as_2_1_325_repairs_or_refuses_them() {
    replay(include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/blank.2.1.325.json"));
}

fn replay_todos(contents: &str, session: &str) {
    let recording = Recording::read(contents);
    for structured in [false, true] {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let config = home.path().join(".claude");
        let flags = if structured { " --structured" } else { "" };
        let mut command = home.command(&format!("mcp --rules client --client-version {}{flags}", recording.client));
        command
            .env("CLAUDE_CODE_ENABLE_TASKS", "no")
            .env("CLAUDE_CODE_SESSION_ID", session)
            .env_remove("TASKYARD_AGENT");
        let mut client = Client::with_command(&command, serde_json::json!({}));
        let without_folder = |mut disk: Disk| {
            disk.remove("todos/");
            disk
        };
        let mut expected = recording.disk_before.clone();
        assert_eq!(without_folder(files(&config, "todos/")), without_folder(expected.clone()), "before the first step");
        for (number, step) in recording.steps.iter().enumerate() {
            let told = format!("step {number}: {} {}", step.tool, step.input);
            compare(&client.call(&step.tool, &step.input), step, structured, &told);
            step.change(&mut expected);
            assert_eq!(without_folder(files(&config, "todos/")), without_folder(expected.clone()), "{told}");
        }
    }
}

#[test]
fn todos_of_2_1_34_are_kept_in_a_file_from_the_beginning() {
    let contents = include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/todo.2.1.34.json");
    let before = Recording::read(contents).disk_before;
    let name = before.keys().find_map(|path| path.strip_prefix("todos/")?.strip_suffix(".json")).unwrap().to_owned();
    replay_todos(contents, name.split_once("-agent-").unwrap().0);
}

#[test]
fn a_structured_server_says_what_each_tool_answers() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let tools = |flags: &str| {
        let mut server = Piped::start(&home, &format!("{flags} --tools all --allow-exec --as ana")).initialized();
        let tools = server.ask("tools/list", serde_json::json!({}))["result"]["tools"].as_array().unwrap().clone();
        (server, tools)
    };
    let (_, plain) = tools("");
    assert!(plain.len() >= 10 && plain.iter().all(|tool| tool.get("outputSchema").is_none()));
    let (mut server, structured) = tools("--structured");
    assert!(structured.iter().all(|tool| tool["outputSchema"]["type"] == "object"), "{structured:?}");
    for (tool, input) in [
        ("TaskCreate", serde_json::json!({ "subject": "a", "description": "b" })),
        ("TaskClaim", serde_json::json!({})),
        ("TaskClaim", serde_json::json!({ "taskId": "9" })),
        ("TaskUpdate", serde_json::json!({ "taskId": "1", "status": "completed" })),
        ("TaskRun", serde_json::json!({ "command": "exit 3" })),
        ("TaskList", serde_json::json!({})),
    ] {
        let answer = server.ask("tools/call", serde_json::json!({ "name": tool, "arguments": input }));
        let schema = &structured.iter().find(|offered| offered["name"] == tool).unwrap()["outputSchema"];
        let content = &answer["result"]["structuredContent"];
        assert!(jsonschema::draft202012::is_valid(schema, content), "{tool}: {answer}");
        // The newest client has no `TaskOutput`.
        let reading = structured.iter().find(|offered| tool == "TaskRun" && offered["name"] == "TaskOutput");
        if let Some(offered) = reading {
            let job = serde_json::json!({ "name": "TaskOutput", "arguments": { "task_id": content["task_id"] } });
            let output = server.ask("tools/call", job);
            let schema = &offered["outputSchema"];
            let content = &output["result"]["structuredContent"];
            assert!(jsonschema::draft202012::is_valid(schema, content), "{output}");
        }
    }
}

#[test]
fn todos_of_strict_rules_leave_nothing_on_disk() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard")).strict();
    let mut command = home.command("mcp --structured");
    command.env("CLAUDE_CODE_ENABLE_TASKS", "no").env("CLAUDE_CODE_SESSION_ID", "6f1c2b7e-0000");
    let mut server = Piped::spawn(command).initialized();
    let todos = serde_json::json!([{ "content": "a", "status": "pending", "activeForm": "b" }]);
    for before in [serde_json::json!([]), todos.clone()] {
        let call = serde_json::json!({ "name": "TodoWrite", "arguments": { "todos": todos } });
        let answer = server.ask("tools/call", call);
        assert_eq!(answer["result"]["structuredContent"]["oldTodos"], before, "{answer}");
    }
    assert!(files(&home.path().join(".claude"), "todos/").is_empty());
}

#[test]
fn todos_of_2_1_325_leave_nothing_on_disk() {
    replay_todos(
        include_str!("../../../../taskyard-mcp/tests/fixtures/conformance/todo.2.1.325.json"),
        "6f1c2b7e-0000",
    );
}
