use crate::test::Test;

/// A test whose programs include one called `taskyard`.
fn installed() -> Test {
    let test = Test::new().file("home/bin/taskyard", "");
    let path = test.path("home/bin");
    test.env("PATH", path)
}

const SERVERS: &str =
    "{\n\t// servers I use\n\t\"mcpServers\": {\n\t\t\"git\": {\"command\": \"uvx\"}, // git\n\t},\n}";

#[test]
fn what_is_added_is_shown_and_taken_back() {
    let test = installed()
        .file("home/.gemini/settings.json", SERVERS)
        .run("setup gemini --dry-run")
        .run("setup gemini")
        .run("setup gemini")
        .run("setup gemini --remove")
        .run("setup gemini --remove");
    assert_eq!(std::fs::read_to_string(test.path("home/.gemini/settings.json")).unwrap(), SERVERS);
    test.snapshot();
}

#[test]
fn claude_code_gets_hooks_skill_and_optional_permission() {
    installed()
        .file("home/project/.git/HEAD", "")
        .file(
            "home/project/.claude/settings.json",
            "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls:*)\"]\n  }\n}\n",
        )
        .file("home/project/src/x", "")
        .inside("src")
        .run("setup claude --scope project --allow-tools")
        .run("setup claude --scope project --allow-tools --json")
        .run("setup claude --scope project --remove --quiet")
        .run("setup codex --allow-tools")
        .snapshot();
}

#[test]
fn every_agent_gets_the_entry_its_documentation_asks_for() {
    let agents = ["cursor", "vscode", "opencode", "copilot", "zed", "windsurf", "amp"];
    agents.into_iter().fold(installed(), |test, agent| test.run(&format!("setup {agent}"))).snapshot();
}

#[test]
fn a_project_has_its_servers_where_the_agent_looks_for_them() {
    let agents = ["gemini", "opencode", "copilot", "zed", "windsurf", "amp"];
    agents.into_iter().fold(installed(), |test, agent| test.run(&format!("setup {agent} --scope project"))).snapshot();
}

#[test]
fn the_agents_that_are_there_are_listed_and_set_up_at_once() {
    installed()
        .run("setup --all")
        .file("home/bin/codex", "")
        .file("home/.gemini/settings.json", SERVERS)
        .file(
            "home/.config/zed/settings.json",
            "{\n  \"context_servers\": {\"taskyard\": {\"command\": \"/opt/taskyard\"}}\n}\n",
        )
        .file("home/.cursor/mcp.json", "{\n  \"mcpServers\": [\n}\n")
        .run("setup --list")
        .run("setup --all --quiet")
        .run("setup --list")
        .run("setup codex --list --json")
        .run("setup --all --json --dry-run")
        .run("setup --all --remove --quiet")
        .run("setup --list codex")
        .run("setup")
        .snapshot();
}

#[test]
fn an_entry_of_the_users_own_stays() {
    installed()
        .file("home/.codex/config.toml", "[mcp_servers.taskyard]\ncommand = \"/opt/taskyard\"\n")
        .run("setup codex")
        .snapshot();
}

#[test]
fn a_broken_file_is_refused_with_the_line() {
    Test::new()
        .file("home/.cursor/mcp.json", "{\n  \"mcpServers\": {\n    \"a\": {}\n    \"b\": {}\n  }\n}\n")
        .run("setup cursor")
        .run("setup cursor --remove --json")
        .file("home/.codex/config.toml", "a = 1\nb = [\n")
        .run("setup codex")
        .file("home/project/.vscode/mcp.json", "{\"servers\": []}")
        .run("setup vscode --scope project")
        .run("setup emacs")
        .snapshot();
}

#[test]
fn a_program_that_agents_will_not_find_is_warned_of() {
    Test::new().run("setup codex --scope project").snapshot();
}

