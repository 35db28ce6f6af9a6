//! Cursor: an entry in its `mcp.json`.

use taskyard_core::config_edit::Entry;

use super::places::SetupPlaces;
use super::target::{NAME, Ours, Target, stdio_server};
use super::{Scope, SetupError};

pub(super) fn targets(places: &SetupPlaces, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => places.in_home(".cursor")?,
        Scope::Project => places.project.join(".cursor"),
    };
    let entry = Entry::member(&["mcpServers", NAME], stdio_server());
    Ok(vec![Target { path: directory.join("mcp.json"), ours: Ours::Json(vec![entry]) }])
}
