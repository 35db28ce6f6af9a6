//! Leases: who holds a task, for how long, and how that is proved.

use std::fmt;
use std::time::Duration;

use crate::{AgentName, ProcessMark, TaskId, Timestamp};

/// The token that proves a lease. Tokens of a list only grow: of two leases on a task, the later one has the greater
/// token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// A moment on two clocks: wall-clock time, which may be set, and a monotonic clock that runs from boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Wall-clock time.
    pub wall: Timestamp,
    /// The boot that the monotonic clock belongs to.
    pub boot: String,
    /// Milliseconds since that boot, the same for every process.
    pub since_boot: i64,
}

impl Moment {
    /// Returns the moment that is `span` later on both clocks.
    #[must_use]
    pub fn after(&self, span: Duration) -> Self {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self {
            wall: Timestamp(self.wall.0.saturating_add(span)),
            boot: self.boot.clone(),
            since_boot: self.since_boot.saturating_add(span),
        }
    }
}

/// What a lease depends on, besides time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A process: the lease expires when it ends.
    Process(ProcessMark),
    /// A connection served by a process: the lease outlives the process's last sign of life by a grace period, so
    /// that a restarted process finds it.
    Connection {
        /// The process that serves the connection.
        process: ProcessMark,
        /// How long the lease remains valid after the last sign of life.
        grace: Duration,
    },
}

impl Holder {
    /// Returns the process.
    pub fn process(&self) -> &ProcessMark {
        match self {
            Self::Process(process) | Self::Connection { process, .. } => process,
        }
    }
}

/// An agent's right to work on one task for a limited time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The task.
    pub task: TaskId,
    /// The agent that holds it.
    pub agent: AgentName,
    /// The token; each new lease on a list has a greater one.
    pub token: Token,
    /// When it was granted.
    pub taken: Timestamp,
    /// How long it lasts after a sign of life. `None` means that time does not end it.
    pub ttl: Option<Duration>,
    /// When it expires; `None` if time does not end it.
    pub ends: Option<Moment>,
    /// The process or connection it depends on; `None` if only time ends it.
    pub holder: Option<Holder>,
}

/// What a writer presents to prove or override a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Only the agent's name.
    #[default]
    Name,
    /// The token of a lease.
    Token(Token),
    /// A person's decision to ignore leases.
    Force,
}
