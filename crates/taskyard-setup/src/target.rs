//! A file of an agent, and what of ours belongs in it.

use std::path::PathBuf;

use crate::config_edit::Entry;
use crate::config_edit::toml::TableEntry;
use serde_json::{Value, json};

/// The name our server is registered under.
pub(super) const NAME: &str = "taskyard";

/// A file of an agent, and what of ours belongs in it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) ours: Ours,
}

/// What of ours belongs in a file.
#[derive(Clone, Debug)]
pub(super) enum Ours {
    /// Entries in a JSON file.
    Json(Vec<Entry>),
    /// A table in a TOML file.
    Toml(TableEntry),
    /// A mapping in a YAML file.
    Yaml(TableEntry),
    /// The whole file.
    Whole(&'static str),
}

/// Returns what starts our server, as nearly every agent writes it.
pub(super) fn server() -> Value {
    json!({"command": NAME, "args": ["mcp"]})
}

/// Returns what starts our server with the tools for claims alone, for an agent whose own tools work on the same list.
pub(super) fn stdio_server_for_claims() -> Value {
    json!({"type": "stdio", "command": NAME, "args": ["mcp", "--tools", "claims"]})
}

/// Returns what starts our server, for agents that want to be told how they speak with it.
pub(super) fn stdio_server() -> Value {
    json!({"type": "stdio", "command": NAME, "args": ["mcp"]})
}
