//! What became of a message to an agent that a change of a task concerns.

/// What became of a message to an agent that a change of a task concerns: its new owner, or one that takes part in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskMessage {
    /// It lies in the agent's inbox.
    Sent {
        /// The name of the agent.
        to: String,
    },
    /// It could not be written.
    Failed {
        /// The name of the agent.
        to: String,
        /// What the team's store said.
        why: String,
    },
}

impl TaskMessage {
    /// Returns the name of the agent that got it; none where it could not be written.
    pub fn sent_to(&self) -> Option<&str> {
        match self {
            Self::Sent { to } => Some(to),
            Self::Failed { .. } => None,
        }
    }

    /// Returns why it could not be written; none where it was.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Sent { .. } => None,
            Self::Failed { why, .. } => Some(why),
        }
    }
}
