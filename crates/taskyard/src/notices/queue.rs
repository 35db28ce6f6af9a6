//! Putting the news of a job's end into the queue.

use rusqlite::Transaction;
use taskyard_core::{Job, JobEnding};

/// Queues the news that a job has ended, once, for the agent that started it. Of a job that somebody stopped there is no news:
/// whoever stopped it knows.
pub(crate) fn queue(transaction: &Transaction<'_>, job: &Job) -> rusqlite::Result<()> {
    let Some(at) = job.ended() else { return Ok(()) };
    if matches!(job.ending(), Some(JobEnding::Stopped(_))) {
        return Ok(());
    }
    let query = "INSERT OR IGNORE INTO notices (job, agent, list, queued_at) VALUES (?1, ?2, ?3, ?4)";
    transaction.execute(query, (job.id.as_str(), job.agent.as_str(), job.list.as_str(), at.0)).map(drop)
}