#[test]
fn without_a_place_to_write_nothing_is_changed() {
    Test::new()
        .env("HOME", "/nowhere")
        .run("setup cursor")
        .file("home/blocked", "")
        .env("TASKYARD_HOME", "../blocked/data")
        .run("setup cursor --scope project")
        .run("setup cursor --scope project --dry-run --quiet")
        .snapshot();
}

#[cfg(unix)]
#[test]
fn a_person_is_asked() {
    installed()
        .on_terminal(72, "setup codex", "n\n")
        .on_terminal(72, "setup codex", "y\n")
        .on_terminal(72, "setup codex --remove --yes", "")
        .snapshot();
}

const SETTINGS: &str = "home/project/.claude/settings.json";

/// Returns the list that the project's settings name for the client's own tools.
fn list_in_settings(test: &Test) -> serde_json::Value {
    variables_in_settings(test)["CLAUDE_CODE_TASK_LIST_ID"].clone()
}

/// Returns the variables that the project's settings set for the client.
fn variables_in_settings(test: &Test) -> serde_json::Value {
    let text = std::fs::read_to_string(test.path(SETTINGS)).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["env"].clone()
}

#[test]
fn project_setup_makes_the_client_offer_its_task_tools() {
    let test = installed().quietly("setup claude --scope project");
    assert_eq!(variables_in_settings(&test)["CLAUDE_CODE_ENABLE_TODO_TOOLS"], "1");
}

#[test]
fn setup_again_adds_the_variable_an_older_setup_lacked() {
    let older = r#"{"env": {"CLAUDE_CODE_TASK_LIST_ID": "project"}}"#;
    let test = installed().file(SETTINGS, older).quietly("setup claude --scope project");
    assert_eq!(variables_in_settings(&test)["CLAUDE_CODE_ENABLE_TODO_TOOLS"], "1");
}

#[test]
fn task_tools_that_somebody_switched_off_stay_off() {
    let off = r#"{"env": {"CLAUDE_CODE_ENABLE_TODO_TOOLS": "0"}}"#;
    let test = installed().file(SETTINGS, off).quietly("setup claude --scope project");
    assert_eq!(variables_in_settings(&test)["CLAUDE_CODE_ENABLE_TODO_TOOLS"], "0");
    let test = test.quietly("setup claude --scope project --remove");
    assert_eq!(std::fs::read_to_string(test.path(SETTINGS)).unwrap(), off);
}

#[test]
fn project_setup_points_client_tools_to_the_shared_list() {
    let test = installed().file(SETTINGS, "{\n  \"env\": {\n    \"LANG\": \"C\"\n  }\n}\n");
    let before = std::fs::read_to_string(test.path(SETTINGS)).unwrap();
    let test = test.run("setup claude --scope project --dry-run");
    assert_eq!(std::fs::read_to_string(test.path(SETTINGS)).unwrap(), before);
    let test = test.quietly("setup claude --scope project");
    assert_eq!(list_in_settings(&test), "project");
    let test = test.quietly("setup claude --scope project --remove");
    assert_eq!(std::fs::read_to_string(test.path(SETTINGS)).unwrap(), before);
    test.snapshot();
}

#[test]
fn the_list_is_the_one_of_the_root_of_the_project() {
    let test = installed().file("home/project/.git/HEAD", "").file("home/project/src/x", "").quietly("use launch");
    let test = test.inside("src").quietly("use inner").quietly("setup claude --scope project");
    assert_eq!(list_in_settings(&test), "launch");
}

#[test]
fn where_sessions_have_lists_of_their_own_no_list_is_set() {
    let test = installed().file("home/.config/taskyard/taskyard.toml", "list = \"session\"");
    let test = test.quietly("setup claude --scope project");
    assert_eq!(list_in_settings(&test), serde_json::Value::Null);
}

