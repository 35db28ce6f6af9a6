//! Amp: an entry in its `settings.json` or `settings.jsonc`, whichever is there.

use crate::config_edit::Entry;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, server};
use super::{Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_config("amp")?,
        Scope::Project => options.project.join(".amp"),
    };
    let with_comments = directory.join("settings.jsonc");
    let path = if with_comments.exists() { with_comments } else { directory.join("settings.json") };
    // One name with a dot in it, not a way of two names.
    let entry = Entry::member(&["amp.mcpServers", NAME], server());
    Ok(vec![Target { path, ours: Ours::Json(vec![entry]) }])
}
