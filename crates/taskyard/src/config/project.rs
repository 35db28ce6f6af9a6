//! The project whose `taskyard.toml` is read, and which of its keys require the user's trust.

use std::fs;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path};

use rustix::process::geteuid;
use taskyard_core::rules::lists::{
    Doubt, Rights, SESSION, is_own_list, is_private_group, judge_project_file, judge_users_file,
};

use super::{Board, Claims, Display, Gc, Jobs, Journal, Kinds, Mcp, Merge, Notify, Origin, Settings, Time, Work};
use crate::opening::WrittenAddress;

pub(super) const FILE_NAME: &str = "taskyard.toml";

/// Why we could not determine whether the user trusts a project.
pub(crate) type TrustError = Box<dyn std::error::Error + Send + Sync>;

/// The project whose file is read.
pub struct Project<'a> {
    /// The root of the project, which contains the file.
    pub directory: &'a Path,
    /// The caller's working directory, if it is below the root: the nearest file between the two is read as well.
    pub below: Option<&'a Path>,
    /// Returns the names that the project is known by.
    pub names: &'a dyn Fn() -> Vec<String>,
    /// Returns whether the user trusts the project. Called only if the file contains keys that require trust.
    pub is_trusted: &'a dyn Fn() -> Result<bool, TrustError>,
}

impl<'a> Project<'a> {
    /// Returns the nearest directory below the root that has a file.
    pub(super) fn nearest(&self) -> Option<&'a Path> {
        let between =
            self.below?.ancestors().take_while(|above| *above != self.directory && above.starts_with(self.directory));
        between.into_iter().find(|above| fs::symlink_metadata(above.join(FILE_NAME)).is_ok())
    }

    /// Returns the keys of a file that take effect only if the project is trusted.
    pub(super) fn keys_that_need_trust(&self, settings: &Settings) -> Vec<&'static str> {
        // Every field is named here, so that none can be added without deciding whether it requires trust.
        let Settings {
            store,
            list,
            rules,
            client_version,
            claims,
            checks,
            hooks,
            jobs,
            journal,
            gc,
            merge,
            display,
            board,
            mcp,
            kinds,
            time,
            // Harmless: they only concern the project itself.
            lists: _,
            work,
            notify,
        } = settings;
        let Claims { lease, limit, roles, stale_owner } = claims;
        let Jobs { max_output, quota, keep, grace, output_form } = jobs;
        let Journal { keep: kept_history, max_size } = journal;
        let Gc { auto } = gc;
        let Merge { put_back } = merge;
        let Display { completed_after: _, style: _, pager } = display;
        let Board { keys, theme } = board;
        let Mcp { when_unset } = mcp;
        let Kinds { marks } = kinds;
        let Time { working_day } = time;
        let Work { copy, link, setup, review, directory } = work;
        let Notify { command: notify_command, on: notify_on } = notify;
        let needs = [
            ("store", store.as_ref().is_some_and(|store| !self.is_own_store(store))),
            // A session's list never belongs to the project, whatever the project's name is.
            ("list", list.as_deref().is_some_and(|list| list == SESSION || !is_own_list(list, &(self.names)()))),
            ("rules", rules.is_some()),
            ("client_version", client_version.is_some()),
            ("claims.lease", lease.is_some()),
            ("claims.limit", limit.is_some()),
            ("claims.roles", !roles.is_empty()),
            ("claims.stale_owner", stale_owner.is_some()),
            ("checks", !checks.is_empty()),
            ("hooks", !hooks.is_empty()),
            ("jobs.max_output", max_output.is_some()),
            ("jobs.quota", quota.is_some()),
            ("jobs.keep", keep.is_some()),
            ("jobs.grace", grace.is_some()),
            ("jobs.output_form", output_form.is_some()),
            ("journal.keep", kept_history.is_some()),
            ("journal.max_size", max_size.is_some()),
            ("gc.auto", auto.is_some()),
            ("merge.put_back", put_back.is_some()),
            // Its value is executed.
            ("display.pager", pager.is_some()),
            // A file that assigns the keys decides which action a key press triggers.
            ("board.keys", !keys.is_empty()),
            ("board.theme", theme.is_some()),
            ("mcp.when_unset", when_unset.is_some()),
            ("kinds.marks", marks.is_some()),
            ("time.working_day", working_day.is_some()),
            // They decide which files an agent gets, where it works, and what is run and merged.
            ("work.copy", copy.is_some()),
            ("work.link", link.is_some()),
            ("work.setup", setup.is_some()),
            ("work.review", review.is_some()),
            ("work.directory", directory.is_some()),
            // Its value is executed.
            ("notify.command", notify_command.is_some()),
            ("notify.on", notify_on.is_some()),
        ];
        needs.into_iter().filter(|(_, needs)| *needs).map(|(key, _)| key).collect()
    }

    /// Returns the settings of an untrusted file that still take effect. Hooks and checks remain, because the code that
    /// would run them checks the trust again and reports that they did not run.
    pub(super) fn without(&self, keys: &[&str], settings: Settings) -> Settings {
        let Settings { store, list, checks, hooks, display, lists, .. } = settings;
        Settings {
            store: store.filter(|_| !keys.contains(&"store")),
            list: list.filter(|_| !keys.contains(&"list")),
            checks,
            hooks,
            display: Display { pager: None, ..display },
            lists,
            ..Settings::default()
        }
    }

    /// Returns whether a store is inside the project's directory once all links are resolved.
    fn is_own_store(&self, address: &WrittenAddress) -> bool {
        let Some(("file" | "document" | "teaching", path)) = address.as_written().split_once(':') else { return false };
        let path = Path::new(path);
        if path.as_os_str().is_empty() || path.components().any(|part| part == Component::ParentDir) {
            return false;
        }
        let Ok(root) = fs::canonicalize(self.directory) else { return false };
        let path = self.directory.join(path);
        // A repository may contain links in the folders of its store, for example to the user's own lists.
        is_inside(&path, &root)
            && stays_inside(&path.join("tasks"), 1, &root)
            && stays_inside(&path.join("teams"), 2, &root)
    }
}

