//! The tools of other dialects, through the server.

use serde_json::{Value, json};
use taskyard_testkit::Home;

use crate::stdio::Piped;

#[test]
fn teaching_prompts_are_followed_through_one_connection() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard")).strict();
    let mut server = Piped::start(&home, "--store teaching:.tasks").initialized();
    let mut create = |subject: &str, blocked_by: &[&str]| {
        let made = server.call("create_task", json!({ "subject": subject, "blockedBy": blocked_by }));
        let id = made.strip_prefix("Created ").and_then(|rest| rest.strip_suffix(&format!(": {subject}")));
        id.unwrap_or_else(|| panic!("{made}")).to_owned()
    };
    let schema = create("setup database schema", &[]);
    let endpoints = create("create API endpoints", &[&schema]);
    let tests = create("write tests", &[&endpoints]);
    let docs = create("write docs", &[&schema]);
    let listed = server.call("list_tasks", json!({}));
    assert!(listed.lines().any(|line| line == format!("[ ] {schema}: setup database schema")), "{listed}");
    assert!(listed.contains(&format!("[ ] {tests}: write tests (blocked by: {endpoints})")), "{listed}");
    server.call("claim_task", json!({ "task_id": schema, "owner": "worker" }));
    let completed = server.call("complete_task", json!({ "task_id": schema }));
    let unblocked = completed.split_once("\nUnblocked: ").unwrap_or_else(|| panic!("{completed}")).1;
    assert!(unblocked.contains(&endpoints) && unblocked.contains(&docs) && !unblocked.contains(&tests), "{completed}");
    let listed = server.call("list_tasks", json!({}));
    assert!(listed.contains(&format!("[x] {schema}: setup database schema @worker")), "{listed}");
    assert!(!listed.contains(&format!("blocked by: {schema}")), "{listed}");
}

#[test]
fn number_marks_reach_agents_only_in_client_rules() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create Rocket --kind mission");
    let mut server = Piped::start(&home, "--as ana").initialized();
    let title = "\u{1f5fa}\u{fe0f} MISSION: Rocket";
    assert_eq!(server.call("TaskList", json!({})), format!("#1 [pending] {title}"));
    assert!(server.call("TaskGet", json!({ "taskId": "1" })).starts_with(&format!("Task #1: {title}\n")));
    let mut server = Piped::start(&home, "--as ana --rules client").initialized();
    assert_eq!(server.call("TaskList", json!({})), format!("#1 [pending] \u{1b}[2m  #1\u{1b}[22m {title}"));
}

/// A server of each other dialect, and a tool that it alone has.
const SERVERS: [(&str, &str); 3] = [
    ("--store document:tasks.json", "TodoRead"),
    ("--store teaching:.tasks", "list_tasks"),
    ("--dialect export", "TaskUpdate"),
];

pub(crate) fn names(server: &mut Piped) -> Vec<String> {
    let listed = server.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_dialect_has_jobs_and_all_tools_on_request() {
    for (flags, own) in SERVERS {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard")).strict();
        let core = names(&mut Piped::start(&home, flags).initialized());
        let has = |names: &[String], name: &str| names.iter().any(|other| other == name);
        for name in [own, "TaskOutput", "TaskStop"] {
            assert!(has(&core, name), "{flags}: no {name} in {core:?}");
        }
        assert!(!has(&core, "TaskRun") && !has(&core, "SendMessage"), "{flags}: {core:?}");

        let mut server = Piped::start(&home, &format!("{flags} --allow-exec --tools all")).initialized();
        let all = names(&mut server);
        for name in
            core.iter().map(String::as_str).chain(["TaskRun", "SendMessage", "InboxRead", "ListAgents", "TeamCreate"])
        {
            assert!(has(&all, name), "{flags}: no {name} in {all:?}");
        }
        assert!(!has(&all, "TaskClaim"), "{flags}: {all:?}");
        let id = |started: &str| {
            let rest = started.strip_prefix("Command running in background with ID: ");
            rest.and_then(|rest| rest.split('.').next()).unwrap_or_else(|| panic!("{started}")).to_owned()
        };
        let job = id(&server.call("TaskRun", json!({ "command": "sleep 1; echo out; exit 3" })));
        let output = server.call("TaskOutput", json!({ "task_id": job }));
        assert!(output.contains("<exit_code>3</exit_code>\n\n<output>\nout\n"), "{flags}: {output}");
        let job = id(&server.call("TaskRun", json!({ "command": "sleep 600" })));
        let stopped = server.call("TaskStop", json!({ "task_id": job }));
        assert!(stopped.contains("Successfully stopped task"), "{flags}: {stopped}");
        server.call("ListAgents", json!({}));
    }
}

#[test]
fn client_with_tasks_off_has_todos_in_every_dialect() {
    for (flags, own) in SERVERS.into_iter().chain([("--dialect native", "TaskList")]) {
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        let started = |word: &str| {
            let mut command = home.command(&format!("mcp {flags}"));
            command.env("CLAUDE_CODE_ENABLE_TASKS", word);
            Piped::spawn(command).initialized()
        };
        let mut off = started("off");
        // The newest client has no `TaskOutput`.
        let offered: Vec<String> = names(&mut off).into_iter().filter(|name| name != "TaskOutput").collect();
        assert_eq!(offered, ["TodoWrite", "TaskStop"], "{flags}");
        let todos = json!({ "todos": [{ "content": "a", "status": "pending", "activeForm": "b" }] });
        assert!(off.call("TodoWrite", todos).starts_with("Todos have been modified"), "{flags}");
        let refused = off.ask("tools/call", json!({ "name": own, "arguments": {} }));
        let text = format!("Error: No such tool available: {own}");
        assert_eq!(refused["result"]["content"][0]["text"], Value::String(text), "{flags}");
        assert!(names(&mut started("on")).contains(&own.to_owned()), "{flags}");
    }
}
