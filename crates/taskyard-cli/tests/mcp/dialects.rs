//! The tools of other dialects, through the server.

use serde_json::json;
use taskyard_testkit::Home;

use crate::stdio::Piped;

#[test]
fn the_four_prompts_of_the_teaching_dialect_are_followed_through_one_connection() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
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
fn what_makes_a_number_dim_reaches_an_agent_in_the_clients_rules_alone() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    home.ask("create Rocket --kind mission");
    let mut server = Piped::start(&home, "--as ana").initialized();
    let title = "\u{1f5fa}\u{fe0f} MISSION: Rocket";
    assert_eq!(server.call("TaskList", json!({})), format!("#1 [pending] {title}"));
    assert!(server.call("TaskGet", json!({ "taskId": "1" })).starts_with(&format!("Task #1: {title}\n")));
    let mut server = Piped::start(&home, "--as ana --rules client").initialized();
    assert_eq!(server.call("TaskList", json!({})), format!("#1 [pending] \u{1b}[2m#1\u{1b}[0m {title}"));
}
