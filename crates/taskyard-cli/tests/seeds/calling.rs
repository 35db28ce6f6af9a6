//! Seed 001: what the tools do, and which are offered.

use serde_json::{Value, json};

use crate::site::{CLIENTS, FOLDER, Site};
use crate::stdio::Piped;

fn create(server: &mut Piped, subject: &str) {
    server.call("TaskCreate", json!({ "subject": subject, "description": "d" }));
}

#[test]
fn a_new_task_is_pending_nobodys_and_waits_for_nothing() {
    for flags in CLIENTS.into_iter().chain([""]) {
        let site = Site::new();
        let mut server = site.server(flags);
        let input = json!({ "subject": "Fix it", "description": "d", "activeForm": "Fixing it", "metadata": { "n": { "x": null } } });
        assert_eq!(server.call("TaskCreate", input), "Task #1 created successfully: Fix it", "{flags}");
        let expected = json!({
            "id": "1", "subject": "Fix it", "description": "d", "activeForm": "Fixing it", "status": "pending",
            "blocks": [], "blockedBy": [], "metadata": { "n": { "x": null } },
        });
        assert_eq!(site.task("1").to_string(), expected.to_string(), "{flags}");
    }
}

#[test]
fn an_edge_is_written_at_both_ends_and_only_once() {
    for flags in CLIENTS.into_iter().chain([""]) {
        let site = Site::new();
        site.put_tasks(&["1", "2"]);
        let mut server = site.server(flags);
        for edge in [json!({ "taskId": "1", "addBlocks": ["2"] }), json!({ "taskId": "2", "addBlockedBy": ["1"] })] {
            server.call("TaskUpdate", edge);
            let (one, two) = (site.task("1"), site.task("2"));
            assert_eq!((&one["blocks"], &two["blockedBy"]), (&json!(["2"]), &json!(["1"])), "{flags}");
            assert_eq!((&one["blockedBy"], &two["blocks"]), (&json!([]), &json!([])), "{flags}");
        }
        // To a task that is not there nothing is written.
        server.ask("tools/call", json!({ "name": "TaskUpdate", "arguments": { "taskId": "1", "addBlocks": ["9"] } }));
        assert_eq!(site.task("1")["blocks"], json!(["2"]), "{flags}");
        assert!(!site.path(&format!("{FOLDER}/9.json")).exists(), "{flags}");
    }
}

#[test]
fn an_id_too_long_for_a_file_is_no_task() {
    let long = "x".repeat(300);
    for flags in CLIENTS {
        let site = Site::new();
        site.put_tasks(&["1"]);
        let mut server = site.server(flags);
        assert_eq!(server.call("TaskGet", json!({ "taskId": long })), "Task not found", "{flags}");
        assert_eq!(
            server.call("TaskUpdate", json!({ "taskId": long, "status": "completed" })),
            "Task not found",
            "{flags}"
        );
        assert_eq!(
            server.call("TaskUpdate", json!({ "taskId": long, "status": "deleted" })),
            "Task not found",
            "{flags}"
        );
        for key in ["addBlocks", "addBlockedBy"] {
            let answer = server.call("TaskUpdate", json!({ "taskId": "1", key: [long] }));
            let field = if key == "addBlocks" { "blocks" } else { "blockedBy" };
            assert_eq!(answer, format!("Updated task #1 {field}"), "{flags}");
        }
    }
    let site = Site::new();
    site.put_tasks(&["1"]);
    let mut server = site.server("");
    for (tool, input) in [
        ("TaskGet", json!({ "taskId": long })),
        ("TaskUpdate", json!({ "taskId": long, "status": "completed" })),
        ("TaskUpdate", json!({ "taskId": "1", "addBlockedBy": [long] })),
        ("TaskClaim", json!({ "taskId": long })),
        ("TaskRelease", json!({ "taskId": long })),
    ] {
        let answer = server.ask("tools/call", json!({ "name": tool, "arguments": input })).to_string();
        assert!(!answer.contains(FOLDER) && !answer.contains("os error"), "{tool}: {answer}");
    }
}

#[test]
fn the_output_of_the_list_is_that_of_the_example() {
    for flags in CLIENTS.into_iter().chain([""]) {
        let site = Site::new();
        let mut server = site.server(flags);
        for subject in ["Fix authentication bug", "Write unit tests", "Deploy to staging"] {
            create(&mut server, subject);
        }
        server.call("TaskUpdate", json!({ "taskId": "2", "status": "in_progress", "owner": "agent-1" }));
        server.call("TaskUpdate", json!({ "taskId": "3", "addBlockedBy": ["2"] }));
        assert_eq!(
            server.call("TaskList", json!({})),
            "#1 [pending] Fix authentication bug\n#2 [in_progress] Write unit tests (agent-1)\n#3 [pending] Deploy to staging [blocked by #2]",
            "{flags}"
        );
    }
}

