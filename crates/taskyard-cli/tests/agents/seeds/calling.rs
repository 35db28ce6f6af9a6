//! Seed 001: what the tools do, and which are offered.

use serde_json::{Value, json};

use crate::seeds::site::{CLIENTS, FOLDER, RULES, Site};
use crate::stdio::Piped;

fn create(server: &mut Piped, subject: &str) {
    server.call("TaskCreate", json!({ "subject": subject, "description": "d" }));
}

#[test]
fn a_new_task_is_pending_nobodys_and_waits_for_nothing() {
    for flags in RULES {
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
    for flags in RULES {
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
    for flags in RULES {
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
    for flags in RULES {
        let site = Site::new();
        site.put_tasks(&["1", "2", "3", "4"]);
        let untouched = site.read(&format!("{FOLDER}/4.json"));
        let mut server = site.server(flags);
        server.call("TaskUpdate", json!({ "taskId": "2", "addBlockedBy": ["1"], "addBlocks": ["3"] }));
        let mut deletion = json!({ "taskId": "2", "status": "deleted" });
        if flags != RULES[0] {
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
    for flags in RULES {
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
    for flags in RULES {
        let site = Site::new();
        let mut server = site.server(flags);
        create(&mut server, "Work");
        server.call("TaskCreate", json!({ "subject": "bob", "description": "d", "metadata": { "_internal": true } }));
        assert_eq!(server.call("TaskList", json!({})), "#1 [pending] Work", "{flags}");
    }
}

#[test]
fn tools_answer_with_the_keys_of_the_seed() {
    for flags in RULES {
        let site = Site::new();
        let mut server = site.server(&format!("--structured {flags}"));
        let mut told = |tool: &str, input: Value| {
            server.ask("tools/call", json!({ "name": tool, "arguments": input }))["result"]["structuredContent"].clone()
        };
        let mut made = json!({ "id": "1", "subject": "One", "description": "d" });
        if flags == CLIENTS[0] {
            made.as_object_mut().unwrap().remove("description");
        }
        assert_eq!(
            told("TaskCreate", json!({ "subject": "One", "description": "d" })),
            json!({ "task": made }),
            "{flags}"
        );
        told("TaskCreate", json!({ "subject": "Two", "description": "d" }));
        let edge = told("TaskUpdate", json!({ "taskId": "2", "owner": "bob", "addBlockedBy": ["1"] }));
        let expected = json!({ "success": true, "taskId": "2", "updatedFields": ["owner", "blockedBy"] });
        assert_eq!(edge, expected, "{flags}");
        let two = json!({ "id": "2", "subject": "Two", "description": "d", "status": "pending", "blocks": [], "blockedBy": ["1"] });
        assert_eq!(told("TaskGet", json!({ "taskId": "2" })), json!({ "task": two }), "{flags}");
        assert_eq!(told("TaskGet", json!({ "taskId": "9" })), json!({ "task": null }), "{flags}");
        let change = json!({ "from": "pending", "to": "completed" });
        let expected = json!({ "success": true, "taskId": "1", "updatedFields": ["status"], "statusChange": change });
        assert_eq!(told("TaskUpdate", json!({ "taskId": "1", "status": "completed" })), expected, "{flags}");
        let missing = json!({ "success": false, "taskId": "9", "updatedFields": [], "error": "Task not found" });
        assert_eq!(told("TaskUpdate", json!({ "taskId": "9", "status": "completed" })), missing, "{flags}");
        let listed = json!([
            { "id": "1", "subject": "One", "status": "completed", "blockedBy": [] },
            { "id": "2", "subject": "Two", "status": "pending", "owner": "bob", "blockedBy": [] },
        ]);
        assert_eq!(told("TaskList", json!({})), json!({ "tasks": listed }), "{flags}");
        site.told("note 2 seen", &[]);
        let task = told("TaskGet", json!({ "taskId": "2" }))["task"].clone();
        assert_eq!(task.get("notes").is_some(), flags == RULES[0], "{flags}: {task}");
    }
}

#[test]
fn progress_is_drawn_with_counts_active_forms_and_marks() {
    for flags in RULES {
        let site = Site::new();
        site.told(&format!("create Built {flags}"), &[]);
        site.told(&format!("create Tests --active-form Testing {flags}"), &[]);
        site.told(&format!("done 1 {flags}"), &[]);
        site.told(&format!("start 2 {flags}"), &[]);
        let drawn = site.told(&format!("list --style tree --all {flags}"), &[]);
        for part in ["1 of 2 done", "1 in progress", "Testing\u{2026}", "\u{2714} #1 Built"] {
            assert!(drawn.contains(part), "{flags}: no {part} in {drawn}");
        }
    }
}

#[test]
fn any_status_may_follow_any_other() {
    for flags in RULES {
        let site = Site::new();
        site.put_tasks(&["1"]);
        let mut server = site.server(flags);
        for status in ["completed", "pending", "completed", "in_progress", "pending"] {
            server.call("TaskUpdate", json!({ "taskId": "1", "status": status }));
            assert_eq!(site.task("1")["status"], status, "{flags}");
        }
    }
}

#[test]
fn a_todo_list_is_written_as_the_seed_says() {
    for flags in RULES {
        let site = Site::new();
        let mut command = site.command(&format!("mcp --structured {flags}"), &[]);
        command.env("CLAUDE_CODE_ENABLE_TASKS", "0");
        let mut server = Piped::spawn(command).initialized();
        let tool = offered(&mut server)[0].clone();
        assert_eq!((&tool["name"], &tool["annotations"]["readOnlyHint"]), (&json!("TodoWrite"), &json!(false)));
        assert_eq!(tool.get("title"), None, "no name but its own is given to people");
        let mut call = |input: Value| {
            server.ask("tools/call", json!({ "name": "TodoWrite", "arguments": input }))["result"].clone()
        };
        let item = |status: &str| json!({ "content": "Fix it", "status": status, "activeForm": "Fixing it" });
        let (pending, done) = (json!([item("pending")]), json!([item("completed")]));
        let first = call(json!({ "todos": pending }));
        let text = "Todos have been modified successfully. Ensure that you continue to use the todo list to track your \
                    progress. Please proceed with the current tasks if applicable";
        assert_eq!(first["content"][0]["text"], text, "{flags}");
        assert_eq!(first["structuredContent"], json!({ "oldTodos": [], "newTodos": pending }), "{flags}");
        let all_done = call(json!({ "todos": done }));
        assert_eq!(all_done["structuredContent"], json!({ "oldTodos": pending, "newTodos": done }), "{flags}");
        let next = call(json!({ "todos": pending }));
        assert_eq!(next["structuredContent"]["oldTodos"], json!([]), "{flags}: it was emptied");
        let wrong = [
            (
                json!({ "todos": [{ "content": "", "status": "pending", "activeForm": "x" }] }),
                "Content cannot be empty",
            ),
            (
                json!({ "todos": [{ "content": "x", "status": "pending", "activeForm": "" }] }),
                "Active form cannot be empty",
            ),
            (json!({ "todos": [item("done")] }), "expected one of"),
            (json!({ "todos": pending, "merge": true }), "An unexpected parameter `merge` was provided"),
        ];
        for (input, reason) in wrong {
            let refused = call(input);
            assert_eq!(refused["isError"], true, "{flags}: {refused}");
            assert!(refused["content"][0]["text"].as_str().unwrap().contains(reason), "{flags}: {refused}");
        }
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
    for (setting, automation, is_on) in
        [("todos", "", false), ("tasks", "1", true), ("auto", "true", false), ("auto", "", false)]
    {
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
    let jobs = ["TaskOutput", "TaskStop"];
    for (flags, last) in RULES.into_iter().zip([&jobs[..], &jobs, &["TaskStop"]]) {
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
