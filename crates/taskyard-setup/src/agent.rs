//! The agents that can be set up, the options, the files that are edited, and why that may fail.

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

/// For whom an agent is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// For this user, everywhere.
    User,
    /// For every user, in this project.
    Project,
}

/// What is wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The agent is to know our server.
    Register,
    /// The agent is to know our server and to use its tools without asking.
    RegisterAndAllowTools,
    /// The agent is to forget us.
    Remove,
}

impl Agent {
    /// Every agent, in the order in which they are shown.
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

    /// Returns the word that commands name the agent by.
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

    /// Returns the name people know the agent by.
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

    /// Returns how to do by hand what we do.
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

    /// Returns what is still to be done so that people and other agents work on one list with the agent; none where nothing is missing.
    pub const fn still_needed(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            // For all projects at once it cannot be set.
            (Self::Claude, Scope::User) => Some(
                "Claude Code's own task tools keep a list for each session; in a project `taskyard setup claude --scope project` has \
                 them use the project's list, with `env.CLAUDE_CODE_TASK_LIST_ID` in its `.claude/settings.json`",
            ),
            (Self::Gemini, _) => {
                Some("Gemini CLI starts no servers in a folder it does not trust: type `/permissions` there")
            }
            (Self::Qwen, Scope::Project) => {
                Some("Qwen Code may ask whether it may start servers of a project: it does so when you start it there")
            }
            (Self::Codex, Scope::Project) => {
                Some("Codex reads this in projects it trusts: it asks when you start it there")
            }
            (Self::Copilot, Scope::Project) => {
                Some("Copilot CLI reads this in folders it trusts: it asks when you start it there")
            }
            (Self::Amp, Scope::Project) => Some("Amp wants servers of a project approved: `amp mcp approve taskyard`"),
            _ => None,
        }
    }

    /// Returns the programs the agent is started by, any of which shows that it is installed.
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
    /// Returns the word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The name our server is registered under.
pub(super) const NAME: &str = "taskyard";

/// A file of an agent, and what of ours belongs in it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) ours: Ours,
}

/// What of ours belongs in a file.
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

/// Returns what starts our server, as nearly every agent writes it.
pub(super) fn server() -> Value {
    json!({"command": NAME, "args": ["mcp"]})
}

/// Returns what starts our server with the tools for claims alone, for an agent whose own tools work on the same list.
pub(super) fn stdio_server_for_claims() -> Value {
    json!({"type": "stdio", "command": NAME, "args": ["mcp", "--tools", "claims"]})
}

/// Returns what starts our server, for agents that want to be told how they speak with it.
pub(super) fn stdio_server() -> Value {
    json!({"type": "stdio", "command": NAME, "args": ["mcp"]})
}

/// Where the configuration of agents is, and what is wished to be in it. The program that reads the environment fills it in.
#[derive(Clone, Debug, Default)]
pub struct SetupOptions {
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// The client's directory, where it is not `~/.claude`.
    pub claude_config: Option<PathBuf>,
    /// The directory of Codex, where it is not `~/.codex`.
    pub codex_home: Option<PathBuf>,
    /// The directory of Copilot CLI, where it is not `~/.copilot`.
    pub copilot_home: Option<PathBuf>,
    /// Where programs keep their configuration, where it is not `~/.config`.
    pub xdg_config: Option<PathBuf>,
    /// The root of the project.
    pub project: PathBuf,
    /// The list that people work on in the project, where there is one for all of them.
    pub project_list: Option<String>,
    /// Whether the client is to show our status line.
    pub status_line: bool,
    /// The directories in which programs are looked for.
    pub programs: Vec<PathBuf>,
}

impl SetupOptions {
    /// Returns a path below the home directory.
    pub(super) fn in_home(&self, below: &str) -> Result<PathBuf, SetupError> {
        self.home.as_deref().map(|home| home.join(below)).ok_or(SetupError::NoHome)
    }

    /// Returns a path below the directory in which programs keep their configuration.
    pub(super) fn in_config(&self, below: &str) -> Result<PathBuf, SetupError> {
        self.moved_or_in_home(self.xdg_config.as_deref(), ".config", below)
    }

    /// Returns a path below a directory that may have been moved, else below its usual place in the home directory.
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

/// Why an agent could not be set up. Nothing was written where planning failed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The system refused.
    #[error("{doing} `{}`: {source}", .path.display())]
    Io {
        /// What we tried, as the beginning of a sentence.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be edited. It is left as it is.
    #[error("`{}`, {unfit}", .path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        unfit: Unfit,
    },
    /// Another program wrote a file between our planning and our writing.
    #[error("`{}` was changed by another program at this moment", .path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// What is needed to undo it cannot be kept or read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The agent keeps servers for a user only.
    #[error("{} knows no servers of a project", .agent.name())]
    OnlyForUser {
        /// The agent.
        agent: Agent,
    },
    /// The environment does not say where the home directory is.
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
