//! What is to be done with a list.

use std::path::PathBuf;
use std::time::Duration;

use taskyard::core::{AgentName, Holder};
use taskyard::liveness::own_mark;
use taskyard::operations::{Claim, Query, Resuming};

use crate::Jobs;

/// What is to be run for every task, by whom, and under which terms.
#[derive(Clone, Debug)]
pub struct Order {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// The address of the store, for the program to find the list again.
    pub store_address: String,
    /// The workers, each under a name of its own.
    pub workers: Vec<Worker>,
    /// How many tasks each of them may have in progress.
    pub limit: Option<usize>,
    /// Which of the tasks it has each of them goes on with.
    pub resuming: Resuming,
    /// What is to be true of the tasks that are worked on.
    pub query: Query,
    /// How long a lease lives when we show no sign of life.
    pub ttl: Duration,
    /// How many more attempts a task gets that failed the first time.
    pub retries: u64,
    /// How long the program may take for a task or for messages; `None` if there is no limit. It is then ended with everything that it
    /// started, and the attempt has failed.
    pub time_limit: Option<Duration>,
    /// Whether new work is waited for when nothing is left.
    pub waits: bool,
    /// The supervisor of the program, so that nothing it starts outlives us.
    pub jobs: Jobs,
    /// Whether the workers are members of a team, and attend to what is written to them.
    pub in_team: bool,
}

/// An agent that works tasks off.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The name.
    pub name: AgentName,
    /// What it declares itself to be.
    pub roles: Vec<String>,
}

impl Order {
    /// Returns the terms under which a worker takes a task: the lease ends with this process, and by time when we are suspended.
    pub(super) fn terms(&self, worker: &Worker) -> Claim {
        Claim {
            roles: worker.roles.clone(),
            limit: self.limit,
            ttl: Some(self.ttl),
            holder: Some(Holder::Process(own_mark())),
            retries: Some(self.retries),
            resuming: self.resuming,
            query: self.query.clone(),
            ..Claim::default()
        }
    }

    /// Returns what kind of agent the program is, in the words of hooks: its name without the way to it.
    pub(super) fn agent_type(&self) -> String {
        let name = std::path::Path::new(&self.program).file_name();
        name.map_or_else(|| self.program.clone(), |name| name.to_string_lossy().into_owned())
    }
}