#[test]
fn a_list_that_somebody_else_set_stays_whatever_we_do() {
    let other = "{\n  \"env\": {\n    \"CLAUDE_CODE_TASK_LIST_ID\": \"theirs\"\n  }\n}\n";
    let test = installed().file(SETTINGS, other).run("setup claude --scope project --dry-run");
    let test = test.quietly("setup claude --scope project");
    assert_eq!(list_in_settings(&test), "theirs");
    let test = test.quietly("setup claude --scope project --remove");
    assert_eq!(std::fs::read_to_string(test.path(SETTINGS)).unwrap(), other);
    // Also one that is set to what we would set, and also where we know nothing of what was added.
    let same = other.replace("theirs", "project");
    let test = test
        .file(SETTINGS, &same)
        .quietly("setup claude --scope project")
        .quietly("setup claude --scope project --remove");
    assert_eq!(std::fs::read_to_string(test.path(SETTINGS)).unwrap(), same);
    let test = test.quietly("setup claude --scope project --remove");
    assert_eq!(list_in_settings(&test), "project");
    test.snapshot();
}

#[test]
fn list_changed_since_is_kept_and_unchanged_one_removed() {
    let edited = |from: &str, to: &str| {
        let test = installed().quietly("setup claude --scope project");
        let text = std::fs::read_to_string(test.path(SETTINGS)).unwrap().replace(from, to);
        test.file(SETTINGS, text)
    };
    let changed = edited("\"project\"", "\"renamed\"").run("setup claude --scope project --remove");
    assert_eq!(list_in_settings(&changed), "renamed");
    // The rest of the file changed, and by now the list of the directory is another.
    let moved = edited("\"hooks\"", "\"model\": \"opus\",\n  \"hooks\"").quietly("use elsewhere");
    let moved = moved.quietly("setup claude --scope project --remove");
    let left = std::fs::read_to_string(moved.path(SETTINGS)).unwrap();
    assert!(left.contains("opus") && !left.contains("env") && !left.contains("hooks"), "{left}");
    changed.snapshot();
}

#[test]
fn user_scope_setup_sets_no_list_and_says_how_to() {
    let mut test = installed().run("setup claude --dry-run --quiet").quietly("setup claude");
    let settings = std::fs::read_to_string(test.path("home/.claude/settings.json")).unwrap();
    assert!(!settings.contains("CLAUDE_CODE_TASK_LIST_ID"), "{settings}");
    assert!(!settings.contains("CLAUDE_CODE_ENABLE_TODO_TOOLS"), "{settings}");
    assert!(test.json("setup claude --json")["stillNeeded"].as_str().unwrap().contains("--scope project"));
    test.run("setup claude").snapshot();
}

#[test]
fn a_project_does_not_hide_the_status_line_that_a_user_has() {
    let own = "{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}\n}\n";
    let mut test = installed().file("home/.claude/settings.json", own);
    let ran = test.json("setup claude --scope project --statusline --json");
    assert!(ran.to_string().contains("settings.json"), "{ran}");
    let of_project = |test: &Test| std::fs::read_to_string(test.path(SETTINGS)).unwrap();
    assert!(!of_project(&test).contains("statusLine"), "{}", of_project(&test));
    let test = test.file("home/.claude/settings.json", "{}").quietly("setup claude --scope project --statusline");
    assert!(of_project(&test).contains("taskyard statusline"));
}

#[test]
fn status_line_is_added_on_request_and_kept_if_present() {
    let own = "{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}\n}\n";
    let test = installed()
        .quietly("setup claude --statusline")
        .run("setup claude --statusline")
        .run("setup codex --statusline");
    let settings = std::fs::read_to_string(test.path("home/.claude/settings.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!(settings["statusLine"], serde_json::json!({"type": "command", "command": "taskyard statusline"}));
    let test = test.quietly("setup claude --remove");
    assert!(
        !std::fs::read_to_string(test.path("home/.claude/settings.json")).unwrap_or_default().contains("statusLine")
    );
    let test =
        test.file("home/.claude/settings.json", own).run("setup claude --statusline").quietly("setup claude --remove");
    assert_eq!(std::fs::read_to_string(test.path("home/.claude/settings.json")).unwrap(), own);
    test.snapshot();
}
