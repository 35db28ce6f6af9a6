//! Which agent acts, and whether a caller gave that name.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;

use taskyard::core::{AgentName, Holder, ListId, ProcessMark, TaskId, Token};
use taskyard::liveness::client_above;
use taskyard::opening::Address;
use taskyard::operations::{DEFAULT_LEASE, Resuming};
use taskyard::todos::{TodoList, TodoLists};
use taskyard::{Run, StartLease};

use super::Context;
use super::name_source::NameSource;
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

    /// Returns the name that agents of the client's session have where they were given no other: that of its MCP server.
    pub(crate) fn session_agent(&self) -> Option<AgentName> {
        let said = self.environment.session_agent.as_deref().and_then(|name| AgentName::new(name).ok());
        said.or_else(|| {
            AgentName::new(format!("claude-code-{}", self.environment.client_session.as_deref()?.get(..8)?)).ok()
        })
    }

    /// Returns the process of the client that this command runs in; `None` if it runs in none, or processes cannot be seen.
    pub(crate) fn client_process(&self) -> Option<&ProcessMark> {
        let look = || if self.is_started_by_client() { client_above() } else { None };
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
        let client = self.client_process().filter(|_| self.is_browser.is_none());
        let Some(client) = client else { return Ok(None) };
        Ok(self.store()?.care().is_some().then(|| Holder::Process(client.clone())))
    }

    /// Tells whether a person acts: at a terminal and not in a process of the client, or in a browser. Everything else is an agent, which gets a
    /// lease with a task that it starts.
    pub(crate) fn is_person(&self) -> bool {
        let is_in_client = self.is_started_by_client() || self.environment.hook_turn.is_some();
        let is_at_terminal = || io::stdin().is_terminal() || io::stdout().is_terminal();
        self.is_browser.unwrap_or_else(|| !is_in_client && is_at_terminal())
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

    /// Returns what `work` started this process for. It says nothing of the callers of a server, nor of another store.
    pub(super) fn run(&self) -> Result<Option<Run>, Problem> {
        let environment = &self.environment;
        let (Some(list), Some(task), Some(token)) = (&environment.list, &environment.run_task, environment.run_token)
        else {
            return Ok(None);
        };
        if self.is_browser.is_some() || (self.globals.store.is_some() && !self.is_in_store_of_environment()?) {
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
        let given = if self.is_browser.is_some() { NameSource::Request } else { NameSource::Flag };
        let read = |name: Option<&str>, source| Some((AgentName::new(name?).ok()?, source));
        let variable = || read(self.environment.agent.as_deref(), NameSource::Variable);
        let named = match self.globals.agent.as_deref() {
            Some(name) => read(Some(name), given),
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
