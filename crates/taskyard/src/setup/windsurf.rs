//! Windsurf: an entry in its `mcp_config.json`. It knows no servers of a project.

use taskyard_core::config_edit::Entry;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, server};
use super::{Agent, Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    if scope == Scope::Project {
        return Err(SetupError::OnlyForUser { agent: Agent::Windsurf });
    }
    let path = options.in_home(".codeium/windsurf/mcp_config.json")?;
    Ok(vec![Target { path, ours: Ours::Json(vec![Entry::member(&["mcpServers", NAME], server())]) }])
}
