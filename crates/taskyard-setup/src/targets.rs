//! The configuration files of each agent, and the entry that goes into them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::SetupError;
use super::agent::{Agent, Scope, Wish};
use super::planning::read;
use crate::agent::{NAME, Ours, SetupOptions, Target, server, stdio_server, stdio_server_for_claims};
use crate::config_edit::toml_entries::TableEntry;
use crate::config_edit::{Entry, json_entries};

impl Agent {
    /// Returns the files of the agent and our entries in them; the first one contains our server.
    pub(super) fn targets(self, options: &SetupOptions, scope: Scope, wish: Wish) -> Result<Vec<Target>, SetupError> {
        match self {
            Self::Claude => claude_targets(options, scope, wish),
            Self::Codex => codex_targets(options, scope),
            Self::Gemini => gemini_targets(options, scope),
            Self::Cursor => cursor_targets(options, scope),
            Self::Vscode => vscode_targets(options, scope),
            Self::Opencode => opencode_targets(options, scope),
            Self::Copilot => copilot_targets(options, scope),
            Self::Zed => zed_targets(options, scope),
            Self::Amp => amp_targets(options, scope),
            Self::Goose => goose_targets(options, scope),
            Self::Windsurf
            | Self::Qwen
            | Self::Droid
            | Self::Auggie
            | Self::Cline
            | Self::Kiro
            | Self::Roo
            | Self::Junie => mcp_json_targets(self, options, scope),
        }
    }
}

/// The path of Roo Code's user-level servers below VS Code's settings directory.
const ROO_OF_USER: &str = "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json";

pub(super) fn mcp_json_targets(agent: Agent, options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let path = match scope {
        Scope::User => of_user(agent, options)?,
        Scope::Project => options.project.join(of_project(agent)?),
    };
    let entry = Entry::member(&["mcpServers", NAME], entry_of(agent));
    Ok(vec![Target { path, ours: Ours::Json(vec![entry]) }])
}

fn of_user(agent: Agent, options: &SetupOptions) -> Result<PathBuf, SetupError> {
    match agent {
        Agent::Windsurf => options.in_home(".codeium/windsurf/mcp_config.json"),
        Agent::Qwen => options.in_home(".qwen/settings.json"),
        Agent::Droid => options.in_home(".factory/mcp.json"),
        Agent::Auggie => options.in_home(".augment/settings.json"),
        Agent::Cline => options.in_home(".cline/data/settings/cline_mcp_settings.json"),
        Agent::Kiro => options.in_home(".kiro/settings/mcp.json"),
        Agent::Roo if cfg!(target_os = "macos") => {
            options.in_home("Library/Application Support").map(|of| of.join(ROO_OF_USER))
        }
        Agent::Roo => options.in_config(ROO_OF_USER),
        _ => options.in_home(".junie/mcp/mcp.json"),
    }
}

fn of_project(agent: Agent) -> Result<&'static str, SetupError> {
    Ok(match agent {
        Agent::Qwen => ".qwen/settings.json",
        Agent::Droid => ".factory/mcp.json",
        Agent::Auggie => ".augment/settings.json",
        Agent::Windsurf | Agent::Cline => return Err(SetupError::OnlyForUser { agent }),
        Agent::Kiro => ".kiro/settings/mcp.json",
        Agent::Roo => ".roo/mcp.json",
        _ => ".junie/mcp/mcp.json",
    })
}

/// Returns the entry in the form that the agent itself writes.
fn entry_of(agent: Agent) -> Value {
    match agent {
        Agent::Droid | Agent::Auggie => stdio_server(),
        Agent::Cline => json!({ "transport": stdio_server() }),
        _ => server(),
    }
}

pub(super) fn amp_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_config("amp")?,
        Scope::Project => options.project.join(".amp"),
    };
    let with_comments = directory.join("settings.jsonc");
    let path = if with_comments.exists() { with_comments } else { directory.join("settings.json") };
    // One key with a dot in it, not a path of two keys.
    let entry = Entry::member(&["amp.mcpServers", NAME], server());
    Ok(vec![Target { path, ours: Ours::Json(vec![entry]) }])
}

/// What an agent should know about working here.
pub const SKILL: &str = include_str!("skill.md");

/// The hooks: the event, its command, and the client's timeout in seconds. A hanging disk must not hold up a session;
/// completing tasks may run the user's hooks and checks.
const HOOKS: [(&str, &str, u32); 3] = [
    ("SessionStart", "taskyard hook SessionStart", 10),
    ("SessionEnd", "taskyard hook SessionEnd", 10),
    ("SubagentStop", "taskyard hook SubagentStop", 600),
];

