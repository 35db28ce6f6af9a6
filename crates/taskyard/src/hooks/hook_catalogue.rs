//! Finds the hooks of an event, and determines which of them may run.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use taskyard_core::Rules;
use taskyard_core::dialect::hook_input::{Common, Teammate};
use taskyard_core::rules::hooks::{HookEvent, is_own_command, matcher_takes};

use super::HookWarning;
use crate::config::{Config, Origin, TrustError};
use crate::hooks::hook_settings;
use crate::hooks::hook_settings::{Hook, HookSource, SettingsFile, Shapes, TIMEOUT};
use crate::liveness::client_names::slug;
#[cfg(feature = "sqlite")]
use crate::machine::Machine;

#[derive(Debug, Default)]
pub(super) struct Catalogue {
    /// The hooks that run, in order.
    pub(super) hooks: Vec<Hook>,
    /// How many hooks do not run because their directory is not trusted.
    pub(super) left_out: usize,
    pub(super) warnings: Vec<HookWarning>,
}

impl HookSetup {
    /// Returns the hooks of an event for an agent of this type.
    ///
    /// The order is the client's: the user's settings, the project's, the project's local ones; then `taskyard.toml`,
    /// the user's before the project's.
    pub(super) fn catalogue(&self, event: HookEvent, agent_type: Option<&str>) -> Catalogue {
        let mut catalogue = Catalogue::default();
        let [user, project, local] = self.settings_files().map(|place| match place {
            Some((path, origin)) => {
                let file = hook_settings::read(&path, origin, event, self.shapes());
                let warning = |why| HookWarning::BadSettings { path: path.clone(), why };
                catalogue.warnings.extend(file.complaints.iter().cloned().map(warning));
                file
            }
            None => SettingsFile::default(),
        });
        let of_project = local.disables_all.or(project.disables_all);
        let mut found = [user.hooks, project.hooks, local.hooks].concat();
        found.extend(self.configured(event));
        if event.has_matchers() {
            found.retain(|hook| matcher_takes(hook.matcher.as_deref(), agent_type.unwrap_or_default()));
        }

        let concerns_project = of_project.is_some() || found.iter().any(Hook::is_of_project);
        let is_trusted = concerns_project && self.is_trusted_or(&mut catalogue.warnings);
        // An untrusted project can only switch off its own hooks.
        let all_off = if is_trusted { of_project.or(user.disables_all) } else { user.disables_all };
        if all_off == Some(true) {
            return catalogue;
        }
        let (mut running, left_out): (Vec<Hook>, Vec<Hook>) =
            found.into_iter().partition(|hook| is_trusted || !hook.is_of_project());
        keep_first_of_same(&mut running);
        if of_project != Some(true) {
            let mut left_out = left_out;
            left_out.retain(|hook| hook.arguments.is_some() || !is_own_command(&hook.command));
            keep_first_of_same(&mut left_out);
            catalogue.left_out =
                left_out.iter().filter(|hook| !running.iter().any(|other| other.is_same_as(hook))).count();
        }
        if catalogue.left_out > 0 {
            let directory = self.project.clone();
            catalogue.warnings.push(HookWarning::Untrusted { directory, hooks: catalogue.left_out });
        }
        catalogue.hooks = running;
        catalogue
    }

    /// Returns every hook of the project with its event, whether or not the project is trusted.
    pub fn hooks_of_project(&self) -> Vec<(HookEvent, Hook)> {
        let of_event = |event| {
            let files = self.settings_files().into_iter().flatten();
            let mut hooks: Vec<Hook> = files
                .flat_map(|(path, origin)| hook_settings::read(&path, origin, event, self.shapes()).hooks)
                .collect();
            hooks.extend(self.configured(event));
            hooks.retain(Hook::is_of_project);
            keep_first_of_same(&mut hooks);
            hooks.into_iter().map(move |hook| (event, hook))
        };
        HookEvent::ALL.into_iter().flat_map(of_event).collect()
    }

    /// Returns whether the user trusts the project; `false` without a data directory, since nothing is recorded.
    #[cfg(feature = "sqlite")]
    pub(super) fn is_trusted(&self) -> Result<bool, TrustError> {
        let Some(data) = &self.data else { return Ok(false) };
        Ok(Machine::look(data)?.map_or(Ok(false), |machine| machine.is_trusted(&self.project))?)
    }

