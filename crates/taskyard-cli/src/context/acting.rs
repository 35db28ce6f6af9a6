//! Which agent acts, and whether a caller gave that name.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;

use taskyard::core::answers::words::NameSource;
use taskyard::core::rules::agents::naming::earlier_names;
use taskyard::core::{AgentName, Holder, ListId, ProcessMark, TaskId, Token};
use taskyard::liveness::{ClientNames, UnnamedClient, client_above};
use taskyard::opening::Address;
use taskyard::operations::{DEFAULT_LEASE, Resuming};
use taskyard::todos::{TodoList, TodoLists};
use taskyard::{Run, StartLease};

use super::Context;
use crate::places;
use crate::problem::Problem;

impl Context {
    /// Returns the name that was given for the acting agent, by flag or variable.
    pub(crate) fn named_agent(&self) -> Option<&str> {
        self.globals.agent.as_deref().or(self.environment.agent.as_deref())
    }

    /// Returns which of its own tasks the acting agent is given again when it asks for the next one: none where it was given no name, since
    /// all agents of its login or its session have that name.
    pub(crate) fn resuming(&self) -> Resuming {
        if self.named_agent().and_then(|name| AgentName::new(name).ok()).is_some() {
            Resuming::All
        } else {
            Resuming::Nothing
        }
    }

    /// Returns the name that agents of the client have if they were given no other: that of the client's process, which its MCP server, its shell
    /// and its hooks share. If the process cannot be seen, it is the name that `SessionStart` has set, or one of the session.
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

    /// Returns the same context, with which yards are opened without naming the client: its hooks have not run yet.
    pub(crate) fn naming_client_later(self) -> Self {
        Self { names_client_later: true, ..self }
    }

    /// Gives the client its name if it has none yet, and takes note of its session. A name of an older release under which it holds tasks of the
    /// list stays its name.
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

    /// Returns the session that the client is in: the one that the environment names, else the one that its `SessionStart` hook told of.
    pub(super) fn session_of_client(&self) -> Option<String> {
        let told = || self.client_names()?.session_of(self.client_process()?);
        self.environment.client_session.clone().or_else(told)
    }

    /// Returns the names of the clients on this machine; `None` if there is no data directory.
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

    /// Returns the process of the client that this command runs in; `None` if it runs in none, or processes cannot be seen.
    pub(crate) fn client_process(&self) -> Option<&ProcessMark> {
        // Both releases set this for everything that they start.
        let look = || if self.environment.is_in_client { client_above() } else { None };
        self.client_process.get_or_init(look).as_ref()
    }

    /// Tells whether the environment is that of a process of the client.
    fn is_started_by_client(&self) -> bool {
        let environment = &self.environment;
        environment.is_in_client
            || environment.client_session.is_some()
            || environment.session_agent.is_some()
            || environment.client_project.is_some()
    }

    /// Returns with what the leases of an agent live that claims in the client's shell: with the process of the client, on stores whose processes
    /// can be seen from here. `None` if they live by time.
    pub(crate) fn client_holder(&self) -> Result<Option<Holder>, Problem> {
        let Some(client) = self.client_process() else { return Ok(None) };
        Ok(self.store()?.care().is_some().then(|| Holder::Process(client.clone())))
    }

    /// Tells whether a person acts: at a terminal and not in a process of the client. Everything else is an agent, which gets a lease with a
    /// task that it starts.
    pub(crate) fn is_person(&self) -> bool {
        let is_in_client = self.is_started_by_client() || self.environment.hook_turn.is_some();
        let is_at_terminal = || io::stdin().is_terminal() || io::stdout().is_terminal();
        !is_in_client && is_at_terminal()
    }

    /// Returns the lease that comes with a task which the actor starts; `None` for a person.
    pub(super) fn start_lease(&self) -> Result<Option<StartLease>, Problem> {
        if self.is_person() {
            return Ok(None);
        }
        let holder = self.client_holder()?;
        let ttl = if holder.is_some() { None } else { self.config()?.lease().or(Some(DEFAULT_LEASE)) };
        Ok(Some(StartLease { ttl, holder }))
    }

    /// Returns what `work` started this process for. It says nothing of another store.
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

    /// Tells whether the store in use is the one that the environment names.
    fn is_in_store_of_environment(&self) -> Result<bool, Problem> {
        let Some(written) = &self.environment.store else { return Ok(false) };
        let here = self.directory.as_deref().unwrap_or(Path::new(""));
        Ok(Address::parse(written, here, &self.openers())? == *self.address()?)
    }

    /// Returns who acts.
    pub(crate) fn actor(&self) -> Result<AgentName, Problem> {
        self.actor_and_source().map(|(actor, _)| actor)
    }

    /// Returns who acts, and where that name comes from.
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

    /// Returns the todo list of the acting agent, and the name of its agent: in a session of the client that session's,
    /// of the agent that was named, else of the session itself.
    pub(crate) fn todo_list(&self) -> Result<(Arc<TodoList>, String), Problem> {
        let actor = self.actor()?;
        let session = self.environment.client_session.as_deref().unwrap_or(actor.as_str());
        let agent = self.named_agent().unwrap_or(session);
        Ok((TodoLists::new(self.todos()?, session).of(agent), agent.to_owned()))
    }
}
