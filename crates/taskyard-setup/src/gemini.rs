//! Gemini CLI: an entry in its `settings.json`, which may hold comments.

use crate::config_edit::Entry;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, server};
use super::{Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_home(".gemini")?,
        Scope::Project => options.project.join(".gemini"),
    };
    let entry = Entry::member(&["mcpServers", NAME], server());
    Ok(vec![Target { path: directory.join("settings.json"), ours: Ours::Json(vec![entry]) }])
}
