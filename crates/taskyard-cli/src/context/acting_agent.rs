//! The acting agent, and the meaning of arguments that depend on it.

use std::ffi::OsString;
use std::io;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum as _;
use taskyard::core::answers::answer_words::NameSource;
use taskyard::core::forms::one_line::{Extras, IdRange, InlineTask};
use taskyard::core::rules::agents::earlier_names;
use taskyard::core::rules::looking::query::Mistake;
use taskyard::core::timing::Clock;
use taskyard::core::{AgentName, Holder, ListId, Metadata, ProcessMark, TaskId, Token};
use taskyard::liveness::{ClientNames, UnnamedClient, client_above};
use taskyard::opening::Address;
use taskyard::operations::{DEFAULT_LEASE, Query, Resuming};
use taskyard::todos::{TodoList, TodoLists};
use taskyard::{Run, StartLease, Yard};
use taskyard_jobs::notify::{Desktop, Notifier, NotifyBy};

use super::Context;
use crate::arguments::{NotifyFlag, WhichTasks, writers_clock};
use crate::exit::Problem;
use crate::output::local_zone;
use crate::places;

impl Context {
    /// Returns the agent's name given by flag or variable.
    pub(crate) fn named_agent(&self) -> Option<&str> {
        self.globals.agent.as_deref().or(self.environment.agent.as_deref())
    }

    /// Returns which of its own tasks the agent gets again when it asks for the next one. None if no name was given,
    /// since all agents of a login or session share the default name.
    pub(crate) fn resuming(&self) -> Resuming {
        if self.named_agent().and_then(|name| AgentName::new(name).ok()).is_some() {
            Resuming::All
        } else {
            Resuming::Nothing
        }
    }

    /// Returns the default name of the client's agents: that of the client's process, shared by its MCP server, shell
    /// and hooks. If the process is not visible, the name set by `SessionStart`, or one derived from the session.
    pub(crate) fn session_agent(&self) -> Option<AgentName> {
        if let Some(settled) = self.client_name.get() {
            return Some(settled.clone());
        }
        if let (Some(names), Some(client)) = (self.client_names(), self.unnamed_client()) {
            return Some(names.for_client(&client));
        }
        let session = self.environment.client_session.as_deref();
        let of_session = || self.client_names()?.of_session(session?);
        let after_session = || AgentName::new(format!("claude-code-{}", session?.get(..8)?)).ok();
        self.agent_of_environment().or_else(of_session).or_else(after_session)
    }

    /// Returns the same context, whose yards do not name the client, because its hooks have not run yet.
    pub(crate) fn naming_client_later(self) -> Self {
        Self { names_client_later: true, ..self }
    }

    /// Names the client if it has no name yet, and records its session. It keeps a name from an older release under
    /// which it holds tasks of the list.
    pub(crate) fn name_client(&self, list: &ListId) -> Result<(), Problem> {
        if self.client_name.get().is_some() {
            return Ok(());
        }
        let (Some(names), Some(mut client)) = (self.client_names(), self.unnamed_client()) else { return Ok(()) };
        if client.acted_as.is_none() && names.of(client.process).is_none() {
            let leases = self.store()?.read(list).and_then(|list| list.leases()).unwrap_or_default();
            let mut earlier = earlier_names(client.process, client.session).into_iter();
            client.acted_as = earlier.find(|name| leases.iter().any(|lease| lease.agent == *name));
        }
        let _ = self.client_name.set(names.give(&client));
        Ok(())
    }

    /// Returns the client's session: from the environment, otherwise as reported by the `SessionStart` hook.
    pub(super) fn session_of_client(&self) -> Option<String> {
        let told = || self.client_names()?.session_of(self.client_process()?);
        self.environment.client_session.clone().or_else(told)
    }

    /// Returns the clients' names on this machine; `None` without a data directory.
    pub(crate) fn client_names(&self) -> Option<ClientNames> {
        places::data(&self.environment).ok().map(|data| ClientNames::in_data(&data))
    }

