//! opencode: an entry in its `opencode.json` or `opencode.jsonc`, whichever is there. Version 1 keeps servers under `mcp`, version 2
//! under `mcp.servers`; an entry goes where the file keeps the others.

use std::path::{Path, PathBuf};

use crate::config_edit::{Entry, json};
use serde_json::{Value, json};

use super::planning::read;
use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target};
use super::{Scope, SetupError};

pub(super) fn targets(options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let directory = match scope {
        Scope::User => options.in_config("opencode")?,
        Scope::Project => options.project.clone(),
    };
    let path = existing(&directory);
    let way: &[&str] = if keeps_servers_apart(&path) { &["mcp", "servers", NAME] } else { &["mcp", NAME] };
    let entry = Entry::member(way, json!({"type": "local", "command": [NAME, "mcp"]}));
    Ok(vec![Target { path, ours: Ours::Json(vec![entry]) }])
}

fn existing(directory: &Path) -> PathBuf {
    let with_comments = directory.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { directory.join("opencode.json") }
}

/// Tells whether a file keeps its servers as version 2 has them. A server of version 1 may be called `servers`; it has a type.
fn keeps_servers_apart(path: &Path) -> bool {
    // A file that cannot be read is refused where it is planned.
    let Ok(Some(text)) = read(path) else { return false };
    let servers = json::read(&text).ok().and_then(|config| config.get("mcp")?.get("servers").cloned());
    servers
        .as_ref()
        .and_then(Value::as_object)
        .is_some_and(|servers| !servers.get("type").is_some_and(Value::is_string))
}
