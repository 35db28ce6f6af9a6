//! Seed 002: one `tasks.json` for each list.

use std::fs;

use serde_json::{Value, json};
use taskyard_testkit::Program;

use crate::seeds::site::{Site, printed};
use crate::stdio::{Piped, text};

const FILE: &str = ".claude/tasks/L/tasks.json";

/// The complete example, as the page of the format has it.
fn with_example() -> Site {
    let page = include_str!("../../../../../docs/formats/document.md");
    let example = page.split("```json example\n").nth(1).unwrap().split("\n```").next().unwrap();
    let site = Site::new();
    site.write(FILE, example);
    site
}

fn root(site: &Site) -> Value {
    serde_json::from_str(&site.read(FILE)).unwrap()
}

fn read(server: &mut Piped, input: Value) -> Value {
    serde_json::from_str(&server.call("TodoRead", input)).unwrap()
}

fn refused(server: &mut Piped, input: &Value) -> String {
    let answer = server.ask("tools/call", json!({ "name": "TodoWrite", "arguments": input }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    text(&answer)
}

#[test]
fn list_name_comes_from_variable_package_repository_or_default() {
    let site = Site::new();
    fs::create_dir_all(site.path("work/inner")).unwrap();
    let command = |directory: &str| -> Program {
        let mut command = site.command("where --store document: --json", &[]);
        command.env_remove("TASKYARD_LIST").current_dir(site.path(directory));
        command
    };
    let list = |mut command: Program| -> Value {
        let told: Value = serde_json::from_str(&printed(&command.output())).unwrap();
        told["list"].clone()
    };
    assert_eq!(list(command("/")), "default");
    assert_eq!(list(command("work/inner")), "inner");
    fs::create_dir(site.path("work/.git")).unwrap();
    assert_eq!(list(command("work/inner")), "work");
    site.write("work/package.json", r#"{"name": "app"}"#);
    assert_eq!(list(command("work/inner")), "app");
    let mut named = command("work/inner");
    named.env("CLAUDE_CODE_TASK_LIST_ID", "shared-session");
    assert_eq!(list(named), "shared-session");
}

#[test]
fn sessions_share_the_project_list_or_a_named_one() {
    let site = Site::new();
    for folder in ["rocket", "other"] {
        fs::create_dir(site.path(folder)).unwrap();
    }
    let run = |session: &str, folder: &str, name: Option<&str>, words: &str| {
        let mut command = site.command(&format!("{words} --store document: --json"), &[]);
        command.env_remove("TASKYARD_LIST").env("CLAUDE_CODE_SESSION_ID", session).current_dir(site.path(folder));
        if let Some(name) = name {
            command.env("CLAUDE_CODE_TASK_LIST_ID", name);
        }
        serde_json::from_str::<Value>(&printed(&command.output())).unwrap()
    };
    run("first", "rocket", None, "create Shared");
    assert!(site.path(".claude/tasks/rocket/tasks.json").exists());
    assert_eq!(run("second", "rocket", None, "list")["tasks"][0]["subject"], "Shared");
    run("first", "rocket", Some("shared-session"), "create Named");
    assert!(site.path(".claude/tasks/shared-session/tasks.json").exists());
    assert_eq!(run("second", "other", Some("shared-session"), "list")["tasks"][0]["subject"], "Named");
}

#[test]
fn the_complete_example_is_read_filtered_and_counted() {
    let site = with_example();
    let mut server = site.server("--store document:");
    let ids = |told: &Value| -> Vec<String> {
        told["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
    };
    let open = read(&mut server, json!({}));
    assert_eq!(ids(&open), ["task-002", "task-003"]);
    for (key, count) in
        [("count", 2), ("pending_count", 0), ("in_progress_count", 1), ("completed_count", 1), ("blocked_count", 1)]
    {
        assert_eq!(open[key], count, "{key}: {open}");
    }
    assert_eq!(ids(&read(&mut server, json!({ "include_completed": true }))), ["task-001", "task-002", "task-003"]);
    assert_eq!(ids(&read(&mut server, json!({ "status": "blocked" }))), ["task-003"]);
    assert_eq!(ids(&read(&mut server, json!({ "assignee": "agent-123" }))), ["task-002"]);
    let all = read(&mut server, json!({ "include_completed": true }));
    assert_eq!(all["tasks"], root(&site)["tasks"], "each as it stands in the file");
    let listed = site.told("list --store document:", &[]);
    assert!(listed.contains("Create user dashboard [blocked by #task-002]"), "{listed}");
    assert!(site.told("list --store document: --status blocked", &[]).contains("Create user dashboard"));
}

#[test]
fn example_task_starts_only_after_dependency_completes() {
    let site = with_example().strict();
    let mut server = site.server("--store document:");
    let before = site.read(FILE);
    let start = json!({ "id": "task-003", "description": "Create user dashboard", "status": "in_progress" });
    assert!(refused(&mut server, &start).contains("task-002"));
    let circle = json!({ "id": "task-001", "description": "x", "dependencies": ["task-003"] });
    assert!(refused(&mut server, &circle).contains("cycle"));
    refused(&mut server, &json!({ "description": "x", "dependencies": ["task-404"] }));
    assert_eq!(site.read(FILE), before, "nothing was written");
}

#[test]
fn example_task_is_ready_once_dependency_completes() {
    let site = with_example();
    let mut server = site.server("--store document:");
    let before = site.read(FILE);
    assert!(refused(&mut server, &json!({ "description": "x", "status": "done" })).contains("pending"));
    assert!(refused(&mut server, &json!({ "status": "pending" })).contains("description"));
    assert!(refused(&mut server, &json!({ "description": "x", "title": "y" })).contains("title"));
    assert_eq!(site.read(FILE), before, "nothing was written");

    let start = json!({ "id": "task-003", "description": "Create user dashboard", "status": "in_progress" });
    let done = json!({ "id": "task-002", "description": "Implement authentication module", "status": "completed" });
    let told: Value = serde_json::from_str(&server.call("TodoWrite", done)).unwrap();
    assert_eq!(told["now_ready"], json!([{ "id": "task-003", "description": "Create user dashboard" }]));
    assert_eq!(root(&site)["tasks"][2]["status"], "pending", "it is blocked no more");
    server.call("TodoWrite", start);
    assert_eq!(root(&site)["tasks"][2]["status"], "in_progress");
}

#[test]
fn a_new_task_has_an_id_the_times_and_two_spaces_of_indentation() {
    let site = with_example();
    let mut server = site.server("--store document:");
    let made: Value = serde_json::from_str(&server.call("TodoWrite", json!({ "description": "New" }))).unwrap();
    let id = made["id"].as_str().unwrap();
    assert!(id.len() == 36 && id.as_bytes()[14] == b'4', "a UUID of version 4: {id}");
    assert_eq!((&made["status"], &made["created_at"]), (&json!("pending"), &made["updated_at"]));
    assert!(made["created_at"].as_str().unwrap().ends_with('Z'), "{made}");
    let file = root(&site);
    assert_eq!(file["version"], 2);
    assert!(file["last_updated"].as_str().unwrap() > "2025-02-06T11:00:00Z", "{}", file["last_updated"]);
    assert!(site.read(FILE).starts_with("{\n  \"tasks\": [\n    {\n      \"id\": \"task-001\""));
    let changed = json!({ "id": id, "description": "Newer" });
    let changed: Value = serde_json::from_str(&server.call("TodoWrite", changed)).unwrap();
    assert_eq!((&changed["description"], &changed["created_at"]), (&json!("Newer"), &made["created_at"]));
    assert!(changed["updated_at"].as_str().unwrap() > made["updated_at"].as_str().unwrap(), "{changed}");
    assert_eq!(root(&site)["tasks"].as_array().unwrap().len(), 4);
}

#[test]
fn every_optional_field_has_its_place_in_the_file() {
    let site = with_example();
    let markdown = "# Title\n\n- a *list*\n- of `things`\n\n```sh\nls\n```";
    let task = json!({
        "id": "mine", "description": markdown, "dependencies": ["task-001"], "assignee": "agent-9",
        "metadata": { "priority": "low", "tags": ["ui"], "source": "user", "custom_fields": { "points": 3 } },
    });
    site.server("--store document:").call("TodoWrite", task.clone());
    let stored = root(&site)["tasks"][3].clone();
    for key in ["id", "description", "dependencies", "assignee", "metadata"] {
        assert_eq!(stored[key], task[key], "{key}");
    }
    site.told("update mine --parent task-002 --store document:", &[]);
    assert_eq!(root(&site)["tasks"][3]["parent_id"], "task-002");
}
