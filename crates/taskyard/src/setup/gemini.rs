//! Gemini CLI: an entry in its `settings.json`, which may hold comments.

use taskyard_core::config_edit::Entry;

use super::places::SetupPlaces;
use super::target::{NAME, Ours, Target, server};
use super::{Scope, SetupError};

pub(super) fn targets(places: &SetupPlaces, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => places.in_home(".gemini")?,
        Scope::Project => places.project.join(".gemini"),
    };
    let entry = Entry::member(&["mcpServers", NAME], server());
    Ok(vec![Target { path: directory.join("settings.json"), ours: Ours::Json(vec![entry]) }])
}
