//! The project whose `taskyard.toml` is read, and what that file may say before the user trusts the project.

use std::fs;
use std::path::{Component, Path};

use taskyard_core::rules::lists::list_choice::SESSION;
use taskyard_core::rules::lists::own_list::is_own_list;

use super::{Board, Claims, Display, Gc, Jobs, Journal, Kinds, Mcp, Merge, Settings, Time};
use crate::opening::WrittenAddress;

/// The name of the file in a project.
pub(super) const FILE_NAME: &str = "taskyard.toml";

/// Why it is not known whether the user trusts a project.
pub(crate) type TrustError = Box<dyn std::error::Error + Send + Sync>;

/// The project whose file is read.
pub struct Project<'a> {
    /// Its root, which the file is in.
    pub directory: &'a Path,
    /// The directory below the root in which the caller works, if that is another one: the nearest file between the two counts, too.
    pub below: Option<&'a Path>,
    /// Returns the names that the project goes by.
    pub names: &'a dyn Fn() -> Vec<String>,
    /// Tells whether the user trusts it. Asked only where the file says more than a file may that the user does not trust.
    pub is_trusted: &'a dyn Fn() -> Result<bool, TrustError>,
}

impl<'a> Project<'a> {
    /// Returns the nearest directory below the root that has a file.
    pub(super) fn nearest(&self) -> Option<&'a Path> {
        let between =
            self.below?.ancestors().take_while(|above| *above != self.directory && above.starts_with(self.directory));
        between.into_iter().find(|above| fs::symlink_metadata(above.join(FILE_NAME)).is_ok())
    }

    /// Returns the keys of a file that count only where the project is trusted.
    pub(super) fn keys_that_need_trust(&self, settings: &Settings) -> Vec<&'static str> {
        // Every field is named here, so that none can be added without deciding what it is.
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
            // They are the project's own.
            lists: _,
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
        let needs = [
            ("store", store.as_ref().is_some_and(|store| !self.is_own_store(store))),
            // A session's list is none of the project's own, whatever the project is called.
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
            // It is run.
            ("display.pager", pager.is_some()),
            // A file that chooses what a key does decides what is done.
            ("board.keys", !keys.is_empty()),
            ("board.theme", theme.is_some()),
            ("mcp.when_unset", when_unset.is_some()),
            ("kinds.marks", marks.is_some()),
            ("time.working_day", working_day.is_some()),
        ];
        needs.into_iter().filter(|(_, needs)| *needs).map(|(key, _)| key).collect()
    }

    /// Returns what is left of a file that the user does not trust. Hooks and checks stay, since the code that would run them asks once
    /// more whether they may, and says that they did not.
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

    /// Tells whether a store is inside the project's directory, whatever links lead there.
    fn is_own_store(&self, address: &WrittenAddress) -> bool {
        let Some(("file" | "document" | "teaching", path)) = address.as_written().split_once(':') else { return false };
        let path = Path::new(path);
        if path.as_os_str().is_empty() || path.components().any(|part| part == Component::ParentDir) {
            return false;
        }
        let Ok(root) = fs::canonicalize(self.directory) else { return false };
        let path = self.directory.join(path);
        // A repository may come with links in the folders of its store: to the user's own lists, say.
        is_inside(&path, &root)
            && stays_inside(&path.join("tasks"), 1, &root)
            && stays_inside(&path.join("teams"), 2, &root)
    }
}

/// Tells whether a path, or as much of it as there is, is inside a directory whose links are resolved. A link that leads nowhere
/// may lead anywhere later.
fn is_inside(path: &Path, root: &Path) -> bool {
    let there = path.ancestors().find(|ancestor| fs::symlink_metadata(ancestor).is_ok());
    there.and_then(|there| fs::canonicalize(there).ok()).is_some_and(|real| real.starts_with(root))
}

/// Tells whether no link leads out of a directory, from a folder in it or from those so many levels below.
fn stays_inside(folder: &Path, levels: u32, root: &Path) -> bool {
    let inner = if levels == 0 { None } else { fs::read_dir(folder).ok() };
    is_inside(folder, root)
        && inner.into_iter().flatten().flatten().all(|entry| match entry.file_type() {
            Ok(kind) if kind.is_symlink() => is_inside(&entry.path(), root),
            Ok(kind) if kind.is_dir() => stays_inside(&entry.path(), levels - 1, root),
            _ => true,
        })
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
            ("[checks]\nx = \"true\"\n[[hooks.Stop]]\ncommand = \"true\"", &["checks", "hooks"]),
            ("[jobs]\nquota = 1\nkeep = 1\ngrace = 1", &["jobs.quota", "jobs.keep", "jobs.grace"]),
            (
                "[journal]\nkeep = \"1s\"\nmax_size = 1\n[gc]\nauto = false",
                &["journal.keep", "journal.max_size", "gc.auto"],
            ),
            ("[jobs]\nmax_output = 1\noutput_form = \"2.1.34\"", &["jobs.max_output", "jobs.output_form"]),
        ] {
            assert_eq!(needing(place.path(), text), keys, "{text}");
        }
    }

    #[test]
    fn the_list_of_a_session_needs_trust_whatever_the_project_is_called() {
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
