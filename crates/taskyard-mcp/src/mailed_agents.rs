//! The agents that are told of their messages.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::AgentName;

/// So many agents of one connection are told of their messages.
const AGENTS_OF_CONNECTION: usize = 256;
/// So many agents of one server are.
const AGENTS: usize = 1_024;

/// Messages that have come for one agent.
#[derive(Debug)]
pub(crate) struct NewMail {
    /// The recipient.
    pub(crate) agent: AgentName,
    /// What they are, in one line.
    pub(crate) summary: String,
}

/// The agents of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Agents(Arc<Mutex<HashSet<AgentName>>>);

/// The agents of all connections of one server that tell them of messages, each with how many do.
#[derive(Debug, Default)]
pub(crate) struct MailedAgents(Mutex<HashMap<AgentName, usize>>);

impl Agents {
    /// Adds an agent; returns whether it is new. Beyond a number none is added.
    pub(crate) fn add(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        agents.len() < AGENTS_OF_CONNECTION && agents.insert(agent.clone())
    }

    /// Tells whether an agent is among them.
    pub(crate) fn contains(&self, agent: &AgentName) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    /// Returns all of them.
    pub(crate) fn all(&self) -> Vec<AgentName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl MailedAgents {
    /// Counts one more connection that tells an agent; returns whether it is the first. Beyond a number of agents none is added.
    pub(crate) fn add(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = agents.get_mut(agent) {
            *connections += 1;
            return false;
        }
        agents.len() < AGENTS && agents.insert(agent.clone(), 1).is_none()
    }

    /// Counts one connection less; returns whether it was the last.
    pub(crate) fn remove(&self, agent: &AgentName) -> bool {
        let mut agents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(connections) = agents.get_mut(agent) else { return false };
        *connections -= 1;
        *connections == 0 && agents.remove(agent).is_some()
    }

    /// Returns all of them.
    pub(crate) fn all(&self) -> BTreeSet<AgentName> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}
