//! What can run in the background.

use std::fmt;
use std::str::FromStr;

/// What runs in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// A command.
    #[default]
    LocalBash,
    /// An agent on this machine.
    LocalAgent,
    /// An agent elsewhere.
    RemoteAgent,
    /// A teammate.
    InProcessTeammate,
}

/// An unknown kind of job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no kind of job; use local_bash, local_agent, remote_agent or in_process_teammate", .word.escape_debug())]
pub struct UnknownJobKind {
    /// What was given.
    pub(crate) word: String,
}

impl JobKind {
    /// Every kind.
    pub(crate) const ALL: [Self; 4] = [Self::LocalBash, Self::LocalAgent, Self::RemoteAgent, Self::InProcessTeammate];

    /// Returns the client's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LocalBash => "local_bash",
            Self::LocalAgent => "local_agent",
            Self::RemoteAgent => "remote_agent",
            Self::InProcessTeammate => "in_process_teammate",
        }
    }

    /// Returns the letter its ids begin with.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::LocalBash => 'b',
            Self::LocalAgent => 'a',
            Self::RemoteAgent => 'r',
            Self::InProcessTeammate => 't',
        }
    }
}

impl FromStr for JobKind {
    type Err = UnknownJobKind;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == word);
        known.ok_or_else(|| UnknownJobKind { word: word.to_owned() })
    }
}

impl fmt::Display for JobKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
