//! The plugin for Claude Code: its files are well-formed, name files that exist, and speak of commands that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use taskyard_testkit::Program;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn document(path: &str) -> Value {
    let text = fs::read_to_string(root().join(path)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn skill() -> String {
    fs::read_to_string(root().join("plugin/skills/taskyard/SKILL.md")).unwrap()
}

/// Returns the commands the program has.
fn commands() -> BTreeSet<String> {
    let output = Program::new(env!("CARGO_BIN_EXE_taskyard")).arg("help").output();
    let help = String::from_utf8(output.stdout).unwrap();
    let groups = help.split("Usage:").nth(1).unwrap().split("Options:").next().unwrap();
    let indented = groups.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands: BTreeSet<String> =
        indented.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(commands.contains("create") && commands.contains("doctor"), "{commands:?}");
    commands
}

#[test]
fn the_marketplace_names_the_plugin_and_where_it_is() {
    let marketplace = document(".claude-plugin/marketplace.json");
    let manifest = document("plugin/.claude-plugin/plugin.json");
    assert!(marketplace["owner"]["name"].is_string());
    assert_eq!(manifest["author"], marketplace["owner"]);
    let [entry] = &marketplace["plugins"].as_array().unwrap()[..] else { panic!("there is one plugin") };
    assert_eq!(entry["name"], manifest["name"]);
    let source = entry["source"].as_str().unwrap();
    assert!(source.starts_with("./") && root().join(source).join(".claude-plugin/plugin.json").is_file(), "{source}");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_plugin_registers_what_setup_registers() {
    let house = tempfile::tempdir().unwrap();
    let output = Program::new(env!("CARGO_BIN_EXE_taskyard"))
        .args(["setup", "claude"])
        .env_clear()
        .envs([("HOME", house.path()), ("TASKYARD_HOME", &house.path().join("data"))])
        .current_dir(house.path())
        .output();
    assert!(output.status.success(), "{output:?}");
    let written =
        |path: &str| -> Value { serde_json::from_slice(&fs::read(house.path().join(path)).unwrap()).unwrap() };
    assert_eq!(document("plugin/.mcp.json"), written(".claude.json"));
    let mut hooks = document("plugin/hooks/hooks.json");
    hooks.as_object_mut().unwrap().remove("description");
    assert_eq!(hooks, written(".claude/settings.json"));
    assert_eq!(skill(), fs::read_to_string(house.path().join(".claude/skills/taskyard/SKILL.md")).unwrap());
}

#[test]
fn the_hooks_are_answered() {
    let hooks = document("plugin/hooks/hooks.json");
    for (event, groups) in hooks["hooks"].as_object().unwrap() {
        let command = groups[0]["hooks"][0]["command"].as_str().unwrap();
        assert_eq!(command, format!("taskyard hook {event}"));
        let house = tempfile::tempdir().unwrap();
        let mut child = Program::new(env!("CARGO_BIN_EXE_taskyard"))
            .args(command.split(' ').skip(1))
            .env_clear()
            .envs([("HOME", house.path()), ("TASKYARD_HOME", &house.path().join("data"))])
            .current_dir(house.path())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .start();
        serde_json::to_writer(child.take_input(), &json!({"session_id": "s", "hook_event_name": event})).unwrap();
        assert!(child.wait_with_output().status.success(), "{command}");
    }
}

#[test]
fn skill_says_when_to_use_it_and_names_real_commands() {
    let skill = skill();
    let front: Vec<&str> = skill.split("---\n").collect();
    let front = front[1];
    assert!(front.contains("name: taskyard\n"));
    let description = front.lines().find_map(|line| line.strip_prefix("description: ")).unwrap();
    assert!(description.len() < 1024, "the client cuts longer ones off");
    let commands = commands();
    assert!(commands.contains("claim"), "{commands:?}");
    let spoken: BTreeSet<&str> =
        skill.split("`taskyard ").skip(1).filter_map(|rest| rest.split([' ', '`']).next()).collect();
    assert!(spoken.len() > 10, "{spoken:?}");
    for command in spoken {
        assert!(commands.contains(command), "the skill speaks of `taskyard {command}`");
    }
}
