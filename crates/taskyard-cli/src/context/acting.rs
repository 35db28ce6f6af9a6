//! Which agent acts, and whether a caller gave that name.

use std::sync::Arc;

use taskyard::core::AgentName;
use taskyard::operations::Resuming;
use taskyard::todos::{TodoList, TodoLists};

use super::Context;
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

    /// Returns who acts.
    pub(crate) fn actor(&self) -> Result<AgentName, Problem> {
        if self.globals.agent.as_deref().is_some_and(|name| name.trim().is_empty()) {
            return Err(Problem::usage("bad_agent", "--as needs a name"));
        }
        let named = self.named_agent().and_then(|name| AgentName::new(name).ok());
        let user = || self.environment.user.as_deref().and_then(|name| AgentName::new(name).ok());
        let someone = || AgentName::new("someone").map_err(|error| Problem::usage("bad_agent", error.to_string()));
        named.or_else(|| self.session_agent()).or_else(user).map_or_else(someone, Ok)
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
