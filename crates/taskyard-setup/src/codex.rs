//! Codex: a table in its `config.toml`. That of a project counts for Codex once the project is trusted there.

use crate::config_edit::toml::TableEntry;
use serde_json::json;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target};
use super::{Scope, SetupError};

/// The variables that choose a list, a store, an agent and where things lie. Codex hands a server none that is not named here, and
/// a server without them works on another list than the commands the same agent runs.
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

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let path = match scope {
        Scope::User => options.moved_or_in_home(options.codex_home.as_deref(), ".codex", "config.toml")?,
        Scope::Project => options.project.join(".codex").join("config.toml"),
    };
    let members = [("command", json!(NAME)), ("args", json!(["mcp"])), ("env_vars", json!(VARIABLES))];
    let members = members.map(|(key, value)| (key.to_owned(), value)).into();
    let table = TableEntry { around: "mcp_servers".to_owned(), name: NAME.to_owned(), members };
    Ok(vec![Target { path, ours: Ours::Toml(table) }])
}
