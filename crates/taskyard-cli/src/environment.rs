//! All environment variables that Taskyard reads, and the client's environment file.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use taskyard::hooks::HOOK_TURN;
use taskyard::opening::WrittenAddress;
use taskyard::operations::shell_word;

/// The address of the store; overridden by `--store`.
pub(crate) const TASKYARD_STORE: &str = "TASKYARD_STORE";
/// The password for PostgreSQL.
pub(crate) const PGPASSWORD: &str = "PGPASSWORD";
/// The name of the list; overridden by `--list`.
pub(crate) const TASKYARD_LIST: &str = "TASKYARD_LIST";
/// The acting agent; overridden by `--as`.
pub(crate) const TASKYARD_AGENT: &str = "TASKYARD_AGENT";
/// The client session's name, as used by its MCP server. Overridden by `--as` and `TASKYARD_AGENT`; does not count as
/// an explicitly given name.
pub(crate) const TASKYARD_SESSION_AGENT: &str = "TASKYARD_SESSION_AGENT";
/// The task for which `work` started this process.
pub(crate) const TASKYARD_TASK_ID: &str = "TASKYARD_TASK_ID";
/// The token of the lease that `work` holds on that task.
pub(crate) const TASKYARD_TASK_TOKEN: &str = "TASKYARD_TASK_TOKEN";
/// Taskyard's own data directory: journals, bindings, caches.
pub(crate) const TASKYARD_HOME: &str = "TASKYARD_HOME";
/// The rules in force, `strict` or `client`; overridden by `--rules`.
pub(crate) const TASKYARD_RULES: &str = "TASKYARD_RULES";
/// The client version that the client rules follow; overridden by `--client-version`.
pub(crate) const TASKYARD_CLIENT_VERSION: &str = "TASKYARD_CLIENT_VERSION";
/// What is logged to stderr: a level (`debug`) or a filter (`taskyard=trace`).
pub(crate) const TASKYARD_LOG: &str = "TASKYARD_LOG";
/// A plan for the fail points of test builds. Other builds reject any plan.
pub(crate) const TASKYARD_FAILPOINTS: &str = "TASKYARD_FAILPOINTS";
/// The shell that requests completions; set by the script of `taskyard completions`.
pub(crate) const TASKYARD_COMPLETE: &str = "TASKYARD_COMPLETE";
/// The client's directory; defaults to `~/.claude`.
pub(crate) const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// Codex's directory; defaults to `~/.codex`.
pub(crate) const CODEX_HOME: &str = "CODEX_HOME";
/// Copilot CLI's directory; defaults to `~/.copilot`.
pub(crate) const COPILOT_HOME: &str = "COPILOT_HOME";
pub(crate) const PATH: &str = "PATH";
/// The client's own name for the list.
pub(crate) const CLAUDE_CODE_TASK_LIST_ID: &str = "CLAUDE_CODE_TASK_LIST_ID";
/// The client's session, whose list is named after it.
pub(crate) const CLAUDE_CODE_SESSION_ID: &str = "CLAUDE_CODE_SESSION_ID";
/// Whether the client has teams. Under the client's rules, team lists require this to be on; under ours, they require
/// it not to be off.
pub(crate) const CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
/// Whether team members need an approved plan before they start anything.
pub(crate) const CLAUDE_CODE_PLAN_MODE_REQUIRED: &str = "CLAUDE_CODE_PLAN_MODE_REQUIRED";
/// Whether the client uses tasks or todos. An MCP server offers the same; the default is tasks.
pub(crate) const CLAUDE_CODE_ENABLE_TASKS: &str = "CLAUDE_CODE_ENABLE_TASKS";
/// Set by continuous integration services: no person is present.
pub(crate) const CI: &str = "CI";
/// Set by the client for every command it runs.
pub(crate) const CLAUDECODE: &str = "CLAUDECODE";
/// Set by the client for everything it starts: how the client itself was started.
pub(crate) const CLAUDE_CODE_ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";
/// The directory the client works in, for the servers it starts.
pub(crate) const CLAUDE_PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
/// The file in which hooks set variables for later commands of the client's session.
pub(crate) const CLAUDE_ENV_FILE: &str = "CLAUDE_ENV_FILE";
/// Maximum length of a job's output shown to a model at once, in characters.
pub(crate) const TASK_MAX_OUTPUT_LENGTH: &str = "TASK_MAX_OUTPUT_LENGTH";
/// The client's directory for temporary files, including the output of jobs; defaults to the system's.
pub(crate) const CLAUDE_CODE_TMPDIR: &str = "CLAUDE_CODE_TMPDIR";
/// If set to anything, disables colours (<https://no-color.org>); overridden by `--color`.
pub(crate) const NO_COLOR: &str = "NO_COLOR";
/// The type of terminal; `dumb` disables colours.
pub(crate) const TERM: &str = "TERM";
/// The terminal emulator.
pub(crate) const TERM_PROGRAM: &str = "TERM_PROGRAM";
/// Set in a graphical session, where desktop notices can be shown.
pub(crate) const DISPLAYS: [&str; 2] = ["WAYLAND_DISPLAY", "DISPLAY"];
/// The width of the screen, if the terminal does not report it.
pub(crate) const COLUMNS: &str = "COLUMNS";
/// The height of the screen, if the terminal does not report it.
pub(crate) const LINES: &str = "LINES";
/// The user's options for `less`; if set, we pass none of ours.
pub(crate) const LESS: &str = "LESS";
/// The character set, by precedence: `LC_ALL`, `LC_CTYPE`, `LANG`.
pub(crate) const CHARACTER_SET: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];
/// The user's editor, by precedence: `VISUAL`, `EDITOR`.
pub(crate) const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];
/// The user's pager.
pub(crate) const PAGER: &str = "PAGER";
/// The user's home directory.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
/// The user's login name, used if no agent is named.
pub(crate) const USER: [&str; 3] = ["USER", "LOGNAME", "USERNAME"];
/// The base of data directories, by the XDG base directory specification or as on Windows.
pub(crate) const XDG_DATA_HOME: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_DATA_HOME" };
/// The base of configuration directories, by the XDG base directory specification.
pub(crate) const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// The environment as it was when the program started. Empty variables count as unset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) store: Option<WrittenAddress>,
    pub(crate) list: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) session_agent: Option<String>,
    pub(crate) run_task: Option<String>,
    pub(crate) run_token: Option<u64>,
    pub(crate) data: Option<PathBuf>,
    pub(crate) rules: Option<String>,
    pub(crate) client_version: Option<String>,
    pub(crate) log: Option<String>,
    pub(crate) failpoints: Option<String>,
    pub(crate) complete: Option<String>,
    pub(crate) client_config: Option<PathBuf>,
    pub(crate) codex_home: Option<PathBuf>,
    pub(crate) copilot_home: Option<PathBuf>,
    pub(crate) programs: Vec<PathBuf>,
    pub(crate) client_list: Option<String>,
    pub(crate) client_session: Option<String>,
    pub(crate) client_teams: Option<bool>,
    pub(crate) plan_mode_required: Option<bool>,
    pub(crate) client_enables_tasks: Option<String>,
    pub(crate) is_automation: bool,
    pub(crate) client_project: Option<PathBuf>,
    /// Whether the client started this process.
    pub(crate) is_in_client: bool,
    pub(crate) client_environment_file: Option<PathBuf>,
    pub(crate) longest_output: Option<String>,
    pub(crate) client_temporary: Option<PathBuf>,
    pub(crate) no_color: bool,
    pub(crate) terminal: Option<String>,
    /// `TERM_PROGRAM`
    pub(crate) terminal_program: Option<String>,
    /// Whether a graphical session is available.
    pub(crate) has_display: bool,
    pub(crate) columns: Option<usize>,
    pub(crate) rows: Option<usize>,
    pub(crate) has_less_options: bool,
    pub(crate) character_set: Option<String>,
    pub(crate) editor: Option<String>,
    pub(crate) pager: Option<String>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) user: Option<String>,
    pub(crate) xdg_data: Option<PathBuf>,
    pub(crate) xdg_config: Option<PathBuf>,
    pub(crate) hook_turn: Option<String>,
    /// The variables whose names begin with `PG`. May include a password.
    pub(crate) postgres: Vec<(String, String)>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        Self {
            store: text(TASKYARD_STORE).map(WrittenAddress::new),
            list: text(TASKYARD_LIST),
            agent: text(TASKYARD_AGENT),
            session_agent: text(TASKYARD_SESSION_AGENT),
            run_task: text(TASKYARD_TASK_ID),
            run_token: text(TASKYARD_TASK_TOKEN).and_then(|token| token.parse().ok()),
            data: path(TASKYARD_HOME),
            rules: text(TASKYARD_RULES),
            client_version: text(TASKYARD_CLIENT_VERSION),
            log: text(TASKYARD_LOG),
            failpoints: text(TASKYARD_FAILPOINTS),
            complete: text(TASKYARD_COMPLETE),
            client_config: path(CLAUDE_CONFIG_DIR),
            codex_home: path(CODEX_HOME),
            copilot_home: path(COPILOT_HOME),
            programs: value(PATH).map(|paths| std::env::split_paths(&paths).collect()).unwrap_or_default(),
            client_list: text(CLAUDE_CODE_TASK_LIST_ID),
            client_session: text(CLAUDE_CODE_SESSION_ID),
            client_teams: text(CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS).as_deref().and_then(yes_or_no),
            plan_mode_required: text(CLAUDE_CODE_PLAN_MODE_REQUIRED).as_deref().and_then(yes_or_no),
            client_enables_tasks: text(CLAUDE_CODE_ENABLE_TASKS),
            is_automation: text(CI).is_some_and(|word| yes_or_no(&word) != Some(false)),
            client_project: path(CLAUDE_PROJECT_DIR),
            is_in_client: value(CLAUDECODE).or_else(|| value(CLAUDE_CODE_ENTRYPOINT)).is_some(),
            client_environment_file: path(CLAUDE_ENV_FILE),
            longest_output: text(TASK_MAX_OUTPUT_LENGTH),
            client_temporary: path(CLAUDE_CODE_TMPDIR),
            no_color: value(NO_COLOR).is_some(),
            terminal: text(TERM),
            terminal_program: text(TERM_PROGRAM),
            has_display: DISPLAYS.into_iter().any(|name| value(name).is_some()),
            columns: text(COLUMNS).and_then(|columns| columns.trim().parse().ok()),
            rows: text(LINES).and_then(|rows| rows.trim().parse().ok()),
            has_less_options: value(LESS).is_some(),
            character_set: CHARACTER_SET.into_iter().find_map(text),
            editor: EDITORS.into_iter().find_map(text),
            pager: text(PAGER),
            home: path(HOME),
            user: USER.into_iter().find_map(text),
            xdg_data: path(XDG_DATA_HOME),
            xdg_config: path(XDG_CONFIG_HOME),
            hook_turn: text(HOOK_TURN),
            postgres: postgres(),
        }
    }

    /// Returns the variables set for child processes: the store's address without its password.
    pub(crate) fn for_children(&self) -> Vec<(OsString, OsString)> {
        let secret = self.store.iter().filter(|store| store.holds_secrets());
        secret.map(|store| (TASKYARD_STORE.into(), store.to_string().into())).collect()
    }
}

