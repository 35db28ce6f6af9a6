//! Visual Studio Code: an entry in the `mcp.json` of the workspace, or of the user's default profile.

use std::path::PathBuf;

use crate::config_edit::Entry;

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, stdio_server};
use super::{Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => profile(options)?,
        Scope::Project => options.project.join(".vscode"),
    };
    let entry = Entry::member(&["servers", NAME], stdio_server());
    Ok(vec![Target { path: directory.join("mcp.json"), ours: Ours::Json(vec![entry]) }])
}

fn profile(options: &SetupOptions) -> Result<PathBuf, SetupError> {
    if cfg!(target_os = "macos") {
        options.in_home("Library/Application Support/Code/User")
    } else if cfg!(windows) {
        options.in_home("AppData/Roaming/Code/User")
    } else {
        options.in_config("Code/User")
    }
}
