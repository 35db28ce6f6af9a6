//! The agents we know how to register with.

use super::places::SetupPlaces;
use super::target::Target;
use super::{SetupError, Wish, claude, codex, cursor, gemini, vscode};

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
}

/// For whom an agent is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// For this user, everywhere.
    User,
    /// For everybody, in this project.
    Project,
}

impl Agent {
    /// Returns the name people know the agent by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
        }
    }

    /// Returns how to do by hand what we do.
    pub const fn by_hand(self) -> &'static str {
        match self {
            Self::Claude => "`claude mcp add taskyard -- taskyard mcp`",
            Self::Codex => "`codex mcp add taskyard -- taskyard mcp`",
            Self::Gemini => "`gemini mcp add taskyard taskyard mcp`",
            Self::Cursor => "a server `taskyard` with the command `taskyard` and the argument `mcp` under `mcpServers`",
            Self::Vscode => "a server `taskyard` with the command `taskyard` and the argument `mcp` under `servers`",
        }
    }

    /// Returns the files of the agent and what of ours belongs in them.
    pub(super) fn targets(self, places: &SetupPlaces, scope: Scope, wish: Wish) -> Result<Vec<Target>, SetupError> {
        match self {
            Self::Claude => claude::targets(places, scope, wish),
            Self::Codex => codex::targets(places, scope),
            Self::Gemini => gemini::targets(places, scope),
            Self::Cursor => cursor::targets(places, scope),
            Self::Vscode => vscode::targets(places, scope),
        }
    }
}

impl Scope {
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}