/// Names the list for the client's own tools, our server and the shell: the client sets the variable for all of them.
const LIST_SETTING: [&str; 2] = ["env", "CLAUDE_CODE_TASK_LIST_ID"];

/// Makes the client offer its own task tools. Without it, recent releases offer them to older models only.
const TASK_TOOLS_SETTING: [&str; 2] = ["env", "CLAUDE_CODE_ENABLE_TODO_TOOLS"];

/// What prints the client's status line.
const STATUS_LINE: &str = "taskyard statusline";

/// The maximum size of a settings file; a larger one is ignored.
const LARGEST: u64 = 16 << 20;

/// Returns the user's settings if they have a status line that is not ours, which a project's would hide.
pub fn users_own_status_line(options: &SetupOptions) -> Option<PathBuf> {
    let path = options.moved_or_in_home(options.claude_config.as_deref(), ".claude", "settings.json").ok()?;
    let settings: Value = serde_json::from_slice(&taskyard::regular_file::read_following(&path, LARGEST).ok()?).ok()?;
    let line = settings.get("statusLine").filter(|line| !line.is_null())?;
    (line["command"] != STATUS_LINE).then_some(path)
}

pub(super) fn claude_targets(options: &SetupOptions, scope: Scope, wish: Wish) -> Result<Vec<Target>, SetupError> {
    let moved = options.claude_config.as_deref();
    let (servers, config) = match scope {
        // The client keeps this file beside its directory, or in it if the directory was moved.
        Scope::User => {
            (options.moved_or_in_home(moved, "", ".claude.json")?, options.moved_or_in_home(moved, ".claude", "")?)
        }
        Scope::Project => (options.project.join(".mcp.json"), options.project.join(".claude")),
    };
    let mut settings: Vec<Entry> =
        HOOKS.iter().map(|(event, command, seconds)| Entry::hook(&["hooks", event], command, *seconds)).collect();
    if matches!(wish, Wish::RegisterAndAllowTools | Wish::Remove) {
        settings.push(Entry::word(&["permissions", "allow"], "mcp__taskyard"));
    }
    // The list of one project must not become the list of all projects.
    let shares_list = scope == Scope::Project && options.project_list.is_some();
    if shares_list || (scope == Scope::Project && wish == Wish::Remove) {
        settings.push(Entry::setting(&LIST_SETTING, options.project_list.clone().into()));
        // In such a project our server leaves these tools to the client.
        settings.push(Entry::setting(&TASK_TOOLS_SETTING, "1".into()));
    }
    // An existing status line is kept and reported.
    if wish == Wish::Remove || options.status_line {
        settings.push(Entry::setting(&["statusLine"], json!({ "type": "command", "command": STATUS_LINE })));
    }
    // On one list most of our tools do what the client's own do.
    let server = if shares_list { stdio_server_for_claims() } else { stdio_server() };
    Ok(vec![
        Target { path: servers, ours: Ours::Json(vec![Entry::member(&["mcpServers", NAME], server)]) },
        Target { path: config.join("settings.json"), ours: Ours::Json(settings) },
        Target { path: config.join("skills").join(NAME).join("SKILL.md"), ours: Ours::Whole(SKILL) },
    ])
}

/// The variables that choose a list, a store, an agent and directories. Codex passes a server only the variables named
/// here; without them, the server would work on a different list than the agent's own commands.
const VARIABLES: [&str; 13] = [
    "TASKYARD_STORE",
    "TASKYARD_LIST",
    "TASKYARD_AGENT",
    "TASKYARD_TASK_ID",
    "TASKYARD_TASK_TOKEN",
    "TASKYARD_HOME",
    "TASKYARD_RULES",
    "TASKYARD_CLIENT_VERSION",
    "TASKYARD_LOG",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_TASK_LIST_ID",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

pub(super) fn codex_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let path = match scope {
        Scope::User => options.moved_or_in_home(options.codex_home.as_deref(), ".codex", "config.toml")?,
        Scope::Project => options.project.join(".codex").join("config.toml"),
    };
    let members = [("command", json!(NAME)), ("args", json!(["mcp"])), ("env_vars", json!(VARIABLES))];
    let members = members.map(|(key, value)| (key.to_owned(), value)).into();
    let table = TableEntry { around: "mcp_servers".to_owned(), name: NAME.to_owned(), members };
    Ok(vec![Target { path, ours: Ours::Toml(table) }])
}

