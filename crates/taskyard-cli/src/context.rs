//! What a command works with: the flags, the environment and the working directory, read once, and the yard they lead to.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskyard::Yard;
use taskyard::config::{Config, RuleWord};
use taskyard::core::rules::list_choice::{self, Choice};
use taskyard::core::{AgentName, ClientVersion, Rules};
use taskyard::store::{FileStore, FileStoreOptions, MemoryStore, Store};

use crate::arguments::Globals;
use crate::environment::{Environment, TASKYARD_CLIENT_VERSION, TASKYARD_RULES};
use crate::problem::Problem;
use crate::store_address::StoreAddress;
use crate::{candidates, places};

/// What a command works with. Everything that costs something is looked up when it is first asked for.
#[derive(Debug)]
pub(crate) struct Context {
    globals: Globals,
    environment: Environment,
    directory: Result<PathBuf, String>,
    config: OnceCell<Config>,
}

impl Context {
    /// Takes the flags and the environment, and looks where we are.
    pub(crate) fn new(globals: Globals, environment: Environment) -> Self {
        let directory = std::env::current_dir().map_err(|error| error.to_string());
        Self { globals, environment, directory, config: OnceCell::new() }
    }

    /// Returns the environment.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Returns the working directory.
    pub(crate) fn directory(&self) -> Result<&Path, Problem> {
        self.directory.as_deref().map_err(|why| {
            Problem::new(
                crate::exit::Exit::CouldNot,
                "no_directory",
                format!("cannot tell the working directory: {why}"),
            )
            .hint("change to a directory that exists")
        })
    }

    /// Returns the configuration.
    pub(crate) fn config(&self) -> Result<&Config, Problem> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let project = self
            .directory
            .as_ref()
            .ok()
            .map(|directory| places::repository(directory).unwrap_or(directory).join("taskyard.toml"));
        let config = Config::load(places::user_config(&self.environment).as_deref(), project.as_deref())?;
        Ok(self.config.get_or_init(|| config))
    }

    /// Returns the name that was given for whoever acts, by flag or variable.
    pub(crate) fn named_agent(&self) -> Option<&str> {
        self.globals.agent.as_deref().or(self.environment.agent.as_deref())
    }

    /// Returns who acts.
    pub(crate) fn actor(&self) -> Result<AgentName, Problem> {
        if self.globals.agent.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return Err(Problem::usage("bad_agent", "--as needs a name"));
        }
        let named = self.named_agent().and_then(AgentName::new);
        let session =
            || AgentName::new(format!("claude-code-{}", self.environment.client_session.as_deref()?.get(..8)?));
        let user = || self.environment.user.as_deref().and_then(AgentName::new);
        let someone = || AgentName::new("someone").ok_or_else(|| Problem::usage("bad_agent", "--as needs a name"));
        named.or_else(session).or_else(user).map_or_else(someone, Ok)
    }

    /// Returns the rules in force.
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

    /// Returns the address of the store.
    pub(crate) fn store_address(&self) -> Result<StoreAddress, Problem> {
        let here = self.directory.as_deref().unwrap_or(Path::new(""));
        if let Some(address) = self.globals.store.as_ref().or(self.environment.store.as_ref()) {
            return StoreAddress::parse(address, here);
        }
        match self.config()?.store() {
            Some((address, layer)) => StoreAddress::parse(address, layer.path.parent().unwrap_or(here)),
            None => Ok(StoreAddress::Claude),
        }
    }

    /// Returns the list that is meant, and why.
    pub(crate) fn choice(&self) -> Result<Choice, Problem> {
        let rules = self.rules()?;
        let mut candidates = candidates::said(self.globals.list.as_ref(), &self.environment);
        if !candidates::is_enough(&candidates) {
            let member = self.named_agent().filter(|_| self.has_teams(rules));
            candidates::look_around(&mut candidates, &self.environment, self.config()?, member, self.directory()?)?;
        }
        Ok(list_choice::choose(&candidates, rules)?)
    }

    /// Tells whether teams count: in the client's rules where it has them switched on, in ours where they are not off.
    fn has_teams(&self, rules: Rules) -> bool {
        self.environment.client_teams.unwrap_or(!rules.is_client())
    }

    /// Returns the directory that holds the lists of a store; none for a store without one.
    pub(crate) fn tasks_directory(&self, address: &StoreAddress) -> Result<Option<PathBuf>, Problem> {
        match address {
            StoreAddress::Claude => Ok(Some(places::client_config(&self.environment)?.join("tasks"))),
            StoreAddress::File(root) => Ok(Some(root.join("tasks"))),
            StoreAddress::Memory => Ok(None),
        }
    }

    /// Opens the store.
    pub(crate) fn store(&self) -> Result<Arc<dyn Store>, Problem> {
        let rules = self.rules()?;
        let Some(tasks) = self.tasks_directory(&self.store_address()?)? else {
            return Ok(Arc::new(MemoryStore::new(rules)));
        };
        let data = Some(places::data(&self.environment)?);
        Ok(Arc::new(FileStore::open(FileStoreOptions { tasks, data, rules })))
    }

    /// Returns the yard every operation is called on.
    pub(crate) fn yard(&self) -> Result<Yard, Problem> {
        // The list before the store: a bad name is the user's to mend, whatever the store has to say.
        let choice = self.choice()?;
        Ok(Yard::new(self.store()?, choice.list, self.actor()?).with_rules(self.rules()?))
    }
}

fn rule_word(text: &str) -> Result<RuleWord, Problem> {
    match text.trim() {
        "strict" => Ok(RuleWord::Strict),
        "client" => Ok(RuleWord::Client),
        other => Err(Problem::usage("bad_rules", format!("{TASKYARD_RULES} is `{other}`; use strict or client"))),
    }
}

fn client_version(text: &str) -> Result<ClientVersion, Problem> {
    let wrong = |error| Problem::usage("bad_client_version", format!("{TASKYARD_CLIENT_VERSION}: {error}"));
    text.trim().parse().map_err(wrong)
}
