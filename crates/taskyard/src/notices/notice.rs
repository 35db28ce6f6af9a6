//! What there is to tell an agent of one job.

use taskyard_core::{AgentName, Job, Timestamp};

/// The news that a job has ended, for the agent that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The job as it ended.
    pub job: Job,
    /// The agent that started the job, and should know of its end.
    pub agent: AgentName,
    /// Since when.
    pub queued: Timestamp,
    /// When it was last told.
    pub delivered: Option<Timestamp>,
}
