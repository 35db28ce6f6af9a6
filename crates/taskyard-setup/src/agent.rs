//! The agents we know how to register with.

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
