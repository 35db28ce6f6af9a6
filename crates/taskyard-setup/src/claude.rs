//! Claude Code: the server, the hooks, a skill, in a project the list that its own tools are to use, and where it is wished for,
//! permission for our tools and our status line.

use std::path::PathBuf;

use crate::config_edit::Entry;
use serde_json::{Value, json};

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, stdio_server, stdio_server_for_claims};
use super::{Scope, SetupError, Wish};

/// What an agent should know of working here.
pub const SKILL: &str = include_str!("skill.md");

/// The hooks: the event, what answers it, and after how many seconds the client is to go on without an answer. A disk that hangs
/// must not hold up a session; completing tasks may ask hooks and checks of the user's.
const HOOKS: [(&str, &str, u32); 3] = [
    ("SessionStart", "taskyard hook SessionStart", 10),
    ("SessionEnd", "taskyard hook SessionEnd", 10),
    ("SubagentStop", "taskyard hook SubagentStop", 600),
];

/// What unites the client's own tools, our server and the shell on one list: the variable, as the client sets it for all of them.
const LIST_SETTING: [&str; 2] = ["env", "CLAUDE_CODE_TASK_LIST_ID"];

/// What prints the client's status line.
const STATUS_LINE: &str = "taskyard statusline";

/// Larger settings are none.
const LARGEST: u64 = 16 << 20;

/// Returns the user's settings where they have a status line that is not ours: one of a project would hide it.
pub fn users_own_status_line(options: &SetupOptions) -> Option<PathBuf> {
    let path = options.moved_or_in_home(options.claude_config.as_deref(), ".claude", "settings.json").ok()?;
    let settings: Value = serde_json::from_slice(&taskyard::regular_file::read_following(&path, LARGEST).ok()?).ok()?;
    let line = settings.get("statusLine").filter(|line| !line.is_null())?;
    (line["command"] != STATUS_LINE).then_some(path)
}

pub(super) fn targets(options: &SetupOptions, scope: Scope, wish: Wish) -> Result<Vec<Target>, SetupError> {
    let moved = options.claude_config.as_deref();
    let (servers, config) = match scope {
        // The client keeps this file beside its directory, or in it where the directory was moved.
        Scope::User => {
            (options.moved_or_in_home(moved, "", ".claude.json")?, options.moved_or_in_home(moved, ".claude", "")?)
        }
        Scope::Project => (options.project.join(".mcp.json"), options.project.join(".claude")),
    };
    let mut settings: Vec<Entry> =
        HOOKS.iter().map(|(event, command, seconds)| Entry::hook(&["hooks", event], command, *seconds)).collect();
    if matches!(wish, Wish::RegisterAndAllowTools | Wish::Remove) {
        settings.push(Entry::word(&["permissions", "allow"], "mcp__taskyard"));
    }
    // A list for one project must not be the list of all of them.
    let shares_list = scope == Scope::Project && options.project_list.is_some();
    if shares_list || (scope == Scope::Project && wish == Wish::Remove) {
        settings.push(Entry::setting(&LIST_SETTING, options.project_list.clone().into()));
    }
    // One that is there stays, and is told of.
    if wish == Wish::Remove || options.status_line {
        settings.push(Entry::setting(&["statusLine"], json!({ "type": "command", "command": STATUS_LINE })));
    }
    // On one list most of our tools do what the client's own do.
    let server = if shares_list { stdio_server_for_claims() } else { stdio_server() };
    Ok(vec![
        Target { path: servers, ours: Ours::Json(vec![Entry::member(&["mcpServers", NAME], server)]) },
        Target { path: config.join("settings.json"), ours: Ours::Json(settings) },
        Target { path: config.join("skills").join(NAME).join("SKILL.md"), ours: Ours::Whole(SKILL) },
    ])
}

#[cfg(test)]
mod tests {
    use taskyard::core::rules::hooks::hooking::is_own_command;

    use super::HOOKS;

    #[test]
    fn our_hooks_are_known_by_their_text() {
        assert!(HOOKS.iter().all(|(_, command, _)| is_own_command(command)));
    }
}
