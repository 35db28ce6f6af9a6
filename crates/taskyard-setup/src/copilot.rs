//! Copilot CLI: an entry in its `mcp-config.json`, or in the `.github/mcp.json` of a project.

use crate::config_edit::Entry;
use serde_json::json;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target};
use super::{Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let path = match scope {
        Scope::User => options.moved_or_in_home(options.copilot_home.as_deref(), ".copilot", "mcp-config.json")?,
        Scope::Project => options.project.join(".github").join("mcp.json"),
    };
    let server = json!({"type": "local", "command": NAME, "args": ["mcp"], "tools": ["*"]});
    Ok(vec![Target { path, ours: Ours::Json(vec![Entry::member(&["mcpServers", NAME], server)]) }])
}
