//! Which list is meant.

use std::fmt;

use crate::{BadListName, ListId, Rules};

/// The word in `taskyard.toml` that means the list of the client's session, whichever that is.
pub const SESSION: &str = "session";

/// What could name the list, each where it is known. Empty text counts as unset, except in the flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// `--list`.
    pub flag: Option<String>,
    /// `TASKYARD_LIST`.
    pub taskyard_list: Option<String>,
    /// `CLAUDE_CODE_TASK_LIST_ID`.
    pub client_list: Option<String>,
    /// `CLAUDE_CODE_TASK_LIST_ID` in one of the client's settings files.
    pub settings: Option<String>,
    /// `list` in `taskyard.toml`; [`SESSION`] means the list of the session.
    pub config: Option<String>,
    /// The list of the team that the client's own environment says one acts in.
    pub client_team: Option<String>,
    /// The list of the team that one joined in this directory or above it.
    pub team: Option<String>,
    /// The list bound to this directory.
    pub binding: Option<String>,
    /// The list that this directory had before a repository had one list, if that has tasks.
    pub kept: Option<String>,
    /// The list that is recorded for the repository, or that it gets because another repository has the name below.
    pub repository: Option<String>,
    /// `CLAUDE_CODE_SESSION_ID`. It names a list in the client's rules, and where the configuration says so.
    pub session: Option<String>,
    /// Whether there is a list of the session's full name.
    pub session_list_exists: bool,
    /// Whether there is a list `session-` and the first eight characters of the session, as newer clients name it when teams
    /// are on.
    pub short_session_list_exists: bool,
    /// The name in the `package.json` at the root of the repository, outside of git in the nearest one.
    pub package_name: Option<String>,
    /// The name of the repository's folder: that of the main checkout, in every worktree.
    pub git_folder: Option<String>,
    /// The name of the working directory.
    pub directory: Option<String>,
}

impl Candidates {
    /// Returns only what names a list that every session in a project shares, as lists kept as documents are found.
    #[must_use]
    pub fn of_the_project(self) -> Self {
        Self { client_team: None, team: None, session: None, ..self }
    }
}

/// Why a list was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The flag said so.
    Flag,
    /// Our variable said so.
    TaskyardList,
    /// The client's variable said so.
    ClientList,
    /// A settings file of the client said so.
    Settings,
    /// The configuration said so.
    Config,
    /// The configuration has every session keep a list of its own.
    ConfiguredSession,
    /// It is the list of the team that the client's own environment says.
    ClientTeam,
    /// It is the list of the team that was joined in this directory or above it.
    Team,
    /// It is bound to the directory.
    Binding,
    /// It is the list that the directory had before, and it has tasks.
    Kept,
    /// It is the list of the repository, under another name than the repository's own.
    Repository,
    /// It is the list of the session.
    Session,
    /// It has the name of the package.
    PackageName,
    /// It has the name of the repository's folder.
    GitFolder,
    /// It has the name of the directory.
    Directory,
    /// Nothing named a list.
    Default,
}

impl Reason {
    /// Says in words where the name comes from.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Flag => "given with --list",
            Self::TaskyardList => "TASKYARD_LIST is set",
            Self::ClientList => "CLAUDE_CODE_TASK_LIST_ID is set",
            Self::Settings => "CLAUDE_CODE_TASK_LIST_ID in .claude/settings.json",
            Self::Config => "`list` in taskyard.toml",
            Self::ConfiguredSession => "`list = \"session\"` in taskyard.toml",
            Self::ClientTeam => "the list of the client's team",
            Self::Team => "the list of the team made or joined in this directory or above it",
            Self::Binding => "bound to this directory",
            Self::Kept => "the list this directory had before, which has tasks",
            Self::Repository => "the list of this repository",
            Self::Session => "CLAUDE_CODE_SESSION_ID is set",
            Self::PackageName => "the name in package.json",
            Self::GitFolder => "the name of the repository's folder",
            Self::Directory => "the name of this directory",
            Self::Default => "nothing else names a list",
        }
    }
}

impl Reason {
    /// Tells whether it is the list that a person gets in the directory who says nothing of a list.
    pub const fn is_of_directory(self) -> bool {
        match self {
            Self::Settings
            | Self::Config
            | Self::Binding
            | Self::Kept
            | Self::Repository
            | Self::PackageName
            | Self::GitFolder
            | Self::Directory
            | Self::Default => true,
            Self::Flag
            | Self::TaskyardList
            | Self::ClientList
            | Self::ConfiguredSession
            | Self::ClientTeam
            | Self::Team
            | Self::Session => false,
        }
    }
}

