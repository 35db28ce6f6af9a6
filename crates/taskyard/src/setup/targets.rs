//! Which files of an agent are ours to change.

use super::agent::{Agent, Scope, Wish};
use super::places::SetupPlaces;
use super::target::Target;
use super::{SetupError, amp, claude, codex, copilot, cursor, gemini, opencode, vscode, windsurf, zed};

impl Agent {
    /// Returns the files of the agent and what of ours belongs in them; the first is the one that names our server.
    pub(super) fn targets(self, places: &SetupPlaces, scope: Scope, wish: Wish) -> Result<Vec<Target>, SetupError> {
        match self {
            Self::Claude => claude::targets(places, scope, wish),
            Self::Codex => codex::targets(places, scope),
            Self::Gemini => gemini::targets(places, scope),
            Self::Cursor => cursor::targets(places, scope),
            Self::Vscode => vscode::targets(places, scope),
            Self::Opencode => opencode::targets(places, scope),
            Self::Copilot => copilot::targets(places, scope),
            Self::Zed => zed::targets(places, scope),
            Self::Windsurf => windsurf::targets(places, scope),
            Self::Amp => amp::targets(places, scope),
        }
    }
}
