//! Which files of an agent are ours to change.

use super::agent::{Agent, Scope, Wish};
use super::setup_options::SetupOptions;
use super::target::Target;
use super::{SetupError, amp, claude, codex, copilot, cursor, gemini, goose, mcp_json, opencode, vscode, zed};

impl Agent {
    /// Returns the files of the agent and what of ours belongs in them; the first is the one that names our server.
    pub(super) fn targets(self, options: &SetupOptions, scope: Scope, wish: Wish) -> Result<Vec<Target>, SetupError> {
        match self {
            Self::Claude => claude::targets(options, scope, wish),
            Self::Codex => codex::targets(options, scope),
            Self::Gemini => gemini::targets(options, scope),
            Self::Cursor => cursor::targets(options, scope),
            Self::Vscode => vscode::targets(options, scope),
            Self::Opencode => opencode::targets(options, scope),
            Self::Copilot => copilot::targets(options, scope),
            Self::Zed => zed::targets(options, scope),
            Self::Amp => amp::targets(options, scope),
            Self::Goose => goose::targets(options, scope),
            Self::Windsurf
            | Self::Qwen
            | Self::Droid
            | Self::Auggie
            | Self::Cline
            | Self::Kiro
            | Self::Roo
            | Self::Junie => mcp_json::targets(self, options, scope),
        }
    }
}