    /// Returns `false`, since this build records no trust.
    #[cfg(not(feature = "sqlite"))]
    pub(super) fn is_trusted(&self) -> Result<bool, TrustError> {
        Ok(false)
    }

    fn is_trusted_or(&self, warnings: &mut Vec<HookWarning>) -> bool {
        self.is_trusted().unwrap_or_else(|error| {
            warnings.push(HookWarning::TrustUnknown { directory: self.project.clone(), why: error.to_string() });
            false
        })
    }

    /// Returns the client's settings files in order: the user's, the project's, the project's local one.
    fn settings_files(&self) -> [Option<(PathBuf, Origin)>; 3] {
        let user = self.client_config.as_ref().map(|config| config.join("settings.json"));
        let folder = self.project.join(".claude");
        // In the home directory the project's folder is the user's own, so it is not read twice.
        let is_users = user.as_deref().and_then(Path::parent).is_some_and(|config| is_same_place(config, &folder));
        let of_project = |name: &str| Some((folder.join(name), if is_users { Origin::User } else { Origin::Project }));
        [
            user.map(|path| (path, Origin::User)),
            if is_users { None } else { of_project("settings.json") },
            of_project("settings.local.json"),
        ]
    }

    fn shapes(&self) -> Shapes {
        if self.rules.is_client() { Shapes::Nested } else { Shapes::NestedAndFlat }
    }

    /// Returns the hooks of `taskyard.toml`.
    fn configured(&self, event: HookEvent) -> impl Iterator<Item = Hook> {
        self.config.layers.iter().flat_map(move |layer| {
            let hooks = layer.settings.hooks.get(event.as_str()).into_iter().flatten();
            hooks.filter(|hook| hook.kind == "command").map(|hook| Hook {
                command: hook.command.clone(),
                arguments: hook.args.clone(),
                matcher: hook.matcher.clone(),
                timeout: hook.timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(TIMEOUT),
                is_async: hook.is_async,
                stdin: hook.stdin,
                source: HookSource { path: layer.path.clone(), origin: layer.origin },
            })
        })
    }
}

impl Hook {
    fn is_of_project(&self) -> bool {
        self.source.origin == Origin::Project
    }
}

fn keep_first_of_same(hooks: &mut Vec<Hook>) {
    let mut kept: Vec<Hook> = Vec::with_capacity(hooks.len());
    for hook in hooks.drain(..) {
        if !kept.iter().any(|other| other.is_same_as(&hook)) {
            kept.push(hook);
        }
    }
    *hooks = kept;
}

fn is_same_place(one: &Path, two: &Path) -> bool {
    let inode = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    one == two || inode(two).is_some_and(|two| inode(one) == Some(two))
}

/// Where to find hooks, and the environment in which they run.
#[derive(Clone, Debug)]
pub struct HookSetup {
    /// The client's directory, which holds the user's `settings.json`.
    pub client_config: Option<PathBuf>,
    /// The root of the project: the folder that holds `.git`, else the working directory.
    pub project: PathBuf,
    /// The working directory.
    pub directory: PathBuf,
    /// The effective configuration.
    pub config: Config,
    /// Our data directory, which records the directories that the user trusts.
    pub data: Option<PathBuf>,
    /// Variables that are set or overridden for hooks and checks.
    pub environment: Vec<(OsString, OsString)>,
    /// The client's session.
    pub session: Option<String>,
    /// The acting team member; `None` if the actor is not in a team.
    pub teammate: Option<Teammate>,
    /// The rules in force.
    pub rules: Rules,
    /// The turn of the hook that started this process, if one did ([`super::HOOK_TURN`]).
    pub turn: Option<String>,
}

/// The fields that every event starts with.
pub(crate) struct CommonTexts {
    session: String,
    transcript: String,
    directory: String,
}

impl HookSetup {
    pub(super) fn common(&self) -> CommonTexts {
        let session = self.session.clone().unwrap_or_default();
        let transcript = self.client_config.as_deref().filter(|_| !session.is_empty());
        CommonTexts {
            transcript: transcript.map(|config| transcript_path(config, &self.directory, &session)).unwrap_or_default(),
            directory: self.directory.to_string_lossy().into_owned(),
            session,
        }
    }
}

