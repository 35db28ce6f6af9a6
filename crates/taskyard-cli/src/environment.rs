//! Every environment variable Taskyard reads, and the one place that reads them.

use std::ffi::OsString;
use std::path::PathBuf;

use taskyard::hooks::HOOK_TURN;
use taskyard::opening::WrittenAddress;

/// The address of the store; `--store` beats it.
pub(crate) const TASKYARD_STORE: &str = "TASKYARD_STORE";
/// The password for PostgreSQL.
pub(crate) const PGPASSWORD: &str = "PGPASSWORD";
/// The name of the list; `--list` beats it.
pub(crate) const TASKYARD_LIST: &str = "TASKYARD_LIST";
/// The agent that acts; `--as` beats it.
pub(crate) const TASKYARD_AGENT: &str = "TASKYARD_AGENT";
/// The name of the client's session, as its MCP server uses it; `--as` and `TASKYARD_AGENT` beat it, and it counts as not given.
pub(crate) const TASKYARD_SESSION_AGENT: &str = "TASKYARD_SESSION_AGENT";
/// The task for which `work` started this process.
pub(crate) const TASKYARD_TASK_ID: &str = "TASKYARD_TASK_ID";
/// The token of the lease that `work` holds on that task.
pub(crate) const TASKYARD_TASK_TOKEN: &str = "TASKYARD_TASK_TOKEN";
/// Taskyard's own data directory: journals, bindings, caches.
pub(crate) const TASKYARD_HOME: &str = "TASKYARD_HOME";
/// The rules in force, `strict` or `client`; `--rules` beats it.
pub(crate) const TASKYARD_RULES: &str = "TASKYARD_RULES";
/// The recorded client that client rules follow; `--client-version` beats it.
pub(crate) const TASKYARD_CLIENT_VERSION: &str = "TASKYARD_CLIENT_VERSION";
/// What is logged to stderr: a level (`debug`) or a filter (`taskyard=trace`).
pub(crate) const TASKYARD_LOG: &str = "TASKYARD_LOG";
/// A plan for the fail points of test builds; other builds refuse every plan.
pub(crate) const TASKYARD_FAILPOINTS: &str = "TASKYARD_FAILPOINTS";
/// The shell that asks what could stand at the cursor; the script of `taskyard completions` sets it.
pub(crate) const TASKYARD_COMPLETE: &str = "TASKYARD_COMPLETE";
/// The client's directory, `~/.claude` where it is not set.
pub(crate) const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// The directory of Codex, `~/.codex` where it is not set.
pub(crate) const CODEX_HOME: &str = "CODEX_HOME";
/// The directory of Copilot CLI, `~/.copilot` where it is not set.
pub(crate) const COPILOT_HOME: &str = "COPILOT_HOME";
/// Where programs are looked for.
pub(crate) const PATH: &str = "PATH";
/// The client's own name for the list.
pub(crate) const CLAUDE_CODE_TASK_LIST_ID: &str = "CLAUDE_CODE_TASK_LIST_ID";
/// The client's session, whose list is named after it.
pub(crate) const CLAUDE_CODE_SESSION_ID: &str = "CLAUDE_CODE_SESSION_ID";
/// Whether the client has teams: in client rules a team's list counts only where it is on, in ours unless it is off.
pub(crate) const CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
/// Whether a member of a team has to have its plan approved before it starts anything.
pub(crate) const CLAUDE_CODE_PLAN_MODE_REQUIRED: &str = "CLAUDE_CODE_PLAN_MODE_REQUIRED";
/// Whether the client keeps tasks or todos; an MCP server offers the one it says, tasks where it says nothing.
pub(crate) const CLAUDE_CODE_ENABLE_TASKS: &str = "CLAUDE_CODE_ENABLE_TASKS";
/// Set by services that build and test: no person is there.
pub(crate) const CI: &str = "CI";
/// Set by the client for every command that it runs.
pub(crate) const CLAUDECODE: &str = "CLAUDECODE";
/// Set by the client for everything that it starts: how it was started itself.
pub(crate) const CLAUDE_CODE_ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";
/// The directory the client works in, for the servers it starts.
pub(crate) const CLAUDE_PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
/// The file in which hooks set variables for later commands of the client's session.
pub(crate) const CLAUDE_ENV_FILE: &str = "CLAUDE_ENV_FILE";
/// How many characters of a job's output a model is shown at once.
pub(crate) const TASK_MAX_OUTPUT_LENGTH: &str = "TASK_MAX_OUTPUT_LENGTH";
/// Where the client keeps temporary files, the output of jobs among them; the system's place for them where it is not set.
pub(crate) const CLAUDE_CODE_TMPDIR: &str = "CLAUDE_CODE_TMPDIR";
/// No colours, whatever its value, as <https://no-color.org> has it; `--color` beats it.
pub(crate) const NO_COLOR: &str = "NO_COLOR";
/// The kind of terminal; `dumb` ones get no colours.
pub(crate) const TERM: &str = "TERM";
/// The width of the display, where the terminal does not tell.
pub(crate) const COLUMNS: &str = "COLUMNS";
/// The height of the display, where the terminal does not tell.
pub(crate) const LINES: &str = "LINES";
/// What the user tells `less`; where it is set, we tell it nothing.
pub(crate) const LESS: &str = "LESS";
/// The character set, in the order in which they count: `LC_ALL`, `LC_CTYPE`, `LANG`.
pub(crate) const CHARACTER_SET: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];
/// The user's editor, in the order in which they count: `VISUAL`, `EDITOR`.
pub(crate) const EDITORS: [&str; 2] = ["VISUAL", "EDITOR"];
/// The program that shows long texts a screen at a time.
pub(crate) const PAGER: &str = "PAGER";
/// The user's home directory.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
/// The name of the user, where no agent is named.
pub(crate) const USER: [&str; 3] = ["USER", "LOGNAME", "USERNAME"];
/// Where data directories are kept: by the XDG base directory specification, or as Windows has it.
pub(crate) const XDG_DATA_HOME: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_DATA_HOME" };
/// Where configuration is kept, by the XDG base directory specification.
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
    /// Whether the client started us.
    pub(crate) is_in_client: bool,
    pub(crate) client_environment_file: Option<PathBuf>,
    pub(crate) longest_output: Option<String>,
    pub(crate) client_temporary: Option<PathBuf>,
    pub(crate) no_color: bool,
    pub(crate) terminal: Option<String>,
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
    /// What is said of PostgreSQL; one of them may be a password.
    pub(crate) postgres: Vec<(String, String)>,
}

impl Environment {
    /// Reads the environment.
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

    /// Returns the variables that children get in place of ours: the address of the store without its password.
    pub(crate) fn for_children(&self) -> Vec<(OsString, OsString)> {
        let secret = self.store.iter().filter(|store| store.holds_secrets());
        secret.map(|store| (TASKYARD_STORE.into(), store.to_string().into())).collect()
    }
}

/// Returns the variables of PostgreSQL's own programs.
fn postgres() -> Vec<(String, String)> {
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")).filter_map(text).collect()
}

/// Reads a word for yes or no; anything else counts as unset.
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
