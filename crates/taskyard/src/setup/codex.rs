//! Codex: a table in its `config.toml`. That of a project counts for Codex once the project is trusted there.

use serde_json::json;
use taskyard_core::config_edit::toml::TableEntry;

use super::places::SetupPlaces;
use super::target::{NAME, Ours, Target};
use super::{Scope, SetupError};

pub(super) fn targets(places: &SetupPlaces, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let path = match scope {
        Scope::User => places.moved_or_in_home(places.codex_home.as_deref(), ".codex", "config.toml")?,
        Scope::Project => places.project.join(".codex").join("config.toml"),
    };
    let members = vec![("command".to_owned(), json!(NAME)), ("args".to_owned(), json!(["mcp"]))];
    let table = TableEntry { around: "mcp_servers".to_owned(), name: NAME.to_owned(), members };
    Ok(vec![Target { path, ours: Ours::Toml(table) }])
}