/// Returns whether the existing part of a path is inside `root`, whose links are resolved. A dangling link is outside,
/// because its target may be created later.
fn is_inside(path: &Path, root: &Path) -> bool {
    let there = path.ancestors().find(|ancestor| fs::symlink_metadata(ancestor).is_ok());
    there.and_then(|there| fs::canonicalize(there).ok()).is_some_and(|real| real.starts_with(root))
}

/// Returns whether no link leads out of `root`, in a folder and up to `levels` levels below it.
fn stays_inside(folder: &Path, levels: u32, root: &Path) -> bool {
    let inner = if levels == 0 { None } else { fs::read_dir(folder).ok() };
    is_inside(folder, root)
        && inner.into_iter().flatten().flatten().all(|entry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => is_inside(&entry.path(), root),
            Ok(kind) if kind.is_dir() => stays_inside(&entry.path(), levels - 1, root),
            _ => true,
        })
}

/// Who could have written a configuration file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    NoFile,
    /// No other user, so the file may be used.
    Ours,
    /// Possibly another user.
    Doubtful(Doubt),
}

/// Checks whether a configuration file may be used. If it cannot be examined or is not a regular file, its reader
/// reports the problem.
pub(crate) fn ownership(path: &Path, origin: Origin) -> Ownership {
    if fs::symlink_metadata(path).is_err() {
        return Ownership::NoFile;
    }
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Only a user with write access to the directory can have created a link there. What matters is the owner of its
    // target.
    let (Ok(file), Ok(directory)) = (fs::metadata(path), fs::metadata(directory)) else { return Ownership::Ours };
    if !file.is_file() {
        return Ownership::Ours;
    }
    judge(&file, &directory, origin).map_or(Ownership::Ours, Ownership::Doubtful)
}