impl Reason {
    /// Tells whether the name is the client's, which means the directory that the client makes of it.
    pub const fn is_of_client(self) -> bool {
        matches!(
            self,
            Self::ClientList | Self::Settings | Self::ConfiguredSession | Self::ClientTeam | Self::Team | Self::Session
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.words())
    }
}

/// A list, and why it is the one meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The list that is meant.
    pub list: ListId,
    /// What named it.
    pub reason: Reason,
}

/// Chooses the list.
///
/// In strict rules a session names no list unless the configuration says so: an agent, its shell and its people share the
/// list of the project. In the client's rules its own order holds: its variable, the team, the session. What the client does
/// not know comes before that where it was said in so many words, and after it where it is a guess.
pub fn choose(candidates: &Candidates, rules: Rules) -> Result<Choice, BadListName> {
    if let Some(flag) = &candidates.flag {
        return Ok(Choice { list: ListId::new(flag.as_str())?, reason: Reason::Flag });
    }
    let session = session_list(candidates);
    let means_session = candidates.config.as_deref() == Some(SESSION);
    let config = match means_session {
        true => (&session, Reason::ConfiguredSession),
        false => (&candidates.config, Reason::Config),
    };
    let taskyard_list = (&candidates.taskyard_list, Reason::TaskyardList);
    let client_list = (&candidates.client_list, Reason::ClientList);
    let settings = (&candidates.settings, Reason::Settings);
    let client_team = (&candidates.client_team, Reason::ClientTeam);
    let team = (&candidates.team, Reason::Team);
    let binding = (&candidates.binding, Reason::Binding);
    let session = (&session, Reason::Session);
    let first = match rules {
        Rules::Strict => vec![taskyard_list, client_list, settings, config, client_team, team, binding],
        Rules::Client(_) => vec![taskyard_list, client_list, settings, client_team, team, session, config, binding],
    };
    let guesses = [
        (&candidates.kept, Reason::Kept),
        (&candidates.repository, Reason::Repository),
        (&candidates.package_name, Reason::PackageName),
        (&candidates.git_folder, Reason::GitFolder),
        (&candidates.directory, Reason::Directory),
    ];
    let named = first.into_iter().chain(guesses).find_map(|(name, reason)| {
        let name = name.as_deref().filter(|name| !name.is_empty())?;
        Some((name, reason))
    });
    let (name, reason) = named.unwrap_or(("default", Reason::Default));
    Ok(Choice { list: ListId::new(name)?, reason })
}

/// Returns the short name that newer clients give a session's list when teams are on.
pub fn short_session_list(session: &str) -> String {
    format!("session-{}", session.chars().take(8).collect::<String>())
}

/// Tells whether a list has the name of one that the client makes for a session: the id of the session, or the short name.
pub fn is_session_list(list: &str) -> bool {
    let is_hex = |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(start) = list.strip_prefix("session-") {
        return is_hex(start, 8);
    }
    let parts: Vec<&str> = list.split('-').collect();
    parts.len() == 5 && parts.iter().zip([8, 4, 4, 4, 12]).all(|(part, length)| is_hex(part, length))
}

fn session_list(candidates: &Candidates) -> Option<String> {
    let session = candidates.session.as_ref().filter(|session| !session.is_empty())?;
    if candidates.short_session_list_exists && !candidates.session_list_exists {
        return Some(short_session_list(session));
    }
    Some(session.clone())
}

#[cfg(test)]
mod tests {
    use super::{Candidates, Reason, choose, is_session_list};
    use crate::{BadListName, ClientVersion, Rules};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn everything() -> Candidates {
        let name = |text: &str| Some(text.to_owned());
        Candidates {
            flag: name("flag"),
            taskyard_list: name("taskyard"),
            client_list: name("client"),
            settings: name("settings"),
            config: name("config"),
            client_team: name("client team"),
            team: name("team"),
            binding: name("binding"),
            session: name("0123456789abcdef"),
            session_list_exists: false,
            short_session_list_exists: false,
            kept: name("kept"),
            repository: name("repository"),
            package_name: name("package"),
            git_folder: name("git"),
            directory: name("directory"),
        }
    }

