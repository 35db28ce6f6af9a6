//! What a person should know of hooks is told with the answer.

use std::fs;

use serde_json::json;
use taskyard_testkit::Home;

use crate::stdio::Piped;

#[test]
fn a_hook_that_is_not_trusted_is_told_of_in_strict_rules_and_kept_quiet_in_the_clients() {
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
    assert!(told.starts_with("Updated task #1 status\n\nFor the user: "), "{told}");
    assert!(told.ends_with("; a person can allow it with `taskyard trust` there."), "{told}");
    assert_eq!(complete("--rules client", "2"), "Updated task #2 status");
}
