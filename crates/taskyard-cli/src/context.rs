//! The context of a command: flags, environment and working directory, read once, and the yard they lead to.

mod acting_agent;
mod choosing_list;
#[cfg(feature = "postgres")]
mod databases;
pub(crate) mod list_sources;
mod stores_and_warnings;

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use list_sources::{DirectoryLists, NewerDatabases, Recorder, SettingsList};
use taskyard::config::{Config, Project, RuleWord};
use taskyard::core::rules::lists::Choice;
use taskyard::core::{AgentName, ClientVersion, ListId, ProcessMark, Rules};
use taskyard::hooks::{HookSetup, Hooks, Teammate};
use taskyard::jobs::SharedJobs;
use taskyard::machine::{Checkout, Machine, MachineError};
use taskyard::notices::Notices;
use taskyard::opening::{Address, OpenError, Opened, Places};
use taskyard::operations::AT_ONCE;
use taskyard::process::Cancel;
use taskyard::store::Store;
use taskyard::teams::Teams;
use taskyard::tidying::{Caretaker, Household};
use taskyard::todos::Todos;
use taskyard::{WrittenLists, Yard};
use taskyard_jobs::Jobs;

use crate::arguments::Globals;
use crate::environment::{Environment, TASKYARD_CLIENT_VERSION, TASKYARD_RULES};
use crate::exit::{Problem, ProblemKind};
use crate::output::Pager;
use crate::places;

/// The context of a command. Everything expensive is looked up on first use.
#[derive(Debug)]
pub(crate) struct Context {
    globals: Globals,
    environment: Environment,
    directory: Result<PathBuf, String>,
    config: OnceCell<Config>,
    config_is_told: Cell<bool>,
    cancel: Cancel,
    hooks: OnceCell<Arc<Hooks>>,
    address: OnceCell<Address>,
    places: OnceCell<Places>,
    opened: OnceCell<Opened>,
    teams: OnceCell<Arc<Teams>>,
    choice: OnceCell<Choice>,
    list_of_directory: OnceCell<Choice>,
    checkout: OnceCell<Option<Checkout>>,
    directory_lists: OnceCell<DirectoryLists>,
    settings_list: OnceCell<SettingsList>,
    recorder: OnceCell<Option<Recorder>>,
    machine: OnceCell<Option<Machine>>,
    /// Whether damaged journals have already been reported.
    damage_is_told: Cell<bool>,
    newer: NewerDatabases,
    /// The lists the command wrote to.
    written: WrittenLists,
    /// The client process that the command runs in.
    client_process: OnceCell<Option<ProcessMark>>,
    /// The client's name, once assigned.
    client_name: OnceCell<AgentName>,
    /// Whether the client gets its name later than with the first yard.
    names_client_later: bool,
}

impl Context {
    /// Takes the flags and the environment, and determines the working directory.
    pub(crate) fn new(globals: Globals, environment: Environment, cancel: Cancel) -> Self {
        let directory = std::env::current_dir().map_err(|error| error.to_string());
        Self {
            globals,
            environment,
            directory,
            config: OnceCell::new(),
            config_is_told: Cell::new(false),
            cancel,
            hooks: OnceCell::new(),
            address: OnceCell::new(),
            places: OnceCell::new(),
            opened: OnceCell::new(),
            teams: OnceCell::new(),
            choice: OnceCell::new(),
            list_of_directory: OnceCell::new(),
            checkout: OnceCell::new(),
            directory_lists: OnceCell::new(),
            settings_list: OnceCell::new(),
            recorder: OnceCell::new(),
            machine: OnceCell::new(),
            damage_is_told: Cell::new(false),
            newer: NewerDatabases::default(),
            written: WrittenLists::default(),
            client_process: OnceCell::new(),
            client_name: OnceCell::new(),
            names_client_later: false,
        }
    }