    /// Takes the candidates away one after the other, in the order in which they are chosen.
    fn order(rules: Rules) -> Vec<Reason> {
        let mut candidates = everything();
        let mut reasons = Vec::new();
        loop {
            let reason = choose(&candidates, rules).unwrap().reason;
            reasons.push(reason);
            match reason {
                Reason::Flag => candidates.flag = None,
                Reason::TaskyardList => candidates.taskyard_list = None,
                Reason::ClientList => candidates.client_list = None,
                Reason::Settings => candidates.settings = None,
                Reason::Config => candidates.config = None,
                Reason::ClientTeam => candidates.client_team = None,
                Reason::Team => candidates.team = None,
                Reason::Binding => candidates.binding = None,
                Reason::Kept => candidates.kept = None,
                Reason::Repository => candidates.repository = None,
                Reason::Session | Reason::ConfiguredSession => candidates.session = None,
                Reason::PackageName => candidates.package_name = None,
                Reason::GitFolder => candidates.git_folder = None,
                Reason::Directory => candidates.directory = None,
                Reason::Default => return reasons,
            }
        }
    }

    #[test]
    fn a_flag_beats_a_variable_and_a_variable_the_configuration() {
        use Reason::{
            Binding, ClientList, ClientTeam, Config, Default, Directory, Flag, GitFolder, Kept, PackageName,
            Repository, Session, Settings, TaskyardList, Team,
        };
        let guesses = [Kept, Repository, PackageName, GitFolder, Directory, Default];
        let strict = [Flag, TaskyardList, ClientList, Settings, Config, ClientTeam, Team, Binding];
        assert_eq!(order(Rules::Strict), [&strict[..], &guesses].concat());
        let client = [Flag, TaskyardList, ClientList, Settings, ClientTeam, Team, Session, Config, Binding];
        assert_eq!(order(CLIENT), [&client[..], &guesses].concat());
    }

    #[test]
    fn a_session_has_a_list_of_its_own_in_strict_rules_only_where_that_is_configured() {
        let chosen = |config: Option<&str>, session: Option<&str>| {
            let candidates = Candidates {
                config: config.map(str::to_owned),
                session: session.map(str::to_owned),
                directory: Some("directory".into()),
                ..Candidates::default()
            };
            let choice = choose(&candidates, Rules::Strict).unwrap();
            (choice.list.as_str().to_owned(), choice.reason)
        };
        assert_eq!(chosen(None, Some("s-1")), ("directory".into(), Reason::Directory));
        assert_eq!(chosen(Some("session"), Some("s-1")), ("s-1".into(), Reason::ConfiguredSession));
        // Outside of sessions there is none that could have a list.
        assert_eq!(chosen(Some("session"), None), ("directory".into(), Reason::Directory));
        assert_eq!(chosen(Some("Session"), Some("s-1")), ("Session".into(), Reason::Config));
    }

    #[test]
    fn empty_text_is_unset_except_in_the_flag() {
        let mut candidates = Candidates { client_list: Some(String::new()), ..Candidates::default() };
        let choice = choose(&candidates, Rules::Strict).unwrap();
        assert_eq!((choice.list.as_str(), choice.reason), ("default", Reason::Default));
        candidates.flag = Some(String::new());
        assert_eq!(choose(&candidates, Rules::Strict), Err(BadListName::Empty));
    }

    #[test]
    fn a_name_that_is_too_long_is_an_error_and_not_passed_over() {
        let candidates = Candidates { taskyard_list: Some("x".repeat(300)), ..everything() };
        let candidates = Candidates { flag: None, ..candidates };
        assert_eq!(choose(&candidates, Rules::Strict), Err(BadListName::TooLong { length: 300 }));
    }

    #[test]
    fn the_lists_of_sessions_are_known_by_their_names() {
        for list in ["0198c0de-1111-4222-8333-444455556666", "session-0198c0de"] {
            assert!(is_session_list(list), "{list}");
        }
        for list in ["project", "session", "session-one", "session-0198c0de1", "0198c0de-1111-4222-8333", "a-b-c-d-e"] {
            assert!(!is_session_list(list), "{list}");
        }
    }

    #[test]
    fn a_session_means_its_short_list_where_only_that_exists() {
        let session = |full, short| {
            let candidates = Candidates {
                session: Some("0123456789abcdef".into()),
                session_list_exists: full,
                short_session_list_exists: short,
                ..Candidates::default()
            };
            choose(&candidates, CLIENT).unwrap().list.as_str().to_owned()
        };
        assert_eq!(session(false, true), "session-01234567");
        assert_eq!(session(true, true), "0123456789abcdef");
        assert_eq!(session(false, false), "0123456789abcdef");
    }
}
