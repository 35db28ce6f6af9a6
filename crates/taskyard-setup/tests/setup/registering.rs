//! Registering with an agent on real-looking files: only our entry is added, twice is once, and removing restores the file to
//! the byte.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use taskyard_setup::config_edit::json_entries::read;
use taskyard_setup::{Agent, Outcome, Registration, Scope, SetupError, SetupOptions, Wish, plan};
use taskyard_testkit::{Random, Scale};
use tempfile::TempDir;

/// A home directory with a project in it.
struct House {
    folder: TempDir,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/project")).unwrap();
        Self { folder }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn options(&self) -> SetupOptions {
        let home = self.home();
        SetupOptions { project: home.join("project"), home: Some(home), ..SetupOptions::default() }
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Does what is wished for and returns what became of each file.
    fn wish(&self, agent: Agent, scope: Scope, wish: Wish) -> Result<Vec<Outcome>, SetupError> {
        let plan = plan(agent, scope, wish, &self.options(), &self.data())?;
        plan.apply(&self.data())?;
        Ok(plan.changes.iter().map(|change| change.outcome).collect())
    }

    /// Returns every file and directory in the home, with its contents.
    fn everything(&self) -> Vec<(PathBuf, Option<String>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let text = path.is_file().then(|| fs::read_to_string(&path).unwrap());
                if text.is_none() {
                    folders.push(path.clone());
                }
                found.push((path, text));
            }
        }
        found.sort();
        found
    }
}

/// Returns a `.claude.json` as long as those of people who have used the client for a year.
fn long_state() -> String {
    let project = |number: usize| {
        json!({
            "allowedTools": [], "history": [{"display": format!("fix \"that\" // {number}"), "pastedContents": {}}],
            "mcpServers": {}, "lastCost": 0.125, "hasTrustDialogAccepted": number.is_multiple_of(2)
        })
    };
    let projects: serde_json::Map<String, Value> =
        (0..170).map(|number| (format!("/home/ana/work/{number}"), project(number))).collect();
    let state = json!({"numStartups": 4711, "tipsHistory": {"a": 1}, "projects": projects, "oauthAccount": {"x": "y"}});
    serde_json::to_string_pretty(&state).unwrap()
}

/// JSON files as they are found in the wild.
fn documents() -> Vec<String> {
    let mut documents: Vec<String> = [
        "",
        "\n",
        "{}",
        "{\n}\n",
        "{ }",
        "\u{feff}{\n  \"theme\": \"dark\"\n}\n",
        "// settings\n{\n\t// servers I use\n\t\"mcpServers\": {\n\t\t\"git\": {\"command\": \"uvx\", \"args\": [\"mcp-server-git\"]}, // git\n\t\t/* \"off\": {} */\n\t},\n\t\"servers\": {}, // VS Code\n}",
        "{\r\n    \"mcpServers\": {\r\n        \"a\": {\r\n            \"command\": \"x\"\r\n        }\r\n    },\r\n    \"z\": 1\r\n}\r\n",
        r#"{"mcpServers":{"a":{"command":"x"}},"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo"}]}]}}"#,
        "{\n  \"hooks\": {\n    \"SubagentStop\": [\n      { \"matcher\": \"\", \"hooks\": [ { \"type\": \"command\", \"command\": \"./gate.sh\" } ] }\n    ],\n    \"PreToolUse\": []\n  },\n  \"permissions\": { \"allow\": [\"Bash(ls:*)\"], \"deny\": [] },\n  \"mcpServers\": {}\n}",
        "{\"permissions\": {\"allow\": [\n  \"a\",\n  \"b\"]}, \"b\": null , \"a\" : [ ] }",
    ]
    .map(str::to_owned)
    .to_vec();
    documents.push(long_state());
    assert!(documents.last().unwrap().lines().count() > 2000);
    documents
}

