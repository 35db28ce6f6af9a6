//! Chooses the task list, and decides whether a configuration file is trusted to name it.

use std::fmt;
use std::path::Path;

use crate::{BadListName, ListId, Rules, Status, Todo};

/// The value of `list` in `taskyard.toml` that selects the list of the client's session.
pub const SESSION: &str = "session";

/// The sources that can name the list. An empty string counts as unset, except in `flag`.
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
    /// The list of the team named by the client's environment.
    pub client_team: Option<String>,
    /// The list of the team that was joined in this directory or one above it.
    pub team: Option<String>,
    /// The list bound to this directory.
    pub binding: Option<String>,
    /// The list that this directory used before lists were shared across a repository, if it has tasks.
    pub kept: Option<String>,
    /// The list recorded for the repository, including one assigned because another repository already uses the
    /// folder's name.
    pub repository: Option<String>,
    /// `CLAUDE_CODE_SESSION_ID`. It names a list under the client's rules, or if the configuration says so.
    pub session: Option<String>,
    /// Whether a list named after the full session id exists.
    pub session_list_exists: bool,
    /// Whether a list named `session-` plus the first eight characters of the session id exists. Newer clients use this
    /// name when teams are enabled.
    pub short_session_list_exists: bool,
    /// The name in `package.json` at the root of the repository, or in the nearest `package.json` outside of git.
    pub package_name: Option<String>,
    /// The name of the main checkout's folder, also in a linked worktree.
    pub git_folder: Option<String>,
    /// The name of the working directory.
    pub directory: Option<String>,
}

impl Candidates {
    /// Keeps only the sources that name the same list in every session of a project. Lists stored as documents are
    /// found this way.
    #[must_use]
    pub fn of_the_project(self) -> Self {
        Self { client_team: None, team: None, session: None, ..self }
    }
}

/// Why a list was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// `--list` was given.
    Flag,
    /// `TASKYARD_LIST` is set.
    TaskyardList,
    /// `CLAUDE_CODE_TASK_LIST_ID` is set.
    ClientList,
    /// One of the client's settings files names it.
    Settings,
    /// `taskyard.toml` names it.
    Config,
    /// `taskyard.toml` gives each session its own list.
    ConfiguredSession,
    /// It belongs to the team named by the client's environment.
    ClientTeam,
    /// It belongs to the team that was joined in this directory or one above it.
    Team,
    /// It is bound to the directory.
    Binding,
    /// The directory used it before, and it has tasks.
    Kept,
    /// It is recorded for the repository.
    Repository,
    /// It belongs to the session.
    Session,
    /// It is named after the package.
    PackageName,
    /// It is named after the repository's folder.
    GitFolder,
    /// It is named after the directory.
    Directory,
    /// No source named a list.
    Default,
}

impl Reason {
    /// Returns a phrase that says where the name comes from.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Flag => "given with --list",
            Self::TaskyardList => "TASKYARD_LIST is set",
            Self::ClientList => "CLAUDE_CODE_TASK_LIST_ID is set",
            Self::Settings => "CLAUDE_CODE_TASK_LIST_ID in .claude/settings.json",
            Self::Config => "`list` in taskyard.toml",
            Self::ConfiguredSession => "`list = \"session\"` in taskyard.toml",
            Self::ClientTeam => "the list of the client's team",
            Self::Team => "the list of the team created or joined in this directory or above it",
            Self::Binding => "bound to this directory",
            Self::Kept => "this directory's earlier list, which has tasks",
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
    /// Returns whether this is the directory's default list, chosen without a flag, variable, team or session.
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
    /// Returns whether the name follows the client's naming, so that it refers to the directory that the client derives
    /// from it.
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

/// The chosen list and the reason for the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The chosen list.
    pub list: ListId,
    /// What named it.
    pub reason: Reason,
}

