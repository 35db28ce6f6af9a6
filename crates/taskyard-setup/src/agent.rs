//! The supported agents, the options, the edited files, and the errors.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use taskyard::machine::MachineError;

use crate::config_edit::toml_entries::TableEntry;
use crate::config_edit::{Entry, Unfit};

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
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
    /// opencode.
    Opencode,
    /// GitHub's Copilot CLI.
    Copilot,
    /// Zed.
    Zed,
    /// Windsurf.
    Windsurf,
    /// Amp.
    Amp,
    /// Goose.
    Goose,
    /// Qwen Code.
    Qwen,
    /// Factory's Droid.
    Droid,
    /// Augment's Auggie.
    Auggie,
    /// Cline, in the terminal.
    Cline,
    /// Kiro.
    Kiro,
    /// Roo Code.
    Roo,
    /// JetBrains' Junie.
    Junie,
}

/// The scope of a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// For this user, everywhere.
    User,
    /// For every user, in this project.
    Project,
}

/// The requested registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Register our server with the agent.
    Register,
    /// Register our server, and allow its tools without asking.
    RegisterAndAllowTools,
    /// Remove the registration.
    Remove,
}

impl Agent {
    /// Every agent, in display order.
    pub const ALL: [Self; 18] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Cursor,
        Self::Vscode,
        Self::Opencode,
        Self::Copilot,
        Self::Zed,
        Self::Windsurf,
        Self::Amp,
        Self::Goose,
        Self::Qwen,
        Self::Droid,
        Self::Auggie,
        Self::Cline,
        Self::Kiro,
        Self::Roo,
        Self::Junie,
    ];

    /// Returns the agent's name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Zed => "zed",
            Self::Windsurf => "windsurf",
            Self::Amp => "amp",
            Self::Goose => "goose",
            Self::Qwen => "qwen",
            Self::Droid => "droid",
            Self::Auggie => "auggie",
            Self::Cline => "cline",
            Self::Kiro => "kiro",
            Self::Roo => "roo",
            Self::Junie => "junie",
        }
    }

    /// Returns the agent's display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Opencode => "opencode",
            Self::Copilot => "Copilot CLI",
            Self::Zed => "Zed",
            Self::Windsurf => "Windsurf",
            Self::Amp => "Amp",
            Self::Goose => "Goose",
            Self::Qwen => "Qwen Code",
            Self::Droid => "Droid",
            Self::Auggie => "Auggie",
            Self::Cline => "Cline",
            Self::Kiro => "Kiro",
            Self::Roo => "Roo Code",
            Self::Junie => "Junie",
        }
    }

    /// Returns how to register the server by hand.
    pub const fn by_hand(self) -> &'static str {
        match self {
            Self::Claude => "`claude mcp add taskyard -- taskyard mcp`",
            Self::Codex => "`codex mcp add taskyard -- taskyard mcp`",
            Self::Gemini => "`gemini mcp add taskyard taskyard mcp`",
            Self::Goose => "`goose configure`, with a command-line extension `taskyard` that runs `taskyard mcp`",
            Self::Qwen => "`qwen mcp add --scope user taskyard taskyard mcp`",
            Self::Droid => "`droid mcp add taskyard \"taskyard mcp\"`",
            Self::Auggie => "`auggie mcp add taskyard --command taskyard --args mcp`",
            Self::Cline => "`cline mcp install taskyard --yes -- taskyard mcp`",
            Self::Cursor | Self::Windsurf | Self::Kiro | Self::Roo | Self::Junie => {
                "a server `taskyard` with the command `taskyard` and the argument `mcp` under `mcpServers`"
            }
            Self::Vscode => "a server `taskyard` with the command `taskyard` and the argument `mcp` under `servers`",
            Self::Opencode => "`opencode mcp add taskyard -- taskyard mcp`",
            Self::Copilot => "`copilot mcp add taskyard -- taskyard mcp`",
            Self::Zed => {
                "a server `taskyard` with the command `taskyard` and the argument `mcp` under `context_servers`"
            }
            Self::Amp => "`amp mcp add taskyard -- taskyard mcp`",
        }
    }

    /// Returns the remaining step that makes the agent share a list with people and other agents, or `None` if there is
    /// none.
    pub const fn still_needed(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            // For all projects at once it cannot be set.
            (Self::Claude, Scope::User) => Some(
                "Claude Code's own task tools keep a list for each session; in a project `taskyard setup claude --scope \
                 project` makes them use the project's list, with `env.CLAUDE_CODE_TASK_LIST_ID` in its \
                 `.claude/settings.json`",
            ),
            (Self::Gemini, _) => {
                Some("Gemini CLI starts no servers in a folder it does not trust: type `/permissions` there")
            }
            (Self::Qwen, Scope::Project) => {
                Some("Qwen Code may ask you to approve project servers when you start it there")
            }
            (Self::Codex, Scope::Project) => {
                Some("Codex reads this only in trusted projects: it asks when you start it there")
            }
            (Self::Copilot, Scope::Project) => {
                Some("Copilot CLI reads this only in trusted folders: it asks when you start it there")
            }
            (Self::Amp, Scope::Project) => Some("Amp requires approval of project servers: `amp mcp approve taskyard`"),
            _ => None,
        }
    }

    /// Returns the names of the agent's programs; if any of them exists, the agent is installed.
    pub(super) const fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &["claude"],
            Self::Codex => &["codex"],
            Self::Gemini => &["gemini"],
            Self::Cursor => &["cursor", "cursor-agent"],
            Self::Vscode => &["code", "code-insiders"],
            Self::Opencode => &["opencode"],
            Self::Copilot => &["copilot"],
            Self::Zed => &["zed", "zeditor"],
            Self::Windsurf => &["windsurf"],
            Self::Amp => &["amp"],
            Self::Goose => &["goose"],
            Self::Qwen => &["qwen"],
            Self::Droid => &["droid"],
            Self::Auggie => &["auggie"],
            Self::Cline => &["cline"],
            Self::Kiro => &["kiro", "kiro-cli"],
            // An extension of VS Code; its directory shows that it is installed.
            Self::Roo => &[],
            Self::Junie => &["junie"],
        }
    }
}