#[test]
fn a_deleted_task_leaves_no_file_no_edge_and_no_status() {
    for flags in CLIENTS.into_iter().chain([""]) {
        let site = Site::new();
        site.put_tasks(&["1", "2", "3", "4"]);
        let untouched = site.read(&format!("{FOLDER}/4.json"));
        let mut server = site.server(flags);
        server.call("TaskUpdate", json!({ "taskId": "2", "addBlockedBy": ["1"], "addBlocks": ["3"] }));
        let mut deletion = json!({ "taskId": "2", "status": "deleted" });
        if !flags.is_empty() {
            deletion["subject"] = json!("never");
        }
        let deleted = server.call("TaskUpdate", deletion);
        assert!(deleted.starts_with("Updated task #2 deleted"), "{flags}: {deleted}");
        let (one, three) = (site.task("1"), site.task("3"));
        assert_eq!((&one["blocks"], &three["blockedBy"]), (&json!([]), &json!([])), "{flags}");
        assert!(!site.path(&format!("{FOLDER}/2.json")).exists(), "{flags}");
        assert_eq!(site.read(&format!("{FOLDER}/4.json")), untouched, "{flags}: what does not change is not rewritten");
        assert_eq!(
            server.call("TaskUpdate", json!({ "taskId": "2", "status": "deleted" })),
            "Task not found",
            "{flags}"
        );
        // In progress it goes as well.
        server.call("TaskUpdate", json!({ "taskId": "1", "status": "in_progress" }));
        server.call("TaskUpdate", json!({ "taskId": "1", "status": "deleted" }));
        assert_eq!(server.call("TaskList", json!({})), "#3 [pending] task 3\n#4 [pending] task 4", "{flags}");
        assert_eq!(site.read(&format!("{FOLDER}/.highwatermark")), "2", "{flags}");
    }
}

#[test]
fn metadata_is_merged_and_null_takes_a_key_away() {
    for flags in CLIENTS.into_iter().chain([""]) {
        let site = Site::new();
        site.put_tasks(&["1"]);
        let mut server = site.server(flags);
        server.call("TaskUpdate", json!({ "taskId": "1", "metadata": { "a": 1, "b": 2 } }));
        server.call("TaskUpdate", json!({ "taskId": "1", "metadata": { "a": null, "c": [3] } }));
        assert_eq!(site.task("1")["metadata"], json!({ "b": 2, "c": [3] }), "{flags}");
    }
}

#[test]
fn what_is_internal_is_in_no_list() {
    for flags in CLIENTS.into_iter().chain([""]) {
        let site = Site::new();
        let mut server = site.server(flags);
        create(&mut server, "Work");
        server.call("TaskCreate", json!({ "subject": "bob", "description": "d", "metadata": { "_internal": true } }));
        assert_eq!(server.call("TaskList", json!({})), "#1 [pending] Work", "{flags}");
    }
}

#[test]
fn nothing_is_started_by_itself() {
    let site = Site::new();
    site.put_tasks(&["1", "2", "3"]);
    let before = ["1", "2", "3"].map(|id| site.task(id));
    let mut server = site.server("");
    server.call("TaskList", json!({}));
    server.call("TaskGet", json!({ "taskId": "1" }));
    for words in ["list", "ready", "stats", "prime", "show 1"] {
        site.told(words, &[]);
    }
    assert_eq!(site.json("job list", &[])["jobs"], json!([]));
    assert_eq!(["1", "2", "3"].map(|id| site.task(id)), before);
}

/// Returns the tools that a server offers.
fn offered(server: &mut Piped) -> Vec<Value> {
    server.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

#[test]
fn the_words_for_yes_and_no_choose_one_of_the_two_systems() {
    let site = Site::new();
    for (word, is_on) in
        [("false", false), ("0", false), ("no", false), ("true", true), ("1", true), ("yes", true), ("", true)]
    {
        let mut command = site.command("mcp", &[]);
        command.env("CLAUDE_CODE_ENABLE_TASKS", word);
        let tools = offered(&mut Piped::spawn(command).initialized());
        let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        assert_eq!(["TaskCreate", "TaskGet", "TaskUpdate", "TaskList"].map(has), [is_on; 4], "{word}");
        assert_eq!(has("TodoWrite"), !is_on, "{word}");
    }
}

#[test]
fn configuration_decides_where_the_variable_is_unset() {
    for (setting, automation, is_on) in [("todos", "", false), ("tasks", "1", true), ("auto", "true", false)] {
        let site = Site::new();
        site.write(".config/taskyard/taskyard.toml", &format!("[mcp]\nwhen_unset = \"{setting}\""));
        for (word, is_on) in [("", is_on), ("yes", true), ("no", false)] {
            let mut command = site.command("mcp", &[]);
            command.env("CLAUDE_CODE_ENABLE_TASKS", word).env("CI", automation);
            let tools = offered(&mut Piped::spawn(command).initialized());
            let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
            assert_eq!((has("TaskCreate"), has("TodoWrite")), (is_on, !is_on), "{setting} {word}");
        }
    }
}

#[test]
fn exactly_the_clients_tools_are_offered_on_request() {
    let site = Site::new();
    for (flags, last) in CLIENTS.into_iter().zip([&["TaskOutput", "TaskStop"][..], &["TaskStop"]]) {
        let tools = offered(&mut site.server(&format!("--tools client --allow-exec {flags}")));
        let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, [&["TaskCreate", "TaskGet", "TaskUpdate", "TaskList"], last].concat());
    }
}

#[test]
fn the_tools_for_plans_say_when_to_use_them_and_when_not() {
    let site = Site::new();
    for (word, name) in [("1", "TaskCreate"), ("0", "TodoWrite")] {
        let mut command = site.command("mcp", &[]);
        command.env("CLAUDE_CODE_ENABLE_TASKS", word);
        let tools = offered(&mut Piped::spawn(command).initialized());
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let description = tool["description"].as_str().unwrap().to_lowercase();
        assert!(description.contains("three or more steps"), "{description}");
        assert!(description.contains("not for a single quick thing"), "{description}");
    }
}