/// Chooses the list.
///
/// Under strict rules a session names no list unless the configuration says so, so an agent, its shell and its users
/// share the project's list. Under the client's rules the client's order applies: its variable, the team, the session.
/// Of the sources that the client does not know, `TASKYARD_LIST` comes before these, and the configuration, the binding
/// and the names derived from the directory come after them.
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

/// Returns the short name that newer clients give to a session's list when teams are enabled.
pub fn short_session_list(session: &str) -> String {
    format!("session-{}", session.chars().take(8).collect::<String>())
}

/// Returns whether a list is named after a client session: by the session id or by the short name.
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

/// Returns whether a list belongs to a project: its name is one of the project's names, or starts with one followed by
/// a hyphen.
///
/// Compares the directories that the names map to, because two names with the same directory are the same list.
pub fn is_own_list(list: &str, project_names: &[String]) -> bool {
    let Ok(list) = ListId::new(list) else { return false };
    let is_of = |name: &String| {
        let Ok(name) = ListId::new(name.as_str()) else { return false };
        let rest = list.directory().strip_prefix(name.directory());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    project_names.iter().any(is_of)
}

/// Returns the candidate names for a repository's list, best first: its own name, then that name prefixed with one more
/// parent directory of `root` each time. Names too long for a list are skipped.
pub fn repository_names<'a>(name: &'a str, root: &'a Path) -> impl Iterator<Item = String> + 'a {
    let above = root.ancestors().skip(1).filter_map(|directory| directory.file_name());
    let longer = above.scan(name.to_owned(), |name, parent| {
        *name = format!("{}-{name}", parent.to_string_lossy());
        Some(name.clone())
    });
    std::iter::once(name.to_owned()).chain(longer).filter(|name| ListId::new(name.as_str()).is_ok())
}

/// Owner, group and mode of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The user id of the owner.
    pub owner: u32,
    /// The group id.
    pub group: u32,
    /// The permission bits.
    pub mode: u32,
}

/// Why a configuration file is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// Another user owns it.
    #[error("it belongs to another user (uid {owner})")]
    ForeignFile {
        /// The user id of its owner.
        owner: u32,
    },
    /// Another user owns its directory and can replace it.
    #[error("its directory belongs to another user (uid {owner})")]
    ForeignDirectory {
        /// The user id of the directory's owner.
        owner: u32,
    },
    /// Every user can write to it.
    #[error("every user can write to it")]
    FileOpenToAll,
    /// Every user can replace it.
    #[error("every user can write to its directory")]
    DirectoryOpenToAll,
    /// A group with several members can write to it.
    #[error("other users of its group (gid {group}) can write to it")]
    FileOpenToGroup {
        /// The group id.
        group: u32,
    },
    /// A group with several members can replace it.
    #[error("other users of its directory's group (gid {group}) can write to the directory")]
    DirectoryOpenToGroup {
        /// The group id.
        group: u32,
    },
}

/// Judges a file that belongs to a project directory. Only `user` and root may be able to write to it or replace it.
/// Returns `None` if it is trusted.
pub fn judge_project_file(
    user: u32,
    file: Rights,
    directory: Rights,
    is_private_group: impl Fn(u32, u32) -> bool,
) -> Option<Doubt> {
    let is_open_to_group = |rights: Rights| rights.mode & 0o020 != 0 && !is_private_group(rights.owner, rights.group);
    judge_users_file(user, file, directory)
        .or_else(|| is_open_to_group(file).then_some(Doubt::FileOpenToGroup { group: file.group }))
        .or_else(|| is_open_to_group(directory).then_some(Doubt::DirectoryOpenToGroup { group: directory.group }))
}

