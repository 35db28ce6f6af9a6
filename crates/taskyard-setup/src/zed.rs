//! Zed: an entry in its `settings.json`, which may hold comments.

use crate::config_edit::Entry;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, server};
use super::{Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User if cfg!(windows) => options.in_home("AppData/Roaming/Zed")?,
        Scope::User if cfg!(target_os = "macos") => options.in_home(".config/zed")?,
        Scope::User => options.in_config("zed")?,
        Scope::Project => options.project.join(".zed"),
    };
    let entry = Entry::member(&["context_servers", NAME], server());
    Ok(vec![Target { path: directory.join("settings.json"), ours: Ours::Json(vec![entry]) }])
}
