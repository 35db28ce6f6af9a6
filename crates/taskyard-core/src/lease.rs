//! Who holds a task, for how long, and what proves it.

use std::fmt;
use std::time::Duration;

use crate::{AgentName, ProcessMark, TaskId, Timestamp};

/// What proves a lease. The tokens of a list only grow: of two leases on one task the later one has the greater token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

impl fmt::Display for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// A moment by two clocks: the one people read, which may be set, and the one that only goes forward while the machine runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time people read.
    pub wall: Timestamp,
    /// The run of the machine the other clock belongs to.
    pub boot: String,
    /// Milliseconds since that run began, the same for every process in it.
    pub since_boot: i64,
}

impl Moment {
    /// Returns the moment so much later, by both clocks.
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

/// What a lease lives with, besides its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A process: when it ends, the lease ends.
    Process(ProcessMark),
    /// A connection that a process serves: the lease outlives the last sign of life of that process by a grace, so that a restarted
    /// one finds it.
    Connection {
        /// The process that serves it.
        process: ProcessMark,
        /// How long the lease lives on after the last sign of life.
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

/// An agent's right to one task, for a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The task that the agent may work on.
    pub task: TaskId,
    /// The agent that holds it.
    pub agent: AgentName,
    /// The number that proves it; each new lease on a list has a higher one.
    pub token: Token,
    /// When it was given.
    pub taken: Timestamp,
    /// How long it lives without a sign of life; a sign of life gives it this long again. None: time does not end it.
    pub ttl: Option<Duration>,
    /// When it ends by time; none where time does not end it.
    pub ends: Option<Moment>,
    /// The process or connection it lives with; none where only time ends it.
    pub holder: Option<Holder>,
}

/// What a writer brings to overcome or to prove a lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    /// Nothing but the name.
    #[default]
    Name,
    /// The token of a lease.
    Token(Token),
    /// The word of a person that leases shall not count.
    Force,
}
