//! Putting the news of a job's end into the queue.

use taskyard_core::Job;
use taskyard_core::rules::teams::notifying::is_told_of;

use crate::sqlite::{Database, DatabaseError};

/// Queues the news that a job has ended, once, for the agent that started it. Of a job that an agent stopped there is no news: the agent
/// that stopped it knows.
pub(crate) fn queue_notice(transaction: &Database, job: &Job) -> Result<(), DatabaseError> {
    let Some(at) = job.ended().filter(|_| is_told_of(&job.fate)) else { return Ok(()) };
    let query = "INSERT OR IGNORE INTO notices (job, agent, list, queued_at) VALUES (?1, ?2, ?3, ?4)";
    transaction.execute(query, (job.id.as_str(), job.agent.as_str(), job.list.as_str(), at.0)).map(drop)
}