impl Scope {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The name our server is registered under.
pub(super) const NAME: &str = "taskyard";

/// A file of an agent, and our entries in it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) ours: Ours,
}

/// Our entries in a file.
#[derive(Clone, Debug)]
pub(super) enum Ours {
    /// Entries in a JSON file.
    Json(Vec<Entry>),
    /// A table in a TOML file.
    Toml(TableEntry),
    /// A mapping in a YAML file.
    Yaml(TableEntry),
    /// The whole file.
    Whole(&'static str),
}

/// Returns the server entry in the form that nearly every agent uses.
pub(super) fn server() -> Value {
    json!({"command": NAME, "args": ["mcp"]})
}

/// Returns the server entry that offers only the claim tools, for an agent whose own tools work on the same list.
pub(super) fn stdio_server_for_claims() -> Value {
    json!({"type": "stdio", "command": NAME, "args": ["mcp", "--tools", "claims"]})
}

/// Returns the server entry for agents that require the transport to be stated.
pub(super) fn stdio_server() -> Value {
    json!({"type": "stdio", "command": NAME, "args": ["mcp"]})
}

/// The locations of the agents' configuration, and what to put there. The program fills it in from the environment.
#[derive(Clone, Debug, Default)]
pub struct SetupOptions {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The client's directory, if it is not `~/.claude`.
    pub claude_config: Option<PathBuf>,
    /// The directory of Codex, if it is not `~/.codex`.
    pub codex_home: Option<PathBuf>,
    /// The directory of Copilot CLI, if it is not `~/.copilot`.
    pub copilot_home: Option<PathBuf>,
    /// The configuration directory of programs, if it is not `~/.config`.
    pub xdg_config: Option<PathBuf>,
    /// The root of the project.
    pub project: PathBuf,
    /// The shared list of the project, if there is one.
    pub project_list: Option<String>,
    /// Whether to make the client show our status line.
    pub status_line: bool,
    /// The directories to search for programs.
    pub programs: Vec<PathBuf>,
}

impl SetupOptions {
    /// Returns a path below the home directory.
    pub(super) fn in_home(&self, below: &str) -> Result<PathBuf, SetupError> {
        self.home.as_deref().map(|home| home.join(below)).ok_or(SetupError::NoHome)
    }

    /// Returns a path below the configuration directory of programs.
    pub(super) fn in_config(&self, below: &str) -> Result<PathBuf, SetupError> {
        self.moved_or_in_home(self.xdg_config.as_deref(), ".config", below)
    }

    /// Returns a path below a directory that may have been moved, or else below its default place in the home
    /// directory.
    pub(super) fn moved_or_in_home(
        &self,
        moved: Option<&Path>,
        usual: &str,
        file: &str,
    ) -> Result<PathBuf, SetupError> {
        match moved {
            Some(directory) => Ok(directory.join(file)),
            None => Ok(self.in_home(usual)?.join(file)),
        }
    }
}

/// Why an agent could not be set up. If planning failed, nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A system call failed.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// The attempted operation, as the beginning of a sentence.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be edited, and was not changed.
    #[error("`{}`, {unfit}", .path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        unfit: Unfit,
    },
    /// Another program wrote a file between planning and writing.
    #[error("`{}` was just changed by another program", .path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// The record needed to undo the registration cannot be written or read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The agent supports only user-level servers.
    #[error("{} knows no project-level servers", .agent.name())]
    OnlyForUser {
        /// The agent.
        agent: Agent,
    },
    /// The environment does not name the home directory.
    #[error("there is no home directory")]
    NoHome,
}

impl SetupError {
    /// Returns a function that wraps a system error with what was tried.
    pub(super) fn io(doing: &'static str, path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
