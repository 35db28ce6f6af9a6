//! The effective configuration: the user's file, overridden by the file in the project's root, and that by the nearest
//! file below the root.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use taskyard_core::rules::agents::is_same_agent;
use taskyard_core::timing::WORKING_DAY;
use taskyard_core::{AgentName, ClientVersion};

use super::project::FILE_NAME;
use super::{
    BoardKeys, ConfigError, ConfigWarning, Layer, Marks, NoticeKind, Origin, Ownership, Project, RuleWord, Settings,
    WhenUnset, ownership,
};
use crate::config::settings_text;
#[cfg(feature = "sqlite")]
use crate::jobs::JobSettings;
use crate::opening::WrittenAddress;

/// How long every change is kept by default: a year.
const KEEP: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The default limit for the size of a list's journal.
const MAX_SIZE: u64 = 256 << 20;

/// All configuration files that were read, in ascending order of precedence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The files.
    pub layers: Vec<Layer>,
    /// Warnings about ignored files and keys.
    pub warnings: Vec<ConfigWarning>,
}

impl Config {
    /// Reads the user's file, the project's file and the nearest one below its root, as far as they exist and can be
    /// trusted not to have been written by another user.
    pub fn load(user: Option<&Path>, project: Option<&Project<'_>>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        if let Some(path) = user {
            let layer = config.read(path, Origin::User)?;
            config.layers.extend(layer);
        }
        if let Some(project) = project
            && let Some(layer) = config.read(&project.directory.join(FILE_NAME), Origin::Project)?
        {
            let layer = config.restricted(layer, project);
            config.layers.push(layer);
        }
        if let Some((project, directory)) = project.and_then(|project| Some((project, project.nearest()?)))
            && let Some(layer) = config.read(&directory.join(FILE_NAME), Origin::Project)?
        {
            let layer = config.restricted(layer, &Project { directory, below: None, ..*project });
            config.layers.push(layer);
        }
        Ok(config)
    }

    /// Reads a file if it exists and no other user could have written it. A doubtful file is not parsed, so it may
    /// contain anything.
    fn read(&mut self, path: &Path, origin: Origin) -> Result<Option<Layer>, ConfigError> {
        match ownership(path, origin) {
            Ownership::NoFile => Ok(None),
            Ownership::Ours => settings_text::read(path, origin),
            Ownership::Doubtful(doubt) => {
                self.warnings.push(ConfigWarning::NotCounted { path: path.to_owned(), doubt });
                Ok(None)
            }
        }
    }

    /// Removes the keys that require trust from a project's file if the project is not trusted.
    fn restricted(&mut self, mut layer: Layer, project: &Project<'_>) -> Layer {
        layer.needs_trust = project.keys_that_need_trust(&layer.settings);
        if layer.needs_trust.is_empty() {
            return layer;
        }
        let is_trusted = (project.is_trusted)().unwrap_or_else(|error| {
            let directory = project.directory.to_owned();
            self.warnings.push(ConfigWarning::TrustUnknown { directory, why: error.to_string() });
            false
        });
        if !is_trusted {
            layer.settings = project.without(&layer.needs_trust, layer.settings);
            self.warnings.push(ConfigWarning::Untrusted { path: layer.path.clone(), keys: layer.needs_trust.clone() });
        }
        layer
    }

    /// Returns the store's address and the file that sets it.
    pub fn store(&self) -> Option<(&WrittenAddress, &Layer)> {
        self.strongest(|settings| settings.store.as_ref())
    }

    /// Returns the list's name and the file that sets it.
    pub fn list(&self) -> Option<(&str, &Layer)> {
        self.strongest(|settings| settings.list.as_deref())
    }

    /// Returns whether every branch except the default one has its own list.
    pub fn is_per_branch(&self) -> bool {
        self.strongest(|settings| settings.lists.per_branch).is_some_and(|(per_branch, _)| per_branch)
    }

    /// Returns the rule set; `None` if no file sets it.
    pub fn rules(&self) -> Option<RuleWord> {
        self.strongest(|settings| settings.rules).map(|(rules, _)| rules)
    }

    /// Returns the client release that client rules follow; `None` if no file sets it.
    pub fn client_version(&self) -> Option<ClientVersion> {
        self.strongest(|settings| settings.client_version).map(|(version, _)| version)
    }

    /// Returns how long a lease lives without being renewed; `None` if no file sets it.
    pub fn lease(&self) -> Option<Duration> {
        self.strongest(|settings| settings.claims.lease).map(|(lease, _)| lease)
    }

    /// Returns how long an owner without a lease may be inactive before the owner counts as stale; `None` if no file
    /// sets it.
    pub fn stale_owner(&self) -> Option<Duration> {
        self.strongest(|settings| settings.claims.stale_owner).map(|(silence, _)| silence)
    }

    /// Returns how many tasks an agent may have in progress; `None` if no file sets it.
    pub fn claim_limit(&self) -> Option<usize> {
        self.strongest(|settings| settings.claims.limit).and_then(|(limit, _)| usize::try_from(limit).ok())
    }

    /// Returns the configured roles of an agent, from the file of highest precedence that names it.
    pub fn roles(&self, agent: &AgentName) -> &[String] {
        let named = |settings: &'_ Settings| {
            settings.claims.roles.keys().find(|name| is_same_agent(name, agent.as_str())).cloned()
        };
        let found = self.layers.iter().rev().find_map(|layer| Some((named(&layer.settings)?, layer)));
        found.and_then(|(name, layer)| layer.settings.claims.roles.get(&name)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the settings for jobs. Each value comes from the file of highest precedence that sets it.
    #[cfg(feature = "sqlite")]
    pub fn jobs(&self) -> JobSettings {
        let defaults = JobSettings::default();
        let set =
            |pick: fn(&Settings) -> Option<u64>, otherwise| self.strongest(pick).map_or(otherwise, |(size, _)| size);
        JobSettings {
            max_output: set(|settings| settings.jobs.max_output, defaults.max_output),
            quota: set(|settings| settings.jobs.quota, defaults.quota),
            keep: self.strongest(|settings| settings.jobs.keep).map_or(defaults.keep, |(keep, _)| keep),
            output_form: self
                .strongest(|settings| settings.jobs.output_form)
                .map_or(defaults.output_form, |(form, _)| form),
            grace: self.strongest(|settings| settings.jobs.grace).map_or(defaults.grace, |(grace, _)| grace),
        }
    }

    /// Returns how long every change is kept.
    pub fn keep(&self) -> Duration {
        self.strongest(|settings| settings.journal.keep).map_or(KEEP, |(keep, _)| keep)
    }

    /// Returns the size in bytes above which a list's journal is pruned before [`Self::keep`] has passed.
    pub fn max_size(&self) -> u64 {
        self.strongest(|settings| settings.journal.max_size).map_or(MAX_SIZE, |(size, _)| size)
    }

    /// Returns whether some of the cleanup runs automatically.
    pub fn tidies_by_itself(&self) -> bool {
        self.strongest(|settings| settings.gc.auto).is_none_or(|(auto, _)| auto)
    }

    /// Returns whether changes that another program overwrote with stale data are reapplied automatically; `None` if no
    /// file sets it.
    pub fn put_back(&self) -> Option<bool> {
        self.strongest(|settings| settings.merge.put_back).map(|(put_back, _)| put_back)
    }

    /// Returns the client release whose output format jobs use; `None` if no file sets it.
    pub fn output_form(&self) -> Option<ClientVersion> {
        self.strongest(|settings| settings.jobs.output_form).map(|(form, _)| form)
    }

    /// Returns how many completed tasks are shown; `None` if no file sets it.
    pub fn completed_after(&self) -> Option<usize> {
        self.strongest(|settings| settings.display.completed_after).map(|(count, _)| count)
    }

    /// Returns the style of lists, and the file that sets it.
    pub fn style(&self) -> Option<(&str, &Layer)> {
        self.strongest(|settings| settings.display.style.as_deref())
    }

    /// Returns the board's keys by action, and the file that sets them.
    pub fn board_keys(&self) -> Option<(BTreeMap<String, Vec<String>>, &Layer)> {
        let keys = |settings: &Settings| (!settings.board.keys.is_empty()).then(|| settings.board.keys.clone());
        let (keys, layer) = self.strongest(keys)?;
        let several = |keys: BoardKeys| match keys {
            BoardKeys::One(key) => vec![key],
            BoardKeys::Several(keys) => keys,
        };
        Some((keys.into_iter().map(|(name, keys)| (name, several(keys))).collect(), layer))
    }

    /// Returns the board's colour theme, and the file that sets it.
    pub fn board_theme(&self) -> Option<(&str, &Layer)> {
        self.strongest(|settings| settings.board.theme.as_deref())
    }

    /// Returns which of the client's two systems is on if its variable is unset; `None` if no file sets it.
    pub fn when_unset(&self) -> Option<WhenUnset> {
        self.strongest(|settings| settings.mcp.when_unset).map(|(system, _)| system)
    }

    /// Returns how the marks before the title of a new task are written; `None` if no file sets it.
    pub fn marks(&self) -> Option<Marks> {
        self.strongest(|settings| settings.kinds.marks).map(|(marks, _)| marks)
    }

    /// Returns the length of a working day in estimates.
    pub fn working_day(&self) -> Duration {
        self.strongest(|settings| settings.time.working_day).map_or(WORKING_DAY, |(day, _)| day)
    }

    /// Returns the shell command that shows desktop notices; `None` if the desktop or the terminal shows them.
    pub fn notify_command(&self) -> Option<&str> {
        self.strongest(|settings| settings.notify.command.as_deref()).map(|(command, _)| command)
    }

    /// Returns the kinds of desktop notices that are shown. By default all of them are.
    pub fn notify_on(&self) -> Vec<NoticeKind> {
        let on = self.strongest(|settings| settings.notify.on.clone());
        on.map_or_else(|| NoticeKind::ALL.to_vec(), |(kinds, _)| kinds)
    }

    /// Returns the pager for output that is longer than the screen.
    pub fn pager(&self) -> Option<&str> {
        self.strongest(|settings| settings.display.pager.as_deref()).map(|(pager, _)| pager)
    }

    /// Returns the hooks of an event with their origin, the user's before the project's.
    #[cfg(test)]
    pub(crate) fn hooks(&self, event: &str) -> impl Iterator<Item = (Origin, &super::settings::Hook)> {
        self.layers.iter().flat_map(move |layer| {
            let hooks = layer.settings.hooks.get(event).into_iter().flatten();
            hooks.map(|hook| (layer.origin, hook))
        })
    }

    /// Returns the patterns of untracked files that are copied into each worktree.
    pub fn work_copy(&self) -> Vec<String> {
        self.strongest(|settings| settings.work.copy.clone()).map(|(copy, _)| copy).unwrap_or_default()
    }

    /// Returns the paths that are linked into each worktree.
    pub fn work_link(&self) -> Vec<String> {
        self.strongest(|settings| settings.work.link.clone()).map(|(link, _)| link).unwrap_or_default()
    }

    /// Returns the command that runs in each new worktree.
    pub fn work_setup(&self) -> Option<&str> {
        self.strongest(|settings| settings.work.setup.as_deref()).map(|(setup, _)| setup)
    }

    /// Returns whether a merge needs a person's approval.
    pub fn work_review(&self) -> bool {
        self.strongest(|settings| settings.work.review).is_some_and(|(review, _)| review)
    }

    /// Returns the directory in which worktrees are created. A relative path is relative to the checkout.
    pub fn work_directory(&self) -> Option<&Path> {
        self.strongest(|settings| settings.work.directory.as_deref()).map(|(directory, _)| Path::new(directory))
    }

    /// Returns the commands defined for a check, the project's before the user's.
    pub(crate) fn checks(&self, name: &str) -> impl Iterator<Item = (Origin, &str)> {
        let layers = self.layers.iter().rev();
        layers.filter_map(move |layer| Some((layer.origin, layer.settings.checks.get(name)?.as_str())))
    }

    fn strongest<'a, T>(&'a self, pick: impl Fn(&'a Settings) -> Option<T>) -> Option<(T, &'a Layer)> {
        self.layers.iter().rev().find_map(|layer| Some((pick(&layer.settings)?, layer)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Config, ConfigWarning, Origin, Project};

    const USERS: &str = "list = \"mine\"\nstore = \"claude:\"\n[[hooks.Stop]]\ncommand = \"a\"";

    /// Reads the two files of a place whose project is named `ours`.
    fn load(place: &Path, is_trusted: bool) -> Config {
        let names = || vec!["ours".to_owned()];
        let project = Project { directory: place, below: None, names: &names, is_trusted: &|| Ok(is_trusted) };
        Config::load(Some(&place.join("user.toml")), Some(&project)).unwrap()
    }

    #[test]
    fn the_projects_word_counts_over_the_users() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("user.toml"), USERS).unwrap();
        fs::write(place.path().join("taskyard.toml"), "list = \"ours\"\n[[hooks.Stop]]\ncommand = \"b\"").unwrap();
        let config = load(place.path(), true);
        assert_eq!(config.list().unwrap().0, "ours");
        assert_eq!(config.store().unwrap().0.to_string(), "claude:");
        let hooks: Vec<_> = config.hooks("Stop").map(|(origin, hook)| (origin, hook.command.as_str())).collect();
        assert_eq!(hooks, [(Origin::User, "a"), (Origin::Project, "b")]);
        assert_eq!(config.warnings, []);
    }

    #[test]
    fn the_nearest_file_below_the_root_counts_most() {
        let place = tempfile::tempdir().unwrap();
        let below = place.path().join("packages/web/src");
        fs::create_dir_all(&below).unwrap();
        fs::write(place.path().join("taskyard.toml"), "list = \"ours\"\n[display]\nstyle = \"flat\"").unwrap();
        fs::write(place.path().join("packages/taskyard.toml"), "list = \"ours-all\"").unwrap();
        fs::write(place.path().join("packages/web/taskyard.toml"), "list = \"ours-web\"\nrules = \"client\"").unwrap();
        let names = || vec!["ours".to_owned()];
        let root = place.path();
        let project = Project { directory: root, below: Some(&below), names: &names, is_trusted: &|| Ok(false) };
        let config = Config::load(None, Some(&project)).unwrap();
        assert_eq!((config.list().unwrap().0, config.style().unwrap().0, config.rules()), ("ours-web", "flat", None));
        let path = place.path().join("packages/web/taskyard.toml");
        assert_eq!(config.warnings, [ConfigWarning::Untrusted { path, keys: vec!["rules"] }]);
    }

    #[test]
    fn untrusted_settings_are_ignored_and_user_ones_count() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("user.toml"), USERS).unwrap();
        let path = place.path().join("taskyard.toml");
        let text = "list = \"theirs\"\nrules = \"client\"\n[jobs]\nquota = 1\n[merge]\nput_back = false\n";
        fs::write(&path, text).unwrap();
        let config = load(place.path(), false);
        assert_eq!((config.put_back(), load(place.path(), true).put_back()), (None, Some(false)));
        assert_eq!((config.list().unwrap().0, config.rules()), ("mine", None));
        assert!(config.jobs().quota > 1);
        assert_eq!(
            config.warnings,
            [ConfigWarning::Untrusted { path, keys: vec!["list", "rules", "jobs.quota", "merge.put_back"] }]
        );
        assert_eq!(load(place.path(), true).list().unwrap().0, "theirs");
    }

    #[test]
    fn writable_by_others_file_is_ignored_even_if_trusted_and_bad() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("taskyard.toml");
        fs::write(&path, "list = [").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let config = load(place.path(), true);
        assert_eq!(config.layers, []);
        assert!(matches!(&config.warnings[..], [ConfigWarning::NotCounted { .. }]), "{:?}", config.warnings);
    }

    #[test]
    fn files_that_are_not_there_set_nothing() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(load(place.path(), false), Config::default());
    }
}
