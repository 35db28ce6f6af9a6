//! Which list is meant.

use std::fmt;

use crate::{BadListName, ListId, Rules};

/// What could name the list, each where it is known. Empty text counts as unset, except in the flag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// `--list`.
    pub flag: Option<String>,
    /// `TASKYARD_LIST`.
    pub taskyard_list: Option<String>,
    /// `CLAUDE_CODE_TASK_LIST_ID`.
    pub client_list: Option<String>,
    /// `list` in `taskyard.toml`.
    pub config: Option<String>,
    /// The team one belongs to.
    pub team: Option<String>,
    /// The list bound to this directory.
    pub binding: Option<String>,
    /// `CLAUDE_CODE_SESSION_ID`.
    pub session: Option<String>,
    /// Whether there is a list of the session's full name.
    pub session_list_exists: bool,
    /// Whether there is a list `session-` and the first eight characters of the session, as newer clients name it when teams
    /// are on.
    pub short_session_list_exists: bool,
    /// The name in `package.json`.
    pub package_name: Option<String>,
    /// The name of the folder that holds `.git`.
    pub git_folder: Option<String>,
    /// The name of the working directory.
    pub directory: Option<String>,
}

impl Candidates {
    /// Returns only what names a list that every session in a project shares, as lists kept as documents are found.
    #[must_use]
    pub fn of_the_project(self) -> Self {
        Self { team: None, session: None, ..self }
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
    /// The configuration said so.
    Config,
    /// It is the list of the team.
    Team,
    /// It is bound to the directory.
    Binding,
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
            Self::Config => "`list` in taskyard.toml",
            Self::Team => "the list of the team",
            Self::Binding => "bound to this directory by `taskyard use`",
            Self::Session => "CLAUDE_CODE_SESSION_ID is set",
            Self::PackageName => "the name in package.json",
            Self::GitFolder => "the name of the folder that holds .git",
            Self::Directory => "the name of this directory",
            Self::Default => "nothing else names a list",
        }
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
    /// The list.
    pub list: ListId,
    /// Why.
    pub reason: Reason,
}

/// Chooses the list.
///
/// In the client's rules its own order holds: its variable, the team, the session. What it does not know comes before
/// that where it was said in so many words, and after it where it is a guess.
pub fn choose(candidates: &Candidates, rules: Rules) -> Result<Choice, BadListName> {
    if let Some(flag) = &candidates.flag {
        return Ok(Choice { list: ListId::new(flag.as_str())?, reason: Reason::Flag });
    }
    let session = session_list(candidates);
    let Candidates { taskyard_list, client_list, config, team, binding, package_name, git_folder, directory, .. } =
        candidates;
    let [taskyard_list, client_list, config, team, binding] = [
        (taskyard_list, Reason::TaskyardList),
        (client_list, Reason::ClientList),
        (config, Reason::Config),
        (team, Reason::Team),
        (binding, Reason::Binding),
    ];
    let session = (&session, Reason::Session);
    let first = match rules {
        Rules::Strict => [taskyard_list, client_list, config, team, binding, session],
        Rules::Client(_) => [taskyard_list, client_list, team, session, config, binding],
    };
    let guesses =
        [(package_name, Reason::PackageName), (git_folder, Reason::GitFolder), (directory, Reason::Directory)];
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

fn session_list(candidates: &Candidates) -> Option<String> {
    let session = candidates.session.as_ref().filter(|session| !session.is_empty())?;
    if candidates.short_session_list_exists && !candidates.session_list_exists {
        return Some(short_session_list(session));
    }
    Some(session.clone())
}

#[cfg(test)]
mod tests {
    use super::{Candidates, Reason, choose};
    use crate::{BadListName, ClientVersion, Rules};

    const CLIENT: Rules = Rules::Client(ClientVersion::V2_1_325);

    fn everything() -> Candidates {
        let name = |text: &str| Some(text.to_owned());
        Candidates {
            flag: name("flag"),
            taskyard_list: name("taskyard"),
            client_list: name("client"),
            config: name("config"),
            team: name("team"),
            binding: name("binding"),
            session: name("0123456789abcdef"),
            session_list_exists: false,
            short_session_list_exists: false,
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
                Reason::Config => candidates.config = None,
                Reason::Team => candidates.team = None,
                Reason::Binding => candidates.binding = None,
                Reason::Session => candidates.session = None,
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
            Binding, ClientList, Config, Default, Directory, Flag, GitFolder, PackageName, Session, TaskyardList, Team,
        };
        let guesses = [PackageName, GitFolder, Directory, Default];
        let strict = [Flag, TaskyardList, ClientList, Config, Team, Binding, Session];
        assert_eq!(order(Rules::Strict), [&strict[..], &guesses].concat());
        let client = [Flag, TaskyardList, ClientList, Team, Session, Config, Binding];
        assert_eq!(order(CLIENT), [&client[..], &guesses].concat());
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
    fn a_session_means_its_short_list_where_only_that_exists() {
        let session = |full, short| {
            let candidates = Candidates {
                session: Some("0123456789abcdef".into()),
                session_list_exists: full,
                short_session_list_exists: short,
                ..Candidates::default()
            };
            choose(&candidates, Rules::Strict).unwrap().list.as_str().to_owned()
        };
        assert_eq!(session(false, true), "session-01234567");
        assert_eq!(session(true, true), "0123456789abcdef");
        assert_eq!(session(false, false), "0123456789abcdef");
    }
}
