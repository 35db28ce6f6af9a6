//! The acting agent.

use std::fmt;

/// The name of an agent or a person, as it appears in `owner` and in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(String);

/// Why a text is no agent's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAgentName {
    /// There is nothing in it but blanks.
    #[error("an agent needs a name; this one is blank")]
    Blank,
}

impl AgentName {
    /// Takes a name; blank names are no names.
    pub fn new(name: impl Into<String>) -> Result<Self, BadAgentName> {
        let name = name.into();
        if name.trim().is_empty() {
            return Err(BadAgentName::Blank);
        }
        Ok(Self(name))
    }

    /// Returns the actor the journal names for changes that some other program made.
    pub fn elsewhere() -> Self {
        Self("elsewhere".to_owned())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