    /// Returns the same context within a client session, unless the environment already names one.
    pub(crate) fn in_session(&self, session: Option<&str>) -> Self {
        let mut environment = self.environment.clone();
        let given = session.filter(|session| !session.is_empty()).map(str::to_owned);
        environment.client_session = environment.client_session.or(given);
        Self::new(self.globals.clone(), environment, self.cancel.clone())
    }

    /// Returns the same context in another directory, for a client that works there.
    pub(crate) fn in_directory(&self, directory: PathBuf) -> Self {
        let context = Self::new(self.globals.clone(), self.environment.clone(), self.cancel.clone());
        Self { directory: Ok(directory), names_client_later: self.names_client_later, ..context }
    }

    /// Returns the same context on another list.
    pub(crate) fn on_list(&self, list: &ListId) -> Self {
        // A directory's name identifies the list regardless of the recorded names.
        let globals = Globals { list: Some(list.directory().to_owned()), ..self.globals.clone() };
        Self::new(globals, self.environment.clone(), self.cancel.clone())
    }

    /// Returns the same context with the configuration to be read again. The opened store is kept unless the
    /// configuration changes its address.
    pub(crate) fn reloaded(&self) -> Self {
        let fresh = Self::new(self.globals.clone(), self.environment.clone(), self.cancel.clone());
        let fresh = Self { directory: self.directory.clone(), ..fresh };
        let is_same = matches!((fresh.address(), self.address()), (Ok(one), Ok(two)) if one == two);
        match is_same {
            true => Self { opened: self.opened.clone(), ..fresh },
            false => fresh,
        }
    }

    /// Returns the same context for another agent. What depends on the agent, such as the list and the teams, is
    /// looked up again.
    #[cfg(feature = "server")]
    pub(crate) fn acting_as(&self, agent: &AgentName) -> Self {
        let globals = Globals { agent: Some(agent.as_str().to_owned()), ..self.globals.clone() };
        Self {
            directory: self.directory.clone(),
            config: self.config.clone(),
            address: self.address.clone(),
            places: self.places.clone(),
            opened: self.opened.clone(),
            ..Self::new(globals, self.environment.clone(), self.cancel.clone())
        }
    }

