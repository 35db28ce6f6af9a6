//! Cursor: an entry in its `mcp.json`.

use crate::config_edit::Entry;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, stdio_server};
use super::{Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_home(".cursor")?,
        Scope::Project => options.project.join(".cursor"),
    };
    let entry = Entry::member(&["mcpServers", NAME], stdio_server());
    Ok(vec![Target { path: directory.join("mcp.json"), ours: Ours::Json(vec![entry]) }])
}