impl CommonTexts {
    pub(crate) fn shape(&self) -> Common<'_> {
        Common { session_id: &self.session, transcript_path: &self.transcript, cwd: &self.directory }
    }
}

/// Returns the path of the client's transcript of a session.
fn transcript_path(config: &Path, directory: &Path, session: &str) -> String {
    let path = config.join("projects").join(slug(directory)).join(format!("{session}.jsonl"));
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use taskyard_core::rules::hooks::HookEvent;
    use taskyard_core::{ClientVersion, Rules};
    use tempfile::TempDir;

    use super::{HookSetup, HookWarning};
    use crate::config::{Config, Project};
    use crate::machine::Machine;

    struct TestFolder(TempDir);

    impl TestFolder {
        fn new(files: &[(&str, &str)]) -> Self {
            let place = Self(TempDir::new().unwrap());
            for (path, contents) in files {
                let path = place.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, contents).unwrap();
            }
            std::fs::create_dir_all(place.path().join("project")).unwrap();
            place
        }

        fn path(&self) -> &Path {
            self.0.path()
        }

        fn trusted(self) -> Self {
            Machine::open(&self.path().join("data")).unwrap().trust(&self.path().join("project")).unwrap();
            self
        }

        fn setup(&self) -> HookSetup {
            let directory = self.path().join("project");
            let project = Project { directory: &directory, below: None, names: &Vec::new, is_trusted: &|| Ok(false) };
            HookSetup {
                client_config: Some(self.path().join("config")),
                project: self.path().join("project"),
                directory: self.path().join("project"),
                config: Config::load(Some(&self.path().join("user.toml")), Some(&project)).unwrap(),
                data: Some(self.path().join("data")),
                environment: Vec::new(),
                session: None,
                teammate: None,
                rules: Rules::Strict,
                turn: None,
            }
        }

        fn commands(&self) -> Vec<String> {
            commands(&self.setup())
        }

        fn left_out(&self) -> usize {
            self.setup().catalogue(HookEvent::TaskCompleted, None).left_out
        }
    }

    fn commands(setup: &HookSetup) -> Vec<String> {
        let hooks = setup.catalogue(HookEvent::TaskCompleted, None).hooks;
        hooks.into_iter().map(|hook| hook.command).collect()
    }

    fn settings(command: &str) -> String {
        format!(r#"{{"hooks":{{"TaskCompleted":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#)
    }

    fn toml(command: &str) -> String {
        format!("[[hooks.TaskCompleted]]\ncommand = \"{command}\"")
    }

    fn five() -> TestFolder {
        TestFolder::new(&[
            ("config/settings.json", &settings("1")),
            ("project/.claude/settings.json", &settings("2")),
            ("project/.claude/settings.local.json", &settings("3")),
            ("user.toml", &toml("4")),
            ("project/taskyard.toml", &toml("5")),
        ])
    }

    #[test]
    fn the_users_hooks_run_and_a_projects_only_when_it_is_trusted() {
        let place = five();
        assert_eq!(place.commands(), ["1", "4"]);
        let catalogue = place.setup().catalogue(HookEvent::TaskCompleted, None);
        let warning = HookWarning::Untrusted { directory: place.path().join("project"), hooks: 3 };
        assert_eq!((catalogue.left_out, catalogue.warnings), (3, vec![warning]));
        let place = place.trusted();
        assert_eq!(place.commands(), ["1", "2", "3", "4", "5"]);
        assert_eq!(place.left_out(), 0);
    }

    #[test]
    fn our_own_hooks_in_a_project_are_not_missed() {
        let place = TestFolder::new(&[("project/.claude/settings.json", &settings("taskyard hook TaskCompleted"))]);
        assert_eq!((place.commands(), place.left_out()), (Vec::new(), 0));
        let catalogue = place.setup().catalogue(HookEvent::TaskCompleted, None);
        assert_eq!(catalogue.warnings, []);
        for other in
            ["taskyard hook TaskCompleted; rm x", "taskyard hook ", "taskyard done 1", "./taskyard hook TaskCompleted"]
        {
            let place = TestFolder::new(&[("project/.claude/settings.json", &settings(other))]);
            assert_eq!((place.commands(), place.left_out()), (Vec::new(), 1), "{other}");
        }
        assert_eq!(place.trusted().commands(), ["taskyard hook TaskCompleted"]);
    }

    #[test]
    fn command_defined_twice_runs_once() {
        let place = TestFolder::new(&[
            ("config/settings.json", &settings("same")),
            ("project/.claude/settings.json", &settings("same")),
            ("user.toml", &toml("same")),
        ]);
        assert_eq!((place.commands(), place.left_out()), (vec!["same".to_owned()], 0));
        assert_eq!(place.trusted().commands(), ["same"]);
    }

    #[test]
    fn hooks_can_be_disabled_but_not_by_untrusted_directory() {
        let off = r#"{"disableAllHooks":true}"#;
        let place =
            TestFolder::new(&[("config/settings.json", &settings("1")), ("project/.claude/settings.json", off)]);
        assert_eq!((place.commands(), place.left_out()), (vec!["1".to_owned()], 0));
        assert!(place.trusted().commands().is_empty());
        let place = TestFolder::new(&[("config/settings.json", off), ("user.toml", &toml("4"))]);
        assert!(place.commands().is_empty());
        let on = r#"{"disableAllHooks":false}"#;
        let place = TestFolder::new(&[
            ("config/settings.json", off),
            ("user.toml", &toml("4")),
            ("project/.claude/settings.local.json", on),
        ]);
        assert_eq!(place.trusted().commands(), ["4"]);
    }

    #[test]
    fn in_the_home_directory_the_users_own_settings_need_no_trust() {
        let place = TestFolder::new(&[
            ("project/.claude/settings.json", &settings("1")),
            ("project/.claude/settings.local.json", &settings("2")),
        ]);
        let setup = HookSetup { client_config: Some(place.path().join("project/.claude")), ..place.setup() };
        assert_eq!(commands(&setup), ["1", "2"]);
    }

    #[test]
    fn the_flat_shape_counts_in_strict_rules_only() {
        let flat = r#"{"hooks":{"TaskCompleted":[{"type":"command","command":"flat"}]}}"#;
        let place = TestFolder::new(&[("config/settings.json", flat)]);
        assert_eq!(place.commands(), ["flat"]);
        let setup = HookSetup { rules: Rules::Client(ClientVersion::V2_1_325), ..place.setup() };
        assert!(commands(&setup).is_empty());
    }

    #[test]
    fn a_matcher_counts_for_agents_and_not_for_tasks() {
        let both = r#"{"hooks":{
            "TaskCompleted":[{"matcher":"tester","hooks":[{"type":"command","command":"task"}]}],
            "SubagentStop":[{"matcher":"tester","hooks":[{"type":"command","command":"agent"}]}]}}"#;
        let place = TestFolder::new(&[("config/settings.json", both)]);
        assert_eq!(place.commands(), ["task"]);
        let count = |agent_type| place.setup().catalogue(HookEvent::SubagentStop, Some(agent_type)).hooks.len();
        assert_eq!((count("tester"), count("builder")), (1, 0));
    }

    #[test]
    fn a_broken_file_is_told_and_the_others_count() {
        let place = TestFolder::new(&[("config/settings.json", "{"), ("user.toml", &toml("4"))]);
        let catalogue = place.setup().catalogue(HookEvent::TaskCompleted, None);
        assert_eq!(catalogue.hooks.len(), 1);
        assert!(matches!(&catalogue.warnings[..], [HookWarning::BadSettings { .. }]), "{:?}", catalogue.warnings);
    }

    #[test]
    fn a_trust_that_cannot_be_read_is_none() {
        let place = five();
        std::fs::create_dir_all(place.path().join("data")).unwrap();
        std::fs::write(place.path().join("data/machine.sqlite"), "this is no database, whatever its name says")
            .unwrap();
        let catalogue = place.setup().catalogue(HookEvent::TaskCompleted, None);
        assert_eq!((catalogue.hooks.len(), catalogue.left_out), (2, 3));
        assert!(catalogue.warnings.iter().any(|warning| matches!(warning, HookWarning::TrustUnknown { .. })));
    }
}

#[cfg(test)]
mod setup_tests {
    use std::path::Path;

    use super::transcript_path;

    #[test]
    fn the_transcript_is_found_by_directory_and_session() {
        let path = transcript_path(Path::new("/home/ana/.claude"), Path::new("/home/ana/my_work.é"), "s-1");
        assert_eq!(path, "/home/ana/.claude/projects/-home-ana-my-work--/s-1.jsonl");
    }
}
