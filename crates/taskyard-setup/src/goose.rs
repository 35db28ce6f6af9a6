//! Goose: an extension in its `config.yaml`. It knows no servers of a project.

use crate::config_edit::toml::TableEntry;
use serde_json::json;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target};
use super::{Agent, Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
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
