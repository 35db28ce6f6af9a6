//! The table of jobs. What a record says is the business of [`crate::jobs`].

use std::fs::File;
use std::path::Path;

use rusqlite::{OptionalExtension as _, Row, Transaction, TransactionBehavior, named_params};
use rustix::fs::{FlockOperation, flock};

use super::notices::keep_for_notice;
use super::{Machine, MachineError};
use crate::private;

/// One row: what is looked for in columns, the rest as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRow {
    /// The job's id.
    pub(crate) id: String,
    /// The word for how it stands.
    pub(crate) state: String,
    /// Its list.
    pub(crate) list: String,
    /// Its task.
    pub(crate) task: Option<String>,
    /// When it was started.
    pub(crate) started: i64,
    /// When it ended.
    pub(crate) ended: Option<i64>,
    /// How much room its output takes; while it has not ended, how much it may take.
    pub(crate) size: i64,
    /// Everything else.
    pub(crate) record: String,
    /// Whether its end has been delivered; not written by this table's queries.
    pub(crate) is_delivered: bool,
}

/// Which rows are wanted.
#[derive(Clone, Debug)]
pub(crate) enum JobRows<'a> {
    /// All of them.
    All,
    /// Those that have not ended.
    Living,
    /// A few of those that have not ended, by the order of their ids from this one on.
    FewLiving(&'a str),
    /// Those of a task of a list.
    OfTask(&'a str, &'a str),
    /// Those of a name.
    Named(&'a str),
    /// A few of those that ended and whose output still takes room, the first to end first.
    FewWithOutput,
}

/// How many are a few.
const FEW: usize = 16;

const COLUMNS: &str = "SELECT id, state, jobs.list, task, started, ended, size, record, notices.delivered_at IS NOT NULL \
    FROM jobs LEFT JOIN notices ON notices.job = jobs.id";

impl Machine {
    /// Returns a job's row.
    pub(crate) fn job_row(&self, id: &str) -> Result<Option<JobRow>, MachineError> {
        let query = format!("{COLUMNS} WHERE id = ?1");
        match self.connection.prepare_cached(&query) {
            Ok(mut statement) => statement.query_row([id], read).optional().map_err(self.failed("read")),
            // A database from before there were jobs knows of none.
            Err(error) if error.to_string().contains("no such table") => Ok(None),
            Err(error) => Err(self.failed("read")(error)),
        }
    }

    /// Returns rows, the oldest first.
    pub(crate) fn job_rows(&self, which: &JobRows<'_>) -> Result<Vec<JobRow>, MachineError> {
        let by_start = "ORDER BY started, id";
        let (condition, values): (String, &[&str]) = match which {
            JobRows::All => (by_start.to_owned(), &[]),
            JobRows::Living => (format!("WHERE state IN ('pending', 'running') {by_start}"), &[]),
            // Each half is answered from the index alone, however many jobs there are.
            JobRows::FewLiving(from) => {
                let half =
                    |state| format!("SELECT id FROM jobs WHERE state = '{state}' AND id >= ?1 ORDER BY id LIMIT {FEW}");
                let (pending, running) = (half("pending"), half("running"));
                (format!("WHERE id IN (SELECT * FROM ({pending}) UNION ALL SELECT * FROM ({running}))"), &[from])
            }
            JobRows::OfTask(list, task) => (format!("WHERE jobs.list = ?1 AND task = ?2 {by_start}"), &[list, task]),
            JobRows::Named(name) => {
                let of_name = "CASE WHEN json_valid(record) THEN record ->> '$.name' END = ?1";
                (format!("WHERE {of_name} {by_start}"), &[name])
            }
            JobRows::FewWithOutput => {
                (format!("WHERE ended IS NOT NULL AND size > 0 ORDER BY ended, id LIMIT {FEW}"), &[])
            }
        };
        let query = format!("{COLUMNS} {condition}");
        let mut statement = match self.connection.prepare(&query) {
            Ok(statement) => statement,
            Err(error) if error.to_string().contains("no such table") => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read")(error)),
        };
        let rows = statement.query_map(rusqlite::params_from_iter(values), read).map_err(self.failed("read"))?;
        rows.collect::<Result<_, _>>().map_err(self.failed("read"))
    }

    /// Returns the row of a job, or what was kept of it for a notice that nobody has acknowledged.
    pub(crate) fn told_job_row(&self, id: &str) -> Result<Option<JobRow>, MachineError> {
        match self.job_row(id)? {
            Some(row) => Ok(Some(row)),
            None => self.kept_for_notice(id),
        }
    }

    /// Returns how much room the output of all jobs takes at most.
    pub(crate) fn job_sizes(&self) -> Result<u64, MachineError> {
        let sum = |row: &Row<'_>| row.get::<_, i64>(0);
        let size = self.connection.query_row("SELECT coalesce(sum(size), 0) FROM jobs", [], sum);
        size.map(|size| size.max(0).unsigned_abs()).map_err(self.failed("read"))
    }

    /// Does something to the tables in one transaction, alone. The processes of many jobs stand in line for it in the kernel
    /// instead of asking again and again.
    pub(crate) fn alone<T>(
        &mut self,
        data: &Path,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, MachineError> {
        let _turn = turn(data)?;
        let failed = self.failed("write");
        let connection = &mut self.connection;
        let attempt = move || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = change(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        attempt().map_err(failed)
    }

    /// Has commits reach the disk later: after a power loss the last ones may be missing, none is ever half there.
    pub(crate) fn hurry(&self) -> Result<(), MachineError> {
        self.connection.pragma_update(None, "synchronous", "NORMAL").map_err(self.failed("write"))
    }

    /// Has commits reach the disk before anybody is told.
    pub(crate) fn take_care(&self) -> Result<(), MachineError> {
        self.connection.pragma_update(None, "synchronous", "FULL").map_err(self.failed("write"))
    }
}

/// Returns a job's row within a transaction.
pub(crate) fn find_job(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<JobRow>> {
    transaction.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))?.query_row([id], read).optional()
}

/// Tells whether a job has this name, or had it and may still be told of.
pub(crate) fn has_been(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 UNION ALL SELECT 1 FROM notices WHERE job = ?1)";
    transaction.query_row(query, [id], |row| row.get(0))
}

/// Adds a row.
pub(crate) fn insert_job(transaction: &Transaction<'_>, row: &JobRow) -> rusqlite::Result<()> {
    let query = "INSERT INTO jobs (id, state, list, task, started, ended, size, record)
        VALUES (:id, :state, :list, :task, :started, :ended, :size, :record)";
    write(transaction, query, row)
}

/// Replaces a row.
pub(crate) fn replace_job(transaction: &Transaction<'_>, row: &JobRow) -> rusqlite::Result<()> {
    let query = "UPDATE jobs SET state = :state, list = :list, task = :task, started = :started, ended = :ended,
        size = :size, record = :record WHERE id = :id";
    write(transaction, query, row)
}

/// Takes a row away. What there is to tell of it, and nobody has acknowledged, can still be told.
pub(crate) fn remove_job(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    keep_for_notice(transaction, id)?;
    transaction.execute("DELETE FROM jobs WHERE id = ?1", [id]).map(drop)
}

fn write(transaction: &Transaction<'_>, query: &str, row: &JobRow) -> rusqlite::Result<()> {
    let values = named_params! {
        ":id": row.id, ":state": row.state, ":list": row.list, ":task": row.task,
        ":started": row.started, ":ended": row.ended, ":size": row.size, ":record": row.record,
    };
    transaction.execute(query, values).map(drop)
}

/// Reads a row of [`COLUMNS`].
pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    Ok(JobRow {
        id: row.get(0)?,
        state: row.get(1)?,
        list: row.get(2)?,
        task: row.get(3)?,
        started: row.get(4)?,
        ended: row.get(5)?,
        size: row.get(6)?,
        record: row.get(7)?,
        is_delivered: row.get(8)?,
    })
}

/// Waits for our turn to write; it ends when what is returned is dropped.
fn turn(data: &Path) -> Result<File, MachineError> {
    let path = data.join("machine.turn");
    let locked = private::open(&path).and_then(|file| {
        while let Err(error) = flock(&file, FlockOperation::LockExclusive) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        Ok(file)
    });
    locked.map_err(|source| MachineError::Io { doing: "cannot lock", path, source })
}
