//! Agents that keep their servers under `mcpServers` of a JSON file, and nothing else that concerns us: Windsurf, Qwen Code, Droid, Auggie,
//! Cline, Kiro, Roo Code and Junie.

use std::path::PathBuf;

use crate::config_edit::Entry;
use serde_json::{Value, json};

use super::setup_options::SetupOptions;
use super::target::{NAME, Ours, Target, server, stdio_server};
use super::{Agent, Scope, SetupError};

/// Where the extension of Roo Code keeps the servers of a user, below VS Code's directory of settings.
const ROO_OF_USER: &str = "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json";

pub(super) fn targets(agent: Agent, options: &SetupOptions, scope: Scope) -> Result<Vec<Target>, SetupError> {
    let path = match scope {
        Scope::User => of_user(agent, options)?,
        Scope::Project => options.project.join(of_project(agent)?),
    };
    let entry = Entry::member(&["mcpServers", NAME], entry_of(agent));
    Ok(vec![Target { path, ours: Ours::Json(vec![entry]) }])
}

fn of_user(agent: Agent, options: &SetupOptions) -> Result<PathBuf, SetupError> {
    match agent {
        Agent::Windsurf => options.in_home(".codeium/windsurf/mcp_config.json"),
        Agent::Qwen => options.in_home(".qwen/settings.json"),
        Agent::Droid => options.in_home(".factory/mcp.json"),
        Agent::Auggie => options.in_home(".augment/settings.json"),
        Agent::Cline => options.in_home(".cline/data/settings/cline_mcp_settings.json"),
        Agent::Kiro => options.in_home(".kiro/settings/mcp.json"),
        Agent::Roo if cfg!(target_os = "macos") => {
            options.in_home("Library/Application Support").map(|of| of.join(ROO_OF_USER))
        }
        Agent::Roo => options.in_config(ROO_OF_USER),
        _ => options.in_home(".junie/mcp/mcp.json"),
    }
}

fn of_project(agent: Agent) -> Result<&'static str, SetupError> {
    Ok(match agent {
        Agent::Qwen => ".qwen/settings.json",
        Agent::Droid => ".factory/mcp.json",
        Agent::Auggie => ".augment/settings.json",
        Agent::Windsurf | Agent::Cline => return Err(SetupError::OnlyForUser { agent }),
        Agent::Kiro => ".kiro/settings/mcp.json",
        Agent::Roo => ".roo/mcp.json",
        _ => ".junie/mcp/mcp.json",
    })
}

/// Returns the entry as the agent writes it itself.
fn entry_of(agent: Agent) -> Value {
    match agent {
        Agent::Droid | Agent::Auggie => stdio_server(),
        Agent::Cline => json!({ "transport": stdio_server() }),
        _ => server(),
    }
}