/// The JSON files of each agent, by the name their path has below the home.
const JSON_FILES: [(Agent, Scope, &str); 18] = [
    (Agent::Claude, Scope::User, ".claude.json"),
    (Agent::Claude, Scope::User, ".claude/settings.json"),
    (Agent::Claude, Scope::Project, "project/.mcp.json"),
    (Agent::Claude, Scope::Project, "project/.claude/settings.json"),
    (Agent::Gemini, Scope::User, ".gemini/settings.json"),
    (Agent::Gemini, Scope::Project, "project/.gemini/settings.json"),
    (Agent::Cursor, Scope::User, ".cursor/mcp.json"),
    (Agent::Cursor, Scope::Project, "project/.cursor/mcp.json"),
    (Agent::Vscode, Scope::Project, "project/.vscode/mcp.json"),
    (Agent::Opencode, Scope::User, ".config/opencode/opencode.json"),
    (Agent::Opencode, Scope::Project, "project/opencode.jsonc"),
    (Agent::Copilot, Scope::User, ".copilot/mcp-config.json"),
    (Agent::Copilot, Scope::Project, "project/.github/mcp.json"),
    (Agent::Zed, Scope::User, ".config/zed/settings.json"),
    (Agent::Zed, Scope::Project, "project/.zed/settings.json"),
    (Agent::Windsurf, Scope::User, ".codeium/windsurf/mcp_config.json"),
    (Agent::Amp, Scope::User, ".config/amp/settings.jsonc"),
    (Agent::Amp, Scope::Project, "project/.amp/settings.json"),
];

/// Sets an agent up, twice, and takes it back; at the end everything is as it was.
#[track_caller]
fn there_and_back(house: &House, agent: Agent, scope: Scope) {
    let before = house.everything();
    house.wish(agent, scope, Wish::RegisterAndAllowTools).unwrap();
    let after = house.everything();
    assert_ne!(before, after);
    let again = house.wish(agent, scope, Wish::RegisterAndAllowTools).unwrap();
    assert!(again.iter().all(|outcome| *outcome == Outcome::Unchanged), "{again:?}");
    assert_eq!(house.everything(), after);
    house.wish(agent, scope, Wish::Remove).unwrap();
    assert_eq!(house.everything(), before);
}

#[test]
fn every_agent_is_set_up_and_forgotten_without_a_trace() {
    for agent in Agent::ALL {
        for scope in [Scope::User, Scope::Project] {
            let house = House::new();
            if matches!((agent, scope), (Agent::Windsurf | Agent::Goose | Agent::Cline, Scope::Project)) {
                let refused = house.wish(agent, scope, Wish::RegisterAndAllowTools);
                assert!(matches!(refused, Err(SetupError::OnlyForUser { .. })), "{agent:?}: {refused:?}");
                continue;
            }
            there_and_back(&house, agent, scope);
            let again = house.wish(agent, scope, Wish::Remove).unwrap();
            assert!(again.iter().all(|outcome| *outcome == Outcome::Unchanged), "{again:?}");
        }
    }
}

#[test]
fn files_as_they_are_found_in_the_wild_come_back_byte_for_byte() {
    for text in documents() {
        for (agent, scope, path) in JSON_FILES {
            let house = House::new();
            house.file(path, &text);
            there_and_back(&house, agent, scope);
        }
    }
    for text in [
        "",
        "model = \"x\" # mine\r\n\r\n[tui]\r\nnotifications = true",
        "\u{feff}# c\n[mcp_servers.a]\ncommand = \"x\"\n\n\n",
    ] {
        let house = House::new();
        house.file(".codex/config.toml", text);
        there_and_back(&house, Agent::Codex, Scope::User);
    }
}

