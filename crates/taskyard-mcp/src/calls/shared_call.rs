//! A connection that several agents share, and one call over it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::AgentName;

use super::transcripts::Transcripts;

/// What the agents of one connection share.
#[derive(Debug)]
pub struct SharedConnection {
    pub(super) transcripts: Transcripts,
    /// The names that subagents gave themselves.
    pub(super) names: Mutex<HashMap<AgentName, AgentName>>,
}

/// One call over a connection that several agents share.
#[derive(Clone, Debug)]
pub(super) struct SharedCall {
    pub(super) connection: Arc<SharedConnection>,
    /// The id that the client gave the call.
    pub(super) id: String,
}

impl SharedConnection {
    /// Returns a connection whose agents are told apart by these transcripts.
    pub fn new(transcripts: Transcripts) -> Self {
        Self { transcripts, names: Mutex::default() }
    }

    /// Returns the name a subagent acts under: the one it gave itself, else its own.
    pub(super) fn name_of(&self, subagent: &AgentName) -> AgentName {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(subagent).unwrap_or(subagent).clone()
    }
}