/// Returns the variables that libpq reads.
fn postgres() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")).filter_map(text).collect()
}

/// Parses a boolean; anything else counts as unset.
pub(crate) fn yes_or_no(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn path(name: &str) -> Option<PathBuf> {
    value(name).map(PathBuf::from)
}

fn text(name: &str) -> Option<String> {
    value(name).map(|value| value.to_string_lossy().into_owned())
}

/// Sets a variable for commands that the client runs later, unless the file already sets it so.
pub(crate) fn set(path: &Path, variable: &str, value: &str) -> io::Result<()> {
    let line = format!("export {variable}={}", shell_word(value));
    let present = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        present => present?,
    };
    let assignment = format!("export {variable}=");
    // The last assignment in the file takes effect.
    if present.lines().rev().find(|line| line.starts_with(&assignment)) == Some(line.as_str()) {
        return Ok(());
    }
    let before = if present.is_empty() || present.ends_with('\n') { "" } else { "\n" };
    // A single write, since other hooks of the session append to the same file.
    OpenOptions::new().append(true).create(true).open(path)?.write_all(format!("{before}{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::yes_or_no;

    #[test]
    fn words_for_yes_and_no_may_be_of_any_case_and_padded() {
        for (word, meaning) in [
            ("1", Some(true)),
            (" YES ", Some(true)),
            ("On", Some(true)),
            ("false", Some(false)),
            ("OFF", Some(false)),
            ("0", Some(false)),
            ("", None),
            ("maybe", None),
            ("2", None),
        ] {
            assert_eq!(yes_or_no(word), meaning, "{word:?}");
        }
    }
}

#[cfg(test)]
mod client_environment_file_tests {
    use super::set;

    #[test]
    fn a_variable_is_set_once_and_what_others_set_stays() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("env.sh");
        for value in ["claude-code-1", "claude-code-1", "it's"] {
            set(&file, "A", value).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "export A=claude-code-1\nexport A='it'\\''s'\n");
        std::fs::write(&file, "export B=2").unwrap();
        set(&file, "A", "x").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "export B=2\nexport A=x\n");
    }
}
