//! On which terms a task is taken.

use std::collections::HashSet;
use std::time::Duration;

use taskyard_core::rules::claims::attempts::is_given_up;
pub use taskyard_core::rules::leases::leasing::DEFAULT_LEASE;
use taskyard_core::rules::looking::query::{Query, Surroundings, Times};
use taskyard_core::{Holder, ProcessMark, Task, TaskId, Timestamp};

/// How a task is to be taken.
#[derive(Clone, Debug)]
pub struct Claim {
    /// What the agent declares itself to be.
    pub roles: Vec<String>,
    /// How many tasks the agent may have in progress.
    pub limit: Option<usize>,
    /// Whether it wants one only when it has no other.
    pub only_when_idle: bool,
    /// Whether it is only to be the owner, and not to begin.
    pub reserve: bool,
    /// Whether it is to begin under client rules as well, which only name the owner.
    pub always_begins: bool,
    /// How long the lease lives without a sign of life; none: time does not end it.
    pub ttl: Option<Duration>,
    /// What the lease lives with.
    pub holder: Option<Holder>,
    /// The client in which the agent runs: what lives with that client or one of its servers is no other agent's of the same name.
    pub client: Option<ProcessMark>,
    /// Tasks that are not wanted this time.
    pub passed_over: HashSet<TaskId>,
    /// How many more attempts a task gets that failed the first time; none: as many as it takes.
    pub retries: Option<u64>,
    /// Which of the tasks it has the agent is given again when it asks for the next one.
    pub resuming: Resuming,
    /// What is to be true of a task that comes next.
    pub query: Query,
}

/// Which of the tasks it has an agent is given again when it asks for the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resuming {
    /// All: the agent was given its name.
    #[default]
    All,
    /// What a server of its own session held that has ended: the agent has the name of its session, which other agents may share.
    FromEndedServer,
    /// None: the agent has the name of its login or its session, which other agents may share.
    Nothing,
}

impl Claim {
    /// Tells whether a task that could come next is not what is wanted.
    pub(super) fn passes_over(&self, task: &Task, times: Option<Times>, now: Timestamp) -> bool {
        !self.query.is_true_of(task, &Candidacy { times, now })
    }

    /// Tells whether a task failed too often to come next.
    pub(super) fn gives_up(&self, task: &Task) -> bool {
        self.retries.is_some_and(|retries| is_given_up(task, retries))
    }
}

impl Default for Claim {
    fn default() -> Self {
        Self {
            roles: Vec::new(),
            limit: None,
            only_when_idle: false,
            reserve: false,
            always_begins: false,
            ttl: Some(DEFAULT_LEASE),
            holder: None,
            client: None,
            passed_over: HashSet::new(),
            retries: None,
            resuming: Resuming::All,
            query: Query::default(),
        }
    }
}

impl Claim {
    /// Tells whether what else the agent has to do may be a reason against it.
    pub(super) fn depends_on_load(&self) -> bool {
        self.only_when_idle || self.limit.is_some()
    }
}

/// A task that could come next, as a query sees it.
struct Candidacy {
    times: Option<Times>,
    now: Timestamp,
}

impl Surroundings for Candidacy {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn is_ready(&self, _: &Task) -> bool {
        // Nothing else is given out, save what the agent has begun already.
        true
    }

    fn is_blocked(&self, _: &Task) -> bool {
        false
    }

    fn times(&self, _: &Task) -> Option<Times> {
        self.times
    }
}