fn judge(file: &Metadata, directory: &Metadata, origin: Origin) -> Option<Doubt> {
    let rights = |found: &Metadata| Rights { owner: found.uid(), group: found.gid(), mode: found.mode() & 0o7777 };
    let (user, file, directory) = (geteuid().as_raw(), rights(file), rights(directory));
    match origin {
        Origin::User => judge_users_file(user, file, directory),
        Origin::Project => judge_project_file(user, file, directory, |owner, group| {
            let read = |path| fs::read_to_string(path).unwrap_or_default();
            is_private_group(owner, group, &read("/etc/passwd"), &read("/etc/group"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::Project;
    use crate::config::Settings;

    fn needing(directory: &Path, text: &str) -> Vec<&'static str> {
        let settings: Settings = toml::from_str(text).unwrap();
        let project = Project { directory, below: None, names: &|| vec!["shop".to_owned()], is_trusted: &|| Ok(false) };
        let keys = project.keys_that_need_trust(&settings);
        assert_eq!(project.keys_that_need_trust(&project.without(&keys, settings)), commands_of(&keys));
        keys
    }

    fn commands_of(keys: &[&'static str]) -> Vec<&'static str> {
        keys.iter().copied().filter(|key| ["checks", "hooks"].contains(key)).collect()
    }

    #[test]
    fn everything_that_matters_needs_trust() {
        let place = tempfile::tempdir().unwrap();
        for (text, keys) in [
            ("list = \"shop\"\n[display]\nstyle = \"flat\"\ncompleted_after = 1", &[][..]),
            ("list = \"shop-api\"\nstore = \"file:.taskyard\"", &[]),
            ("list = \"other\"", &["list"]),
            (
                "[board]\ntheme = \"dark\"\nkeys = { done = \"D\", start = [\"f5\", \"s\"] }",
                &["board.keys", "board.theme"],
            ),
            ("list = \"session\"", &["list"]),
            ("rules = \"client\"\nclient_version = \"2.1.34\"", &["rules", "client_version"]),
            (
                "[claims]\nlease = \"1s\"\nlimit = 0\nroles = { ana = [] }\nstale_owner = \"1s\"",
                &["claims.lease", "claims.limit", "claims.roles", "claims.stale_owner"],
            ),
            ("[notify]\ncommand = \"true\"\non = [\"job\"]", &["notify.command", "notify.on"]),
            ("[checks]\nx = \"true\"\n[[hooks.Stop]]\ncommand = \"true\"", &["checks", "hooks"]),
            ("[jobs]\nquota = 1\nkeep = 1\ngrace = 1", &["jobs.quota", "jobs.keep", "jobs.grace"]),
            (
                "[journal]\nkeep = \"1s\"\nmax_size = 1\n[gc]\nauto = false",
                &["journal.keep", "journal.max_size", "gc.auto"],
            ),
            (
                "[work]\ncopy = []\nlink = []\nsetup = \"x\"\nreview = false\ndirectory = \"..\"",
                &["work.copy", "work.link", "work.setup", "work.review", "work.directory"],
            ),
            ("[jobs]\nmax_output = 1\noutput_form = \"2.1.34\"", &["jobs.max_output", "jobs.output_form"]),
        ] {
            assert_eq!(needing(place.path(), text), keys, "{text}");
        }
    }

    #[test]
    fn session_list_needs_trust_whatever_the_project_name() {
        let settings: Settings = toml::from_str("list = \"session\"").unwrap();
        let names = || vec!["session".to_owned()];
        let project =
            Project { directory: Path::new("/session"), below: None, names: &names, is_trusted: &|| Ok(false) };
        assert_eq!(project.keys_that_need_trust(&settings), ["list"]);
    }

    #[test]
    fn a_store_is_the_projects_own_only_inside_its_directory() {
        let place = tempfile::tempdir().unwrap();
        let (project, outside) = (place.path().join("project"), place.path().join("outside"));
        fs::create_dir_all(project.join("kept/tasks/shop")).unwrap();
        fs::create_dir_all(outside.join("tasks")).unwrap();
        for (link, target) in [("out", &outside), ("nowhere", &outside.join("later")), ("in", &project.join("kept"))] {
            symlink(target, project.join(link)).unwrap();
        }
        let is_own = |address: &str| needing(&project, &format!("store = \"{address}\"")).is_empty();
        let absolute = project.join("kept").display().to_string();
        for address in ["file:kept", "file:new/deeper", "document:tasks.json", "teaching:.tasks", "file:in", "file:."] {
            assert!(is_own(address), "{address}");
        }
        assert!(is_own(&format!("file:{absolute}")));
        for address in [
            "claude:",
            "memory:",
            "document:",
            "postgres://host/db",
            "file:",
            "nonsense",
            "file:..",
            "file:kept/../..",
            "file:new/../../outside",
            "file:/tmp",
            "document:/etc/passwd",
            "teaching:../x",
            "file:out",
            "file:out/new",
            "file:nowhere",
            "document:nowhere",
            "file:nowhere/new",
        ] {
            assert!(!is_own(address), "{address}");
        }
    }

    #[test]
    fn a_link_within_a_store_does_not_lead_out_either() {
        let place = tempfile::tempdir().unwrap();
        let (project, outside) = (place.path().join("project"), place.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        for link in ["a/tasks", "b/tasks/shop", "c/teams", "d/teams/crew", "e/teams/crew/inboxes"] {
            fs::create_dir_all(project.join(link).parent().unwrap()).unwrap();
            symlink(&outside, project.join(link)).unwrap();
            let store = format!("store = \"file:{}\"", &link[..1]);
            assert_eq!(needing(&project, &store), ["store"], "{link}");
        }
    }
}

#[cfg(test)]
mod ownership_tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use taskyard_core::rules::lists::Doubt;

    use super::{Origin, Ownership, ownership};

    #[test]
    fn a_file_and_its_directory_are_looked_at_through_a_link_too() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        assert_eq!(ownership(&file, Origin::Project), Ownership::NoFile);
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            assert_eq!(ownership(path, Origin::Project), Ownership::Ours);
        }
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        for path in [&file, &link] {
            assert_eq!(ownership(path, Origin::User), Ownership::Doubtful(Doubt::FileOpenToAll));
        }
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(ownership(&file, Origin::Project), Ownership::Doubtful(Doubt::DirectoryOpenToAll));
    }
}