    fn unnamed_client(&self) -> Option<UnnamedClient<'_>> {
        let session = self.environment.client_session.as_deref();
        Some(UnnamedClient { process: self.client_process()?, session, acted_as: self.agent_of_environment() })
    }

    fn agent_of_environment(&self) -> Option<AgentName> {
        self.environment.session_agent.as_deref().and_then(|name| AgentName::new(name).ok())
    }

    /// Returns the client process that this command runs in; `None` if there is none or processes are not visible.
    pub(crate) fn client_process(&self) -> Option<&ProcessMark> {
        // All client releases set this for everything they start.
        let look = || if self.environment.is_in_client { client_above() } else { None };
        self.client_process.get_or_init(look).as_ref()
    }

    /// Returns whether the client started this process.
    fn is_started_by_client(&self) -> bool {
        let environment = &self.environment;
        environment.is_in_client
            || environment.client_session.is_some()
            || environment.session_agent.is_some()
            || environment.client_project.is_some()
    }

    /// Returns the holder for leases claimed in the client's shell: the client's process, if the store is on this
    /// machine. `None` if leases expire by time.
    pub(crate) fn client_holder(&self) -> Result<Option<Holder>, Problem> {
        let Some(client) = self.client_process() else { return Ok(None) };
        Ok(self.store()?.care().is_some().then(|| Holder::Process(client.clone())))
    }

    /// Returns whether a person acts: at a terminal, and not started by the client. Anyone else is an agent and gets
    /// a lease when it starts a task.
    pub(crate) fn is_person(&self) -> bool {
        let is_in_client = self.is_started_by_client() || self.environment.hook_turn.is_some();
        let is_at_terminal = || io::stdin().is_terminal() || io::stdout().is_terminal();
        !is_in_client && is_at_terminal()
    }

    /// Returns the lease that the actor gets when it starts a task; `None` for a person.
    pub(super) fn start_lease(&self) -> Result<Option<StartLease>, Problem> {
        if self.is_person() {
            return Ok(None);
        }
        let holder = self.client_holder()?;
        let ttl = if holder.is_some() { None } else { self.config()?.lease().or(Some(DEFAULT_LEASE)) };
        Ok(Some(StartLease { ttl, holder }))
    }

    /// Returns the run for which `work` started this process; `None` on another store.
    pub(super) fn run(&self) -> Result<Option<Run>, Problem> {
        let environment = &self.environment;
        let (Some(list), Some(task), Some(token)) = (&environment.list, &environment.run_task, environment.run_token)
        else {
            return Ok(None);
        };
        if self.globals.store.is_some() && !self.is_in_store_of_environment()? {
            return Ok(None);
        }
        let Ok(list) = ListId::new(list.clone()) else { return Ok(None) };
        Ok(Some(Run { list, task: TaskId::stored(task.clone()), token: Token(token) }))
    }

    /// Returns whether the store in use is the one named in the environment.
    fn is_in_store_of_environment(&self) -> Result<bool, Problem> {
        let Some(written) = &self.environment.store else { return Ok(false) };
        let here = self.directory.as_deref().unwrap_or(Path::new(""));
        Ok(Address::parse(written, here, &self.openers())? == *self.address()?)
    }

    pub(crate) fn actor(&self) -> Result<AgentName, Problem> {
        self.actor_and_source().map(|(actor, _)| actor)
    }

    /// Returns the acting agent and the source of its name.
    pub(crate) fn actor_and_source(&self) -> Result<(AgentName, NameSource), Problem> {
        if self.globals.agent.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return Err(Problem::usage("bad_agent", "--as needs a name"));
        }
        let read = |name: Option<&str>, source| Some((AgentName::new(name?).ok()?, source));
        let variable = || read(self.environment.agent.as_deref(), NameSource::Variable);
        let named = match self.globals.agent.as_deref() {
            Some(name) => read(Some(name), NameSource::Flag),
            None => variable(),
        };
        let user = || read(self.environment.user.as_deref(), NameSource::Login);
        let someone = || AgentName::new("someone").map_err(|error| Problem::usage("bad_agent", error.to_string()));
        match named.or_else(|| Some((self.session_agent()?, NameSource::Session))).or_else(user) {
            Some(found) => Ok(found),
            None => Ok((someone()?, NameSource::Nobody)),
        }
    }

    /// Returns the acting agent's todo list and its owner: that of the client session, or of the named agent.
    pub(crate) fn todo_list(&self) -> Result<(Arc<TodoList>, String), Problem> {
        let actor = self.actor()?;
        let session = self.environment.client_session.as_deref().unwrap_or(actor.as_str());
        let agent = self.named_agent().unwrap_or(session);
        Ok((TodoLists::new(self.todos()?, session).of(agent), agent.to_owned()))
    }
}

impl Context {
    /// Parses a query from arguments. An argument that the shell unquoted is an exact text.
    pub(crate) fn query_of(&self, arguments: &[impl AsRef<str>]) -> Result<Query, Problem> {
        self.as_meant(Query::of_arguments(arguments).map_err(|mistake| no_query(mistake, arguments))?)
    }