    /// Returns the handle that is cancelled when the process is asked to stop.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Returns the same context in another directory, if that exists.
    pub(crate) fn at(mut self, directory: Option<&Path>) -> Self {
        if let Some(directory) = directory.filter(|directory| directory.is_dir()) {
            self.directory = Ok(directory.to_owned());
        }
        self
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn directory(&self) -> Result<&Path, Problem> {
        self.directory.as_deref().map_err(|why| {
            Problem::new(
                ProblemKind::CouldNot,
                "no_directory",
                format!("cannot determine the working directory: {why}"),
            )
            .hint("change to a directory that exists")
        })
    }

    /// Returns the checkout around the working directory, or `None` outside of git.
    pub(crate) fn checkout(&self) -> Option<&Checkout> {
        let directory = self.directory.as_deref().ok()?;
        self.checkout.get_or_init(|| Checkout::around(directory)).as_ref()
    }

    /// Returns the root of the project: the directory that contains `.git`, otherwise the working directory.
    pub(crate) fn project(&self) -> Option<&Path> {
        let directory = self.directory.as_deref().ok()?;
        Some(self.checkout().map_or(directory, |checkout| &checkout.top))
    }

    pub(crate) fn config(&self) -> Result<&Config, Problem> {
        once(&self.config, || {
            let directory = self.project();
            let root = self.checkout().map(|checkout| checkout.root.as_path());
            let names = || list_sources::project_names(self.directory.as_deref().ok(), directory, root);
            let is_trusted = || Ok(self.is_trusted()?);
            let below = self.directory.as_deref().ok();
            let project =
                directory.map(|directory| Project { directory, below, names: &names, is_trusted: &is_trusted });
            Ok(Config::load(places::user_config(&self.environment).as_deref(), project.as_ref())?)
        })
    }

    /// Returns whether the user trusts the project. Without a data directory to record that, the answer is no.
    fn is_trusted(&self) -> Result<bool, MachineError> {
        let (Ok(data), Some(project)) = (places::data(&self.environment), self.project()) else { return Ok(false) };
        let Some(machine) = self.without_newer(Machine::read(&data))?.flatten() else { return Ok(false) };
        machine.is_trusted(project)
    }

    /// Suppresses further warnings about ignored configuration.
    pub(crate) fn consider_config_told(&self) {
        self.config_is_told.set(true);
    }

    /// Returns how many tasks an agent may have in progress: the configured number, otherwise one if the client's
    /// teams are enabled. The client's own rules have no such limit.
    pub(crate) fn claim_limit(&self) -> Result<Option<usize>, Problem> {
        let is_swarm = self.environment.client_teams == Some(true) && !self.rules()?.is_client();
        Ok(self.config()?.claim_limit().or(is_swarm.then_some(AT_ONCE)))
    }

    pub(crate) fn todos(&self) -> Result<Arc<dyn Todos>, Problem> {
        self.opened()?.todos.clone().ok_or_else(|| self.no_place())
    }

    pub(crate) fn rules(&self) -> Result<Rules, Problem> {
        let config = self.config()?;
        let word = match (self.globals.rules, &self.environment.rules) {
            (Some(word), _) => Some(word.into()),
            (None, Some(text)) => Some(rule_word(text)?),
            (None, None) => config.rules(),
        };
        let version = match (self.globals.client_version, &self.environment.client_version) {
            (Some(version), _) => Some(version),
            (None, Some(text)) => Some(client_version(text)?),
            (None, None) => config.client_version(),
        };
        Ok(match word {
            Some(RuleWord::Client) => Rules::Client(version.unwrap_or_default()),
            Some(RuleWord::Strict) | None => Rules::Strict,
        })
    }

    pub(crate) fn address(&self) -> Result<&Address, Problem> {
        once(&self.address, || {
            let here = self.directory.as_deref().unwrap_or(Path::new(""));
            if let Some(written) = &self.globals.store {
                let address = Address::parse(written, here, &self.openers())?;
                return if address.has_password() { Err(password_among_words()) } else { Ok(address) };
            }
            if let Some(written) = &self.environment.store {
                return Ok(Address::parse(written, here, &self.openers())?);
            }
            match self.config()?.store() {
                Some((written, layer)) => {
                    Ok(Address::parse(written, layer.path.parent().unwrap_or(here), &self.openers())?)
                }
                None => Ok(Address::Claude),
            }
        })
    }

    /// Returns the directories on this machine.
    pub(crate) fn places(&self) -> Result<&Places, Problem> {
        once(&self.places, || {
            Ok(Places {
                client: places::client_config(&self.environment).ok(),
                data: places::data(&self.environment).ok(),
                directory: self.directory.as_ref().ok().cloned(),
                session: self.session_of_client(),
                client_teammate: self.client_teammate(),
                rules: self.rules()?,
            })
        })
    }

    /// Opens everything at the address of the store.
    pub(crate) fn opened(&self) -> Result<&Opened, Problem> {
        once(&self.opened, || {
            taskyard::open(self.address()?, self.places()?, &self.openers()).map_err(|error| self.not_opened(error))
        })
    }

    fn not_opened(&self, error: OpenError) -> Problem {
        match error {
            OpenError::Address(error) => error.into(),
            OpenError::Store(error) => error.into(),
            // All other cases mean that a directory is unknown.
            _ => self.no_place(),
        }
    }

    /// Returns the problem that a required directory is unknown, and why.
    fn no_place(&self) -> Problem {
        let missing = places::client_config(&self.environment).and_then(|_| places::data(&self.environment));
        let unknown = || Problem::new(ProblemKind::CouldNot, "no_place", "this store does not support that");
        missing.err().unwrap_or_else(unknown)
    }

    /// Returns the teams for a short command: membership is read only once. A long-running command uses
    /// [`Teams::lasting`] or [`Yard::lasting`].
    pub(crate) fn teams(&self) -> Result<Arc<Teams>, Problem> {
        if let Some(teams) = self.teams.get() {
            return Ok(Arc::clone(teams));
        }
        let teams = self.opened()?.teams.as_ref().ok_or_else(|| self.no_place())?.for_one_call();
        Ok(Arc::clone(self.teams.get_or_init(|| Arc::new(teams))))
    }

    /// Returns whether teams are enabled: under the client's rules only if the client enabled them, under ours unless
    /// they are disabled.
    pub(crate) fn has_teams(&self, rules: Rules) -> bool {
        self.environment.client_teams.unwrap_or(!rules.is_client())
    }

    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Problem> {
        Ok(Arc::clone(&self.opened()?.store))
    }

    /// Returns a yard like `yard` on the client's own files, whatever store is in use.
    pub(crate) fn on_clients_files(&self, yard: &Yard) -> Result<Yard, Problem> {
        let opened = taskyard::open(&Address::Claude, self.places()?, &self.openers());
        let store = opened.map_err(|error| self.not_opened(error))?.store;
        Ok(Yard::new(store, yard.list_id().clone(), yard.actor().clone()).with_rules(yard.rules()))
    }

    /// Returns the notices of the store.
    pub(crate) fn notices(&self) -> Result<Arc<dyn Notices>, Problem> {
        self.opened()?.notices.clone().ok_or_else(|| self.no_place())
    }

    /// Returns the yard that operations are called on.
    pub(crate) fn yard(&self) -> Result<Yard, Problem> {
        // Resolve the list before the store: a bad name is the user's mistake, whatever the state of the store.
        let choice = self.choice()?;
        let rules = self.rules()?;
        if !self.names_client_later {
            self.name_client(&choice.list)?;
        }
        let yard = Yard::new(self.store()?, choice.list, self.actor()?).with_rules(rules);
        let yard = yard.noting_in(self.written.clone());
        let yard = match &self.opened()?.notices {
            Some(notices) => yard.with_notices(Arc::clone(notices)),
            None => yard,
        };
        let yard = match self.teams() {
            Ok(teams) if self.has_teams(rules) => yard.with_teams(teams),
            // Without a data directory there are no teams, but tasks still work.
            _ => yard,
        };
        let yard = match self.recorder()? {
            Some(recorder) => yard.before_writing(move |list| recorder.record(list)),
            None => yard,
        };
        let yard = yard.in_world(Arc::clone(&self.opened()?.world));
        let yard = if self.config()?.put_back() == Some(false) { yard.without_putting_back() } else { yard };
        Ok(yard
            .with_start_lease(self.start_lease()?)
            .with_limit(self.claim_limit()?)
            .with_hooks(Arc::clone(self.hooks()?))
            .in_run(self.run()?))
    }

    /// Returns the user's pager. A configuration that cannot be read counts as naming none.
    pub(crate) fn pager(&self) -> Option<Pager> {
        Pager::wanted(&self.environment, self.config().ok().and_then(Config::pager))
    }

    pub(crate) fn jobs(&self) -> Result<Jobs, Problem> {
        let config = self.config()?;
        let mut settings = config.jobs();
        // Unless configured, jobs write their output in the form of the client version in force.
        settings.output_form = config.output_form().unwrap_or(self.rules()?.client_version());
        Ok(Jobs::new(self.job_options(settings)?))
    }

    /// Returns the jobs of this machine and of all others that share the store.
    pub(crate) fn shared_jobs(&self) -> Result<Jobs, Problem> {
        Ok(self.shared_record()?.into_iter().fold(self.jobs()?, Jobs::with_shared))
    }

    /// Returns the job records shared with other machines, or `None` if the store is local.
    pub(crate) fn shared_record(&self) -> Result<Option<Arc<dyn SharedJobs>>, Problem> {
        // A wrong store address must not hide the jobs of this machine.
        let is_remote = matches!(self.address(), Ok(Address::Remote(_)));
        if is_remote { Ok(self.opened()?.jobs.clone()) } else { Ok(None) }
    }

    /// Returns the data kept on this machine and its retention settings; `None` without a data directory.
    pub(crate) fn household(&self) -> Result<Option<Household>, Problem> {
        let config = self.config()?;
        let data = self.places()?.data.clone();
        Ok(data.map(|data| Household { data, keep: config.keep(), max_size: config.max_size() }))
    }

    /// Like [`household`](Self::household), for automatic cleanup; `None` if that is disabled.
    pub(crate) fn household_to_tidy(&self) -> Option<Household> {
        let tidies = self.config().is_ok_and(Config::tidies_by_itself);
        self.household().ok().flatten().filter(|_| tidies)
    }

    /// Starts periodic cleanup in a long-running process, until the returned value is dropped. Returns `None` if
    /// disabled.
    pub(crate) fn caretaker(&self) -> Option<Caretaker> {
        self.household_to_tidy().map(Caretaker::of)
    }

    /// Returns the sources of hooks and checks.
    pub(crate) fn hook_setup(&self) -> Result<HookSetup, Problem> {
        let rules = self.rules()?;
        let client_config = places::client_config(&self.environment).ok();
        let is_named = self.named_agent().is_some() && self.has_teams(rules);
        // An agent that works on another list than its team's is not a teammate there.
        let list = if is_named { self.choice().ok().map(|choice| choice.list) } else { None };
        let seat = match (self.teams(), list) {
            (Ok(teams), Some(list)) => teams.seat_on(&self.actor()?, &list).unwrap_or_default(),
            _ => None,
        };
        let team = seat.map(|seat| Teammate { name: seat.name, team: seat.team.name.to_string() });
        // Even if the working directory is gone, hooks need one.
        let here = || Path::new("/");
        Ok(HookSetup {
            client_config,
            project: self.project().unwrap_or_else(here).to_owned(),
            directory: self.directory.as_deref().unwrap_or_else(|_| here()).to_owned(),
            config: self.config()?.clone(),
            data: places::data(&self.environment).ok(),
            environment: self.environment_of_children(),
            session: self.environment.client_session.clone(),
            teammate: team,
            rules,
            turn: self.environment.hook_turn.clone(),
        })
    }

    /// Returns the hooks and checks that operations run.
    pub(crate) fn hooks(&self) -> Result<&Arc<Hooks>, Problem> {
        once(&self.hooks, || Ok(Arc::new(Hooks::new(self.hook_setup()?, self.cancel.clone()))))
    }
}

/// Returns the cached value, computing it on first use.
fn once<T>(known: &OnceCell<T>, find_out: impl FnOnce() -> Result<T, Problem>) -> Result<&T, Problem> {
    match known.get() {
        Some(known) => Ok(known),
        None => {
            let found = find_out()?;
            Ok(known.get_or_init(|| found))
        }
    }
}

fn rule_word(text: &str) -> Result<RuleWord, Problem> {
    match text.trim() {
        "strict" => Ok(RuleWord::Strict),
        "client" => Ok(RuleWord::Client),
        other => {
            Err(Problem::usage("bad_rules", format!("invalid {TASKYARD_RULES} `{other}`: expected strict or client")))
        }
    }
}

fn client_version(text: &str) -> Result<ClientVersion, Problem> {
    let wrong = |error| Problem::usage("bad_client_version", format!("{TASKYARD_CLIENT_VERSION}: {error}"));
    text.trim().parse().map_err(wrong)
}

/// Rejects a password on the command line, where `ps` shows it to every user of the machine.
fn password_among_words() -> Problem {
    Problem::usage(
        "bad_store",
        "the address in --store has a password, which every user of this machine can see in the \
        process list",
    )
    .hint("set TASKYARD_STORE to that address, or leave the password to PGPASSWORD or ~/.pgpass")
}
