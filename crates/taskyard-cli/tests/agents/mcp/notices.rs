//! What a person should know of hooks is told with the answer.

use std::fs;

use serde_json::json;
use taskyard_testkit::Home;

use crate::stdio::Piped;

#[test]
fn untrusted_hook_is_reported_in_strict_rules_only() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let project = home.path().join("project");
    fs::create_dir_all(project.join(".claude")).unwrap();
    let settings = json!({ "hooks": { "TaskCompleted": [{ "hooks": [{ "type": "command", "command": "exit 2" }] }] } });
    fs::write(project.join(".claude/settings.json"), settings.to_string()).unwrap();
    let complete = |flags: &str, id: &str| {
        home.run("create One");
        let mut command = home.command(&format!("mcp {flags}"));
        command.current_dir(&project);
        let mut server = Piped::spawn(command).initialized();
        server.call("TaskUpdate", json!({ "taskId": id, "status": "completed" }))
    };
    let told = complete("", "1");
    assert!(told.starts_with("Updated task #1 status\n\n") && told.contains("\n\nFor the user: "), "{told}");
    assert!(told.ends_with("; a person can allow it with `taskyard trust` there."), "{told}");
    assert_eq!(complete("--rules client", "2"), "Updated task #2 status");
}

#[test]
fn untrusted_settings_are_ignored_and_first_answer_says_so() {
    let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
    let project = home.path().join("project");
    fs::create_dir_all(&project).unwrap();
    fs::create_dir_all(home.path().join(".claude")).unwrap();
    // In a form that only our own rules know.
    let settings = json!({ "hooks": { "TaskCompleted": [{ "type": "command", "command": "exit 2" }] } });
    fs::write(home.path().join(".claude/settings.json"), settings.to_string()).unwrap();
    fs::write(project.join("taskyard.toml"), "rules = \"client\"\n[jobs]\nquota = 1\n").unwrap();
    home.run("create One");
    let serve = || {
        let mut command = home.command("mcp");
        command.current_dir(&project);
        Piped::spawn(command).initialized()
    };
    let mut server = serve();
    let first = server.call("TaskGet", json!({ "taskId": "1" }));
    assert!(first.contains("\n\nFor the user: rules, jobs.quota in `"), "{first}");
    assert!(first.ends_with("; a person can allow it with `taskyard trust` there."), "{first}");
    let second = server.call("TaskGet", json!({ "taskId": "1" }));
    assert!(!second.contains("For the user"), "{second}");
    let arguments = json!({ "taskId": "1", "status": "completed" });
    let refused = server.ask("tools/call", json!({ "name": "TaskUpdate", "arguments": arguments }));
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert_ne!(home.ask("show 1")["task"]["status"], "completed");
    home.command("trust").current_dir(&project).output();
    let mut server = serve();
    let told = server.call("TaskUpdate", json!({ "taskId": "1", "status": "completed" }));
    assert!(!told.contains("For the user"), "{told}");
    assert_eq!(home.ask("show 1")["task"]["status"], "completed");
}