#[test]
fn random_documents_come_back_byte_for_byte() {
    let mut random = Random::new(20_261_115);
    let house = House::new();
    for _ in 0..Scale::from_environment(0.1).of(2_000) {
        let text = random_document(&mut random);
        let before = read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let file = house.file(".gemini/settings.json", &text);
        let outcome = house.wish(Agent::Gemini, Scope::User, Wish::Register).unwrap();
        assert_eq!(outcome, [Outcome::Changed], "{text}");
        let once = fs::read_to_string(&file).unwrap();
        let mut meaning = read(&once).unwrap();
        assert!(meaning["mcpServers"].as_object_mut().unwrap().remove("taskyard").is_some());
        if before.get("mcpServers").is_none() {
            meaning.as_object_mut().unwrap().remove("mcpServers");
        }
        assert_eq!(meaning, before, "{text}");
        assert_eq!(house.wish(Agent::Gemini, Scope::User, Wish::Register).unwrap(), [Outcome::Unchanged]);
        house.wish(Agent::Gemini, Scope::User, Wish::Remove).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

/// Returns an object with comments, odd spaces and trailing commas in every place.
fn random_document(random: &mut Random) -> String {
    let mut text = gap(random);
    value(random, 4, &mut text);
    text.push_str(&gap(random));
    if random.below(4) == 0 { text.replace('\n', "\r\n") } else { text }
}

fn value(random: &mut Random, depth: usize, text: &mut String) {
    let is_root = depth == 4;
    let kind = if is_root { 0 } else { random.below(if depth == 0 { 4 } else { 6 }) };
    match kind {
        2 => text.push_str("\"// {, \\\" é\""),
        3 => text.push_str("-1.50e+2"),
        _ if depth == 0 => text.push_str("null"),
        1 | 4 => list(random, depth, '[', ']', text),
        _ => list(random, depth, '{', '}', text),
    }
}

fn list(random: &mut Random, depth: usize, open: char, close: char, text: &mut String) {
    text.push(open);
    let count = random.below(4);
    for number in 0..count {
        text.push_str(&gap(random));
        if open == '{' {
            let name = if random.below(3) == 0 { "mcpServers".to_owned() } else { format!("k{number}") };
            text.push_str(&format!("\"{name}\"{}:{}", gap(random), gap(random)));
            if depth == 4 && name == "mcpServers" {
                list(random, depth - 1, '{', '}', text);
                text.push_str(&gap(random));
                text.push_str(if number + 1 < count { "," } else { "" });
                continue;
            }
        }
        value(random, depth - 1, text);
        text.push_str(&gap(random));
        text.push_str(if number + 1 < count || random.below(3) == 0 { "," } else { "" });
    }
    text.push_str(&gap(random));
    text.push(close);
}

fn gap(random: &mut Random) -> String {
    let parts = ["", "", "", " ", "\n", "\n  ", "\t", " // \"c\", {\n", "/* , } */", "\n /* a\n b */"];
    [*random.pick(&parts), *random.pick(&parts)].concat()
}

#[test]
fn an_entry_for_opencode_goes_where_the_file_keeps_its_servers() {
    let server = json!({"type": "local", "command": ["taskyard", "mcp"]});
    let cases = [
        ("{}", json!({"mcp": {"taskyard": server}})),
        ("{\"mcp\": {\"servers\": {}}}", json!({"mcp": {"servers": {"taskyard": server}}})),
        (
            "{\"mcp\": {\"servers\": {\"type\": \"local\", \"command\": [\"x\"]}}}",
            json!({"mcp": {"servers": {"type": "local", "command": ["x"]}, "taskyard": server}}),
        ),
    ];
    for (text, expected) in cases {
        let house = House::new();
        let file = house.file("project/opencode.json", text);
        house.wish(Agent::Opencode, Scope::Project, Wish::Register).unwrap();
        assert_eq!(read(&fs::read_to_string(&file).unwrap()).unwrap(), expected);
        assert!(matches!(Agent::Opencode.registration(Scope::Project, &house.options()), Registration::Registered));
    }
}

#[test]
fn an_agent_is_found_by_its_program_or_its_directory() {
    let house = House::new();
    let mut options = house.options();
    assert!(Agent::ALL.iter().all(|agent| agent.found(&options).is_none()));
    // Lists of ours alone make no client.
    fs::create_dir_all(house.home().join(".claude/tasks")).unwrap();
    assert_eq!(Agent::Claude.found(&options), None);
    let state = house.file(".claude.json", "{}");
    assert_eq!(Agent::Claude.found(&options), Some(state));
    let program = house.file("bin/zeditor", "");
    options.programs = vec![house.home().join("nowhere"), house.home().join("bin")];
    assert_eq!(Agent::Zed.found(&options), Some(program));
    assert!(Agent::Amp.found(&options).is_none());
}

#[test]
fn what_was_added_in_two_steps_goes_in_one() {
    let house = House::new();
    house.file(".claude/settings.json", "{\n   \"hooks\": { \"Stop\": [] }, // mine\n}");
    let before = house.everything();
    house.wish(Agent::Claude, Scope::User, Wish::Register).unwrap();
    let second = house.wish(Agent::Claude, Scope::User, Wish::RegisterAndAllowTools).unwrap();
    assert_eq!(second, [Outcome::Unchanged, Outcome::Changed, Outcome::Unchanged]);
    house.wish(Agent::Claude, Scope::User, Wish::Remove).unwrap();
    assert_eq!(house.everything(), before);
}

#[test]
fn what_others_added_since_stays_when_we_go() {
    let house = House::new();
    let file = house.file(".claude.json", "{\n  \"numStartups\": 1\n}");
    house.wish(Agent::Claude, Scope::User, Wish::Register).unwrap();
    // The client writes the whole file anew, as it does at every start, with one server more.
    let mut state: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    state["numStartups"] = json!(2);
    state["mcpServers"]["other"] = json!({"command": "x"});
    fs::write(&file, serde_json::to_string_pretty(&state).unwrap()).unwrap();
    house.wish(Agent::Claude, Scope::User, Wish::Remove).unwrap();
    let left = json!({"numStartups": 2, "mcpServers": {"other": {"command": "x"}}});
    assert_eq!(fs::read_to_string(&file).unwrap(), serde_json::to_string_pretty(&left).unwrap());
}

#[test]
fn object_created_by_setup_is_removed_with_it() {
    let house = House::new();
    let file = house.file(".claude.json", "{\n  \"numStartups\": 1\n}");
    house.wish(Agent::Claude, Scope::User, Wish::Register).unwrap();
    let text = fs::read_to_string(&file).unwrap().replace(": 1,", ": 2,");
    fs::write(&file, text).unwrap();
    house.wish(Agent::Claude, Scope::User, Wish::Remove).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"numStartups\": 2\n}");
}

#[test]
fn without_our_memory_exactly_our_entries_are_removed() {
    let house = House::new();
    let settings = house
        .file(".claude/settings.json", "{\n  \"hooks\": {\n    \"SessionStart\": []\n  },\n  \"model\": \"x\"\n}\n");
    house.wish(Agent::Claude, Scope::User, Wish::RegisterAndAllowTools).unwrap();
    fs::remove_dir_all(house.data()).unwrap();
    house.wish(Agent::Claude, Scope::User, Wish::Remove).unwrap();
    let left = json!({"hooks": {"SessionStart": [], "SessionEnd": [], "SubagentStop": []}, "model": "x", "permissions": {"allow": []}});
    assert_eq!(read(&fs::read_to_string(settings).unwrap()).unwrap(), left);
}

#[test]
fn what_the_user_wrote_about_us_is_left_as_it_is() {
    let house = House::new();
    let text =
        "{\"mcpServers\": {\"taskyard\": {\"command\": \"/opt/taskyard\", \"args\": [\"mcp\", \"--tools\", \"all\"]}}}";
    let file = house.file(".cursor/mcp.json", text);
    let found = plan(Agent::Cursor, Scope::User, Wish::Register, &house.options(), &house.data()).unwrap();
    assert_eq!(found.changes[0].outcome, Outcome::Unchanged);
    assert_eq!(found.changes[0].otherwise, ["mcpServers.taskyard"]);
    let skill = house.file(".claude/skills/taskyard/SKILL.md", "my own\n");
    house.wish(Agent::Claude, Scope::User, Wish::Register).unwrap();
    house.wish(Agent::Claude, Scope::User, Wish::Remove).unwrap();
    assert_eq!(fs::read_to_string(skill).unwrap(), "my own\n");
    assert_eq!(fs::read_to_string(file).unwrap(), text);
}

#[test]
fn a_broken_file_is_refused_and_no_file_is_touched() {
    let house = House::new();
    house.file(".claude.json", "{\"a\": 1}");
    house.file(".claude/settings.json", "{\n  \"hooks\": {\n");
    let before = house.everything();
    for wish in [Wish::Register, Wish::Remove] {
        let refused = house.wish(Agent::Claude, Scope::User, wish);
        assert!(
            matches!(&refused, Err(SetupError::Unfit { path, .. }) if path.ends_with("settings.json")),
            "{refused:?}"
        );
    }
    assert_eq!(house.everything(), before);
    fs::write(house.home().join(".claude/settings.json"), b"{\n \"a\": \"\xff\"}").unwrap();
    let refused = house.wish(Agent::Claude, Scope::User, Wish::Register).unwrap_err();
    assert!(refused.to_string().ends_with("line 2: it is not UTF-8"), "{refused}");
}

#[test]
fn file_changed_between_plan_and_write_is_not_overwritten() {
    let house = House::new();
    let file = house.file(".gemini/settings.json", "{}");
    let planned = plan(Agent::Gemini, Scope::User, Wish::Register, &house.options(), &house.data()).unwrap();
    fs::write(&file, "{\"theme\": 1}").unwrap();
    assert!(matches!(planned.apply(&house.data()), Err(SetupError::ChangedMeanwhile { .. })));
    assert_eq!(fs::read_to_string(file).unwrap(), "{\"theme\": 1}");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let house = House::new();
    let real = house.file("dotfiles/claude.json", "{\n}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    let link = house.home().join(".claude.json");
    symlink("dotfiles/claude.json", &link).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    house.wish(Agent::Claude, Scope::User, Wish::Register).unwrap();
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("taskyard"));
    assert_eq!(mode(&real), 0o640);
    house.wish(Agent::Claude, Scope::User, Wish::Remove).unwrap();
    assert!(link.is_symlink());
    assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode(&real)), ("{\n}\n", 0o640));
    assert!(house.everything().iter().all(|(path, _)| !path.to_string_lossy().contains(".taskyard-")));
}

#[test]
fn directories_that_were_moved_are_found() {
    let house = House::new();
    let (claude, codex) = (house.folder.path().join("c"), house.folder.path().join("x"));
    let options =
        SetupOptions { claude_config: Some(claude.clone()), codex_home: Some(codex.clone()), ..house.options() };
    for (agent, expected) in [
        (
            Agent::Claude,
            vec![claude.join(".claude.json"), claude.join("settings.json"), claude.join("skills/taskyard/SKILL.md")],
        ),
        (Agent::Codex, vec![codex.join("config.toml")]),
    ] {
        let plan = plan(agent, Scope::User, Wish::Register, &options, &house.data()).unwrap();
        let paths: Vec<PathBuf> = plan.changes.into_iter().map(|change| change.path).collect();
        assert_eq!(paths, expected);
    }
    let nowhere = SetupOptions { home: None, ..house.options() };
    assert!(matches!(
        plan(Agent::Cursor, Scope::User, Wish::Register, &nowhere, &house.data()),
        Err(SetupError::NoHome)
    ));
}