pub(super) fn copilot_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let path = match scope {
        Scope::User => options.moved_or_in_home(options.copilot_home.as_deref(), ".copilot", "mcp-config.json")?,
        Scope::Project => options.project.join(".github").join("mcp.json"),
    };
    let server = json!({"type": "local", "command": NAME, "args": ["mcp"], "tools": ["*"]});
    Ok(vec![Target { path, ours: Ours::Json(vec![Entry::member(&["mcpServers", NAME], server)]) }])
}

pub(super) fn cursor_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_home(".cursor")?,
        Scope::Project => options.project.join(".cursor"),
    };
    let entry = Entry::member(&["mcpServers", NAME], stdio_server());
    Ok(vec![Target { path: directory.join("mcp.json"), ours: Ours::Json(vec![entry]) }])
}

pub(super) fn gemini_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_home(".gemini")?,
        Scope::Project => options.project.join(".gemini"),
    };
    let entry = Entry::member(&["mcpServers", NAME], server());
    Ok(vec![Target { path: directory.join("settings.json"), ours: Ours::Json(vec![entry]) }])
}

pub(super) fn goose_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    if scope == Scope::Project {
        return Err(SetupError::OnlyForUser { agent: Agent::Goose });
    }
    let members = [
        ("enabled", json!(true)),
        ("type", json!("stdio")),
        ("name", json!(NAME)),
        ("description", json!("A task list shared by agents and people")),
        ("cmd", json!(NAME)),
        ("args", json!(["mcp"])),
        ("timeout", json!(300)),
    ];
    let members = members.map(|(key, value)| (key.to_owned(), value)).into();
    let entry = TableEntry { around: "extensions".to_owned(), name: NAME.to_owned(), members };
    Ok(vec![Target { path: options.in_config("goose/config.yaml")?, ours: Ours::Yaml(entry) }])
}

pub(super) fn opencode_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_config("opencode")?,
        Scope::Project => options.project.clone(),
    };
    let path = existing(&directory);
    let way: &[&str] = if keeps_servers_apart(&path) { &["mcp", "servers", NAME] } else { &["mcp", NAME] };
    let entry = Entry::member(way, json!({"type": "local", "command": [NAME, "mcp"]}));
    Ok(vec![Target { path, ours: Ours::Json(vec![entry]) }])
}

fn existing(directory: &Path) -> PathBuf {
    let with_comments = directory.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { directory.join("opencode.json") }
}

/// Returns whether a file has the format of version 2. In version 1 a server may be named `servers`; it has a type.
fn keeps_servers_apart(path: &Path) -> bool {
    // Planning rejects a file that cannot be read.
    let Ok(Some(text)) = read(path) else { return false };
    let servers = json_entries::read(&text).ok().and_then(|config| config.get("mcp")?.get("servers").cloned());
    servers
        .as_ref()
        .and_then(Value::as_object)
        .is_some_and(|servers| !servers.get("type").is_some_and(Value::is_string))
}

pub(super) fn vscode_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => profile(options)?,
        Scope::Project => options.project.join(".vscode"),
    };
    let entry = Entry::member(&["servers", NAME], stdio_server());
    Ok(vec![Target { path: directory.join("mcp.json"), ours: Ours::Json(vec![entry]) }])
}

fn profile(options: &SetupOptions) -> Result<PathBuf, SetupError> {
    if cfg!(target_os = "macos") {
        options.in_home("Library/Application Support/Code/User")
    } else if cfg!(windows) {
        options.in_home("AppData/Roaming/Code/User")
    } else {
        options.in_config("Code/User")
    }
}

pub(super) fn zed_targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User if cfg!(windows) => options.in_home("AppData/Roaming/Zed")?,
        Scope::User if cfg!(target_os = "macos") => options.in_home(".config/zed")?,
        Scope::User => options.in_config("zed")?,
        Scope::Project => options.project.join(".zed"),
    };
    let entry = Entry::member(&["context_servers", NAME], server());
    Ok(vec![Target { path: directory.join("settings.json"), ours: Ours::Json(vec![entry]) }])
}

#[cfg(test)]
mod tests {
    use taskyard::core::rules::hooks::is_own_command;

    use super::HOOKS;

    #[test]
    fn our_hooks_are_known_by_their_text() {
        assert!(HOOKS.iter().all(|(_, command, _)| is_own_command(command)));
    }
}
