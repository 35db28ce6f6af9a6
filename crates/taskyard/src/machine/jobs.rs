//! The table of jobs. What a record says is the business of [`crate::jobs`].

use rusqlite::{named_params, params_from_iter};

use super::job_row::{JobRow, read};
use super::notices::keep_for_notice;
use super::{Machine, MachineError};
use crate::sqlite::{Database, DatabaseError};

/// Which jobs of this machine are wanted. They come oldest first, unless a case says otherwise.
#[derive(Clone, Debug)]
pub enum JobQuery<'a> {
    /// All of them.
    All,
    /// Those that have not ended.
    Living,
    /// At most 32 of those that have not ended, those whose ids come next from this one on; in no particular order.
    FewLiving(&'a str),
    /// Those of a task: the list and the task.
    OfTask(&'a str, &'a str),
    /// The newest one with this name.
    NewestNamed(&'a str),
    /// At most 16 of those that ended and whose output still takes room, the first to end first.
    FewWithOutput,
}

/// How many are a few.
const FEW: usize = 16;

const COLUMNS: &str = "SELECT id, state, jobs.list, task, started, ended, size, record, notices.delivered_at IS NOT NULL \
    FROM jobs LEFT JOIN notices ON notices.job = jobs.id";

impl Machine {
    /// Returns a job's row.
    pub(crate) fn job_row(&self, id: &str) -> Result<Option<JobRow>, MachineError> {
        Ok(find_job(&self.database, id)?)
    }

    /// Returns rows.
    pub(crate) fn job_rows(&self, which: &JobQuery<'_>) -> Result<Vec<JobRow>, MachineError> {
        let by_start = "ORDER BY started, id";
        let (condition, values): (String, &[&str]) = match which {
            JobQuery::All => (by_start.to_owned(), &[]),
            JobQuery::Living => (format!("WHERE state IN ('pending', 'running') {by_start}"), &[]),
            // Each half is answered from the index alone, however many jobs there are.
            JobQuery::FewLiving(from) => {
                let half =
                    |state| format!("SELECT id FROM jobs WHERE state = '{state}' AND id >= ?1 ORDER BY id LIMIT {FEW}");
                let (pending, running) = (half("pending"), half("running"));
                (format!("WHERE id IN (SELECT * FROM ({pending}) UNION ALL SELECT * FROM ({running}))"), &[from])
            }
            JobQuery::OfTask(list, task) => (format!("WHERE jobs.list = ?1 AND task = ?2 {by_start}"), &[list, task]),
            JobQuery::NewestNamed(name) => {
                let of_name = "CASE WHEN json_valid(record) THEN record ->> '$.name' END = ?1";
                (format!("WHERE {of_name} ORDER BY started DESC, id DESC LIMIT 1"), &[name])
            }
            JobQuery::FewWithOutput => {
                (format!("WHERE ended IS NOT NULL AND size > 0 ORDER BY ended, id LIMIT {FEW}"), &[])
            }
        };
        let query = format!("{COLUMNS} {condition}");
        Ok(self.database.rows(&query, params_from_iter(values), read)?)
    }

    /// Returns the row of a job, or what was kept of it for a notice that no agent has acknowledged.
    pub(crate) fn told_job_row(&self, id: &str) -> Result<Option<JobRow>, MachineError> {
        match self.job_row(id)? {
            Some(row) => Ok(Some(row)),
            None => self.kept_for_notice(id),
        }
    }

    /// Returns how much room the output of all jobs takes at most.
    pub(crate) fn job_sizes(&self) -> Result<u64, MachineError> {
        let query = "SELECT coalesce(sum(size), 0) FROM jobs";
        let size = self.database.one(query, [], |row| row.get::<_, i64>(0))?;
        Ok(size.max(0).unsigned_abs())
    }
}

/// Returns a job's row within a transaction.
pub(crate) fn find_job(transaction: &Database, id: &str) -> Result<Option<JobRow>, DatabaseError> {
    transaction.row(&format!("{COLUMNS} WHERE id = ?1"), [id], read)
}

/// Tells whether a job has this name, or had it and may still be told of.
pub(crate) fn has_been(transaction: &Database, id: &str) -> Result<bool, DatabaseError> {
    let query = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 UNION ALL SELECT 1 FROM notices WHERE job = ?1)";
    transaction.one(query, [id], |row| row.get(0))
}

/// Adds a row.
pub(crate) fn insert_job(transaction: &Database, row: &JobRow) -> Result<(), DatabaseError> {
    let query = "INSERT INTO jobs (id, state, list, task, started, ended, size, record)
        VALUES (:id, :state, :list, :task, :started, :ended, :size, :record)";
    write(transaction, query, row)
}

/// Replaces a row.
pub(crate) fn replace_job(transaction: &Database, row: &JobRow) -> Result<(), DatabaseError> {
    let query = "UPDATE jobs SET state = :state, list = :list, task = :task, started = :started, ended = :ended,
        size = :size, record = :record WHERE id = :id";
    write(transaction, query, row)
}

/// Takes a row away. What there is to tell of it, and no agent has acknowledged, can still be told.
pub(crate) fn remove_job(transaction: &Database, id: &str) -> Result<(), DatabaseError> {
    keep_for_notice(transaction, id)?;
    transaction.execute("DELETE FROM jobs WHERE id = ?1", [id]).map(drop)
}

fn write(transaction: &Database, query: &str, row: &JobRow) -> Result<(), DatabaseError> {
    let values = named_params! {
        ":id": row.id, ":state": row.state, ":list": row.list, ":task": row.task,
        ":started": row.started, ":ended": row.ended, ":size": row.size, ":record": row.record,
    };
    transaction.execute(query, values).map(drop)
}