    /// Parses a search text, whose words are matched one by one.
    pub(crate) fn query_of_words(&self, arguments: &[impl AsRef<str>]) -> Result<Query, Problem> {
        self.as_meant(Query::of_words(arguments).map_err(|mistake| no_query(mistake, arguments))?)
    }

    /// Applies the user's time zone and the configured working day to a query.
    pub(crate) fn as_meant(&self, query: Query) -> Result<Query, Problem> {
        // Both are read from files, and few queries need them.
        let query = if query.asks_for_days() { query.in_zone(local_zone().clone()) } else { query };
        Ok(if query.asks_for_work() { query.with_working_day(self.config()?.working_day()) } else { query })
    }

    /// Parses `--where`. An empty query would match every task, and is rejected because it is most likely an unset
    /// variable.
    pub(crate) fn where_query(&self, which: &WhichTasks) -> Result<Option<Query>, Problem> {
        let query = which.query.as_ref().map(|query| self.query_of(std::slice::from_ref(query))).transpose()?;
        match query {
            Some(query) if query.is_empty() => Err(Problem::usage("bad_query", "`--where` needs a query")
                .hint("to choose all open tasks, write `--where status:open`")),
            query => Ok(query),
        }
    }

    /// Returns the ids, in the order given or by number. A query is evaluated on the current list.
    pub(crate) fn ids_of(&self, which: &WhichTasks, yard: &Yard) -> Result<Vec<TaskId>, Problem> {
        if let Some(query) = self.where_query(which)? {
            return Ok(yard.chosen(&query)?.into_iter().map(|task| task.id).collect());
        }
        Ok(which.ids.iter().flat_map(IdRange::ids).collect())
    }

    /// Returns the clock for times the user types.
    pub(crate) fn clock(&self) -> Result<Clock, Problem> {
        Ok(Clock { working_day: self.config()?.working_day(), ..writers_clock() })
    }

    pub(crate) fn metadata_of(&self, extras: Extras) -> Result<Option<Metadata>, Problem> {
        // Read from a file, and few tasks have an estimate.
        let working_day = match extras.estimate {
            Some(_) => self.config()?.working_day(),
            None => taskyard::core::timing::WORKING_DAY,
        };
        Ok(extras.metadata(working_day))
    }

    /// Returns the desktop notifier, if requested.
    pub(crate) fn notifier(&self, flag: NotifyFlag) -> Result<Option<Notifier>, Problem> {
        if !flag.notify {
            return Ok(None);
        }
        let (config, environment) = (self.config()?, &self.environment);
        let desktop = Desktop {
            terminal_program: environment.terminal_program.clone(),
            terminal: environment.terminal.clone(),
            has_display: environment.has_display,
        };
        let by = config.notify_command().map(|command| NotifyBy::Command(command.to_owned()));
        Ok(Some(Notifier::new(by.unwrap_or_else(|| NotifyBy::best(&desktop)), config.notify_on())))
    }

    /// Returns the flags that another command needs to use the same store and agent, without the list. An address on
    /// the command line never contains a password.
    pub(crate) fn global_arguments(&self) -> Result<Vec<OsString>, Problem> {
        let globals = &self.globals;
        let store = globals.store.as_ref().map(|_| self.address()).transpose()?.map(ToString::to_string);
        let rules = globals.rules.and_then(|rules| rules.to_possible_value()).map(|rules| rules.get_name().to_owned());
        let version = globals.client_version.map(|version| version.to_string());
        let flags =
            [("--store", store), ("--as", globals.agent.clone()), ("--rules", rules), ("--client-version", version)];
        let given = flags.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        Ok(given.flatten().map(OsString::from).collect())
    }

    /// Parses a title with its attributes.
    pub(crate) fn inline_task(&self, words: &[String]) -> Result<InlineTask, Problem> {
        InlineTask::of_words(words, &writers_clock()).map_err(|bad| {
            Problem::usage("bad_attribute", bad.to_string())
                .hint("words after `--` belong to the title; `taskyard help dates` shows how to write times")
        })
    }
}

/// Returns the problem of an invalid query. Does not repeat a store address, which may contain a password.
fn no_query(mistake: Mistake, arguments: &[impl AsRef<str>]) -> Problem {
    if arguments.iter().any(|argument| argument.as_ref().contains("://")) {
        return Problem::usage("bad_query", "an address was given where a query was expected")
            .hint("name the store with `--store ADDRESS`, or with TASKYARD_STORE if the address has a password in it; a text with `://` goes in quotes");
    }
    mistake.into()
}