/// Judges a file in the user's own configuration. It must belong to the user or to root and must not be writable or
/// replaceable by every user; group write access is the user's own decision. Returns `None` if it is trusted.
pub fn judge_users_file(user: u32, file: Rights, directory: Rights) -> Option<Doubt> {
    let is_foreign = |rights: Rights| rights.owner != user && rights.owner != 0;
    let is_open_to_all = |rights: Rights| rights.mode & 0o002 != 0;
    if is_foreign(file) {
        return Some(Doubt::ForeignFile { owner: file.owner });
    }
    if is_open_to_all(file) {
        return Some(Doubt::FileOpenToAll);
    }
    if is_foreign(directory) {
        return Some(Doubt::ForeignDirectory { owner: directory.owner });
    }
    is_open_to_all(directory).then_some(Doubt::DirectoryOpenToAll)
}

/// Returns whether `group` is the private group of `owner`: it has the same name (or the same number, if neither has a
/// name) and no other members. `users` and `groups` are the contents of `/etc/passwd` and `/etc/group`.
pub fn is_private_group(owner: u32, group: u32, users: &str, groups: &str) -> bool {
    let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let number = |fields: &[String], place: usize| fields.get(place).and_then(|text| text.parse::<u32>().ok());
    let users: Vec<Vec<String>> = users.lines().map(fields).collect();
    let name_of = |user: u32| users.iter().find(|fields| number(fields, 2) == Some(user)).map(|fields| &fields[0]);
    let others_have_it =
        users.iter().any(|fields| number(fields, 3) == Some(group) && number(fields, 2) != Some(owner));
    if others_have_it {
        return false;
    }
    let entry = groups.lines().map(fields).find(|fields| number(fields, 2) == Some(group));
    match (entry, name_of(owner)) {
        (Some(entry), Some(name)) => {
            let members = entry.get(3).map(String::as_str).unwrap_or_default();
            entry[0] == *name && members.split(',').all(|member| member.is_empty() || member == name)
        }
        // Probably a user from a directory service: only the numbers can be compared without a network request.
        (None, None) => owner == group,
        _ => false,
    }
}

/// Returns the todos to keep after a write: all of them, or none if all are completed.
pub fn kept(given: &[Todo]) -> &[Todo] {
    if given.iter().all(|todo| todo.status == Status::Completed) { &[] } else { given }
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

    /// Removes the candidates one by one, in the order in which they are chosen.
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
    fn session_list_in_strict_rules_only_if_configured() {
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
        // Outside a session, `session` names no list.
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

#[cfg(test)]
mod own_list_tests {
    use std::path::Path;

    use super::{is_own_list, repository_names};

    #[test]
    fn a_repository_gets_the_names_of_its_parents_in_front() {
        let names: Vec<String> = repository_names("api", Path::new("/srv/acme/api")).collect();
        assert_eq!(names, ["api", "acme-api", "srv-acme-api"]);
        let names: Vec<String> = repository_names("@a/web", Path::new("/web")).collect();
        assert_eq!(names, ["@a/web"]);
        let long = format!("/{}/api", "x".repeat(253));
        assert_eq!(repository_names("api", Path::new(&long)).collect::<Vec<_>>(), ["api"]);
    }

    #[test]
    fn session_list_belongs_to_project_by_name_or_hyphen() {
        let shop = ["shop".to_owned()];
        for list in ["shop", "shop-backend", "shop-"] {
            assert!(is_own_list(list, &shop), "{list}");
        }
        for list in ["", "shopping", "workshop", "my-shop", "Shop", "sho", "backend-shop", "shop_backend", "default"] {
            assert!(!is_own_list(list, &shop), "{list}");
        }
        assert!(!is_own_list(&format!("shop-{}", "x".repeat(300)), &shop));
        assert!(!is_own_list("shop", &[]));
        assert!(!is_own_list("-x", &[String::new()]));
    }

    #[test]
    fn names_count_as_the_directories_they_become() {
        let scoped = ["@scope/shop".to_owned(), "folder".to_owned()];
        for list in ["@scope/shop", "-scope-shop", "@scope/shop/api", "folder-x"] {
            assert!(is_own_list(list, &scoped), "{list}");
        }
    }
}

#[cfg(test)]
mod ownership_tests {
    use super::{Doubt, Rights, is_private_group, judge_project_file, judge_users_file};

    const ANA: u32 = 1000;
    const EVE: u32 = 1001;

    fn rights(owner: u32, mode: u32) -> Rights {
        Rights { owner, group: 100, mode }
    }

    fn judged(file: Rights, directory: Rights) -> Option<Doubt> {
        judge_project_file(ANA, file, directory, |_, _| false)
    }

    #[test]
    fn a_file_counts_when_only_the_user_and_root_can_write_it() {
        for owner in [ANA, 0] {
            assert_eq!(judged(rights(owner, 0o644), rights(ANA, 0o755)), None);
            assert_eq!(judged(rights(ANA, 0o600), rights(owner, 0o700)), None);
        }
    }

    #[test]
    fn another_user_who_could_have_written_it_is_named() {
        let (file, directory) = (rights(ANA, 0o644), rights(ANA, 0o755));
        assert_eq!(judged(rights(EVE, 0o644), directory), Some(Doubt::ForeignFile { owner: EVE }));
        assert_eq!(judged(file, rights(EVE, 0o755)), Some(Doubt::ForeignDirectory { owner: EVE }));
        assert_eq!(judged(rights(ANA, 0o646), directory), Some(Doubt::FileOpenToAll));
        assert_eq!(judged(file, rights(0, 0o1777)), Some(Doubt::DirectoryOpenToAll));
        assert_eq!(judged(rights(ANA, 0o664), directory), Some(Doubt::FileOpenToGroup { group: 100 }));
        assert_eq!(judged(file, rights(ANA, 0o775)), Some(Doubt::DirectoryOpenToGroup { group: 100 }));
    }

    #[test]
    fn a_private_group_is_the_user_alone() {
        let private = |_: u32, _: u32| true;
        assert_eq!(judge_project_file(ANA, rights(ANA, 0o664), rights(ANA, 0o775), private), None);
        assert_eq!(judge_users_file(ANA, rights(ANA, 0o664), rights(ANA, 0o775)), None);
    }

    #[test]
    fn a_group_is_private_by_its_name_and_its_members() {
        let users =
            "root:x:0:0::/root:/bin/sh\nana:x:1000:1000::/:/bin/sh\neve:x:1001:1005::/:/bin/sh\nbob:x:1002:100::/:/b\n";
        let groups = "root:x:0:\nana:x:1000:\nusers:x:100:ana,eve\neve:x:1005:eve\nbob:x:1002:ana\n";
        let is_private = |owner, group| is_private_group(owner, group, users, groups);
        assert!(is_private(0, 0) && is_private(ANA, 1000) && is_private(EVE, 1005));
        assert!(!is_private(ANA, 100) && !is_private(1002, 100), "a group of several");
        assert!(!is_private(1002, 1002), "another user is in it");
        assert!(!is_private(ANA, 1005), "it is another's");
        assert!(is_private(5000, 5000), "nothing is known but that the numbers are the same");
        assert!(!is_private(5000, 1000) && !is_private(5000, 5001));
    }
}

#[cfg(test)]
mod todos_tests {
    use super::kept;
    use crate::{Status, Todo};

    fn todos(statuses: &[Status]) -> Vec<Todo> {
        let todo = |status: &Status| Todo { content: "a".into(), status: *status, active_form: "b".into() };
        statuses.iter().map(todo).collect()
    }

    #[test]
    fn a_list_is_cleared_once_everything_in_it_is_completed() {
        assert_eq!(kept(&todos(&[Status::Completed, Status::Completed])), []);
        assert_eq!(kept(&[]), []);
        let open = todos(&[Status::Completed, Status::Pending]);
        assert_eq!(kept(&open), open);
        let begun = todos(&[Status::InProgress, Status::InProgress]);
        assert_eq!(kept(&begun), begun);
    }
}
