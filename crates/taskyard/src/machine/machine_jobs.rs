//! The machine database's tables of jobs, job notices, and tasks that a job's end may reopen.

use rusqlite::{Row, ToSql, named_params, params_from_iter};
use taskyard_core::Job;
use taskyard_core::rules::teams::mailing::is_told_of;

use super::{Machine, MachineError};
use crate::sqlite::{Database, DatabaseError};

/// Selects jobs of this machine. They come oldest first unless the variant says otherwise.
#[derive(Clone, Debug)]
pub enum JobQuery<'a> {
    /// All of them.
    All,
    /// Jobs that have not ended.
    Living,
    /// At most 32 jobs that have not ended, with the smallest ids starting at this one; in no particular order.
    FewLiving(&'a str),
    /// The jobs of a task: the list and the task.
    OfTask(&'a str, &'a str),
    /// The newest job with this name.
    NewestNamed(&'a str),
    /// At most 16 ended jobs whose output still takes up space, the earliest end first.
    FewWithOutput,
}

/// The limit of the `Few...` queries, for each state.
const FEW: usize = 16;

const COLUMNS: &str = "SELECT id, state, jobs.list, task, started, ended, size, record, notices.delivered_at IS NOT NULL \
    FROM jobs LEFT JOIN notices ON notices.job = jobs.id";

impl Machine {
    pub(crate) fn job_row(&self, id: &str) -> Result<Option<JobRow>, MachineError> {
        Ok(find_job(&self.database, id)?)
    }

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
        Ok(self.database.rows(&query, params_from_iter(values), read_job_row)?)
    }

    /// Returns the row of a job, or the copy kept for its notice if no agent has acknowledged that yet.
    pub(crate) fn told_job_row(&self, id: &str) -> Result<Option<JobRow>, MachineError> {
        match self.job_row(id)? {
            Some(row) => Ok(Some(row)),
            None => self.kept_for_notice(id),
        }
    }

    /// Returns how many bytes the output of all jobs takes at most.
    pub(crate) fn job_sizes(&self) -> Result<u64, MachineError> {
        let query = "SELECT coalesce(sum(size), 0) FROM jobs";
        let size = self.database.one(query, [], |row| row.get::<_, i64>(0))?;
        Ok(size.max(0).unsigned_abs())
    }
}

pub(crate) fn find_job(transaction: &Database, id: &str) -> Result<Option<JobRow>, DatabaseError> {
    transaction.row(&format!("{COLUMNS} WHERE id = ?1"), [id], read_job_row)
}

/// Returns whether a job with this id exists, or existed and still has a notice.
pub(crate) fn has_been(transaction: &Database, id: &str) -> Result<bool, DatabaseError> {
    let query = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 UNION ALL SELECT 1 FROM notices WHERE job = ?1)";
    transaction.one(query, [id], |row| row.get(0))
}

pub(crate) fn insert_job(transaction: &Database, row: &JobRow) -> Result<(), DatabaseError> {
    let query = "INSERT INTO jobs (id, state, list, task, started, ended, size, record)
        VALUES (:id, :state, :list, :task, :started, :ended, :size, :record)";
    write(transaction, query, row)
}

pub(crate) fn replace_job(transaction: &Database, row: &JobRow) -> Result<(), DatabaseError> {
    let query = "UPDATE jobs SET state = :state, list = :list, task = :task, started = :started, ended = :ended,
        size = :size, record = :record WHERE id = :id";
    write(transaction, query, row)
}

/// Removes a row. If the job's notice is unacknowledged, a copy is kept for it.
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

/// A row of the table of jobs. Fields that queries use have columns; the rest is in `record`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobRow {
    pub(crate) id: String,
    /// The name of the job's state.
    pub(crate) state: String,
    pub(crate) list: String,
    pub(crate) task: Option<String>,
    pub(crate) started: i64,
    pub(crate) ended: Option<i64>,
    /// The size of the output in bytes; for a job that has not ended, the limit.
    pub(crate) size: i64,
    /// The whole job in JSON.
    pub(crate) record: String,
    /// Whether the notice of its end has been delivered. Read only: this table's queries do not write it.
    pub(crate) is_delivered: bool,
}

/// Reads a row with the columns of `COLUMNS`.
pub(super) fn read_job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
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

/// The condition for a notice that is no longer needed.
const HEARD_AND_GONE: &str = "acknowledged_at IS NOT NULL AND job NOT IN (SELECT id FROM jobs)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoticeRow {
    pub(crate) job: String,
    /// The recipient.
    pub(crate) agent: String,
    pub(crate) queued: i64,
    /// When it was last delivered.
    pub(crate) delivered: Option<i64>,
}

/// Which notices of a list to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoticeRows {
    All,
    /// Those that no agent has acknowledged.
    Waiting,
}

impl Machine {
    /// Returns the notices of a list in the order in which they were queued.
    pub(crate) fn notice_rows(&self, list: &str, which: NoticeRows) -> Result<Vec<NoticeRow>, MachineError> {
        let waiting = match which {
            NoticeRows::All => "",
            NoticeRows::Waiting => "AND acknowledged_at IS NULL",
        };
        let query = format!(
            "SELECT job, agent, queued_at, delivered_at FROM notices WHERE list = ?1 {waiting} ORDER BY queued_at, job"
        );
        Ok(self.database.rows(&query, [list], read_notice)?)
    }

    /// Marks notices as delivered, and returns the jobs of those that were unacknowledged.
    pub(crate) fn deliver_notices(&self, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        self.mark("UPDATE notices SET delivered_at = ?1 WHERE acknowledged_at IS NULL AND job", jobs, at)
    }

    /// Marks notices as acknowledged, and returns the jobs of those that were not yet.
    pub(crate) fn acknowledge_notices(&self, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        let query = "UPDATE notices SET acknowledged_at = ?1, delivered_at = coalesce(delivered_at, ?1) \
                     WHERE acknowledged_at IS NULL AND job";
        let heard = self.mark(query, jobs, at)?;
        self.forget_heard()?;
        Ok(heard)
    }

    /// Returns the copy kept of a job that was cleaned up.
    pub(super) fn kept_for_notice(&self, job: &str) -> Result<Option<JobRow>, MachineError> {
        let query = "SELECT id, state, tidied_jobs.list, task, started, ended, size, record, delivered_at IS NOT NULL \
            FROM tidied_jobs JOIN notices ON job = id WHERE id = ?1";
        Ok(self.database.row(query, [job], read_job_row)?)
    }

    /// Deletes acknowledged notices whose jobs no longer exist; returns how many.
    pub fn forget_heard_notices(&self) -> Result<usize, MachineError> {
        Ok(self.database.execute(&format!("DELETE FROM notices WHERE {HEARD_AND_GONE}"), [])?)
    }

    /// Returns how many acknowledged notices belong to jobs that no longer exist.
    pub fn heard_notices(&self) -> Result<usize, MachineError> {
        let count: i64 =
            self.database.one(&format!("SELECT count(*) FROM notices WHERE {HEARD_AND_GONE}"), [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Deletes job copies whose notices have been acknowledged.
    fn forget_heard(&self) -> Result<(), DatabaseError> {
        if self.database.one("SELECT EXISTS (SELECT 1 FROM tidied_jobs)", [], |row| row.get(0))? {
            let heard = "SELECT job FROM notices WHERE acknowledged_at IS NOT NULL";
            self.database.transact(|database| {
                database.execute(&format!("DELETE FROM tidied_jobs WHERE id IN ({heard})"), [])?;
                let told = "DELETE FROM notices WHERE acknowledged_at IS NOT NULL AND job NOT IN (SELECT id FROM jobs)";
                database.execute(told, [])
            })?;
        }
        Ok(())
    }

    fn mark(&self, query: &str, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        let places = vec!["?"; jobs.len()].join(", ");
        let values = std::iter::once(&at as &dyn ToSql).chain(jobs.iter().map(|job| job as &dyn ToSql));
        let query = format!("{query} IN ({places}) RETURNING job");
        Ok(self.database.transact(|database| database.rows(&query, params_from_iter(values), |row| row.get(0)))?)
    }
}

/// Keeps a copy of a job that is cleaned up while its notice is unacknowledged; if the notice is acknowledged, deletes
/// it.
pub(super) fn keep_for_notice(transaction: &Database, job: &str) -> Result<(), DatabaseError> {
    transaction.execute("DELETE FROM notices WHERE job = ?1 AND acknowledged_at IS NOT NULL", [job])?;
    let columns = "id, state, list, task, started, ended, size, record";
    let keep = format!(
        "INSERT OR REPLACE INTO tidied_jobs ({columns}) SELECT {columns} FROM jobs \
         WHERE id = ?1 AND id IN (SELECT job FROM notices)"
    );
    transaction.execute(&keep, [job]).map(drop)
}

/// Keeps a copy of another machine's job while its notice is unacknowledged.
pub(crate) fn keep_foreign(transaction: &Database, row: &JobRow) -> Result<(), DatabaseError> {
    let query = "INSERT OR IGNORE INTO tidied_jobs (id, state, list, task, started, ended, size, record) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let JobRow { id, state, list, task, started, ended, size, record, .. } = row;
    transaction.execute(query, (id, state, list, task, started, ended, size, record)).map(drop)
}

fn read_notice(row: &Row<'_>) -> rusqlite::Result<NoticeRow> {
    Ok(NoticeRow { job: row.get(0)?, agent: row.get(1)?, queued: row.get(2)?, delivered: row.get(3)? })
}

/// Queues the notice that a job has ended, once, for the agent that started it. Jobs that an agent stopped get none:
/// the agent that stopped it knows.
pub(crate) fn queue_notice(transaction: &Database, job: &Job) -> Result<(), DatabaseError> {
    let Some(at) = job.ended().filter(|_| is_told_of(&job.fate)) else { return Ok(()) };
    let query = "INSERT OR IGNORE INTO notices (job, agent, list, queued_at) VALUES (?1, ?2, ?3, ?4)";
    transaction.execute(query, (job.id.as_str(), job.agent.as_str(), job.list.as_str(), at.0)).map(drop)
}

impl Machine {
    /// Returns the jobs whose end may have to reopen a task.
    pub(crate) fn reopenings(&self) -> Result<Vec<String>, MachineError> {
        Ok(self.database.rows("SELECT job FROM reopenings", [], |row| row.get(0))?)
    }
}

/// Adds a job whose end may have to reopen its task.
pub(crate) fn insert_reopening(transaction: &Database, job: &str) -> Result<(), DatabaseError> {
    transaction.execute("INSERT OR REPLACE INTO reopenings (job) VALUES (?1)", [job]).map(drop)
}

/// Removes a settled job; returns whether none is left.
pub(crate) fn remove_reopening(transaction: &Database, job: &str) -> Result<bool, DatabaseError> {
    transaction.execute("DELETE FROM reopenings WHERE job = ?1", [job])?;
    transaction.one("SELECT NOT EXISTS (SELECT 1 FROM reopenings)", [], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::super::{JobRow, Machine, insert_job, remove_job};
    use super::NoticeRows;

    fn ended(id: &str, state: &str) -> JobRow {
        JobRow {
            id: id.into(),
            state: state.into(),
            list: "L".into(),
            task: None,
            started: 1,
            ended: Some(2),
            size: 0,
            record: "{}".into(),
            is_delivered: false,
        }
    }

    #[test]
    fn what_is_kept_of_a_tidied_job_goes_when_its_notice_was_heard() {
        let data = tempfile::tempdir().unwrap();
        let mut machine = Machine::open(data.path()).unwrap();
        let row = ended("b000001", "failed");
        let added = machine.alone(data.path(), |transaction| {
            insert_job(transaction, &row)?;
            let queue = "INSERT INTO notices (job, agent, list, queued_at) VALUES ('b000001', 'ana', 'L', 2)";
            transaction.execute(queue, [])?;
            remove_job(transaction, "b000001")
        });
        added.unwrap();
        assert_eq!(machine.job_row("b000001").unwrap(), None);
        assert_eq!(machine.told_job_row("b000001").unwrap(), Some(row));
        assert_eq!(machine.notice_rows("L", NoticeRows::Waiting).unwrap().len(), 1);
        assert_eq!(machine.acknowledge_notices(&["b000001"], 3).unwrap(), ["b000001"]);
        assert_eq!(machine.told_job_row("b000001").unwrap(), None);
        assert_eq!(machine.notice_rows("L", NoticeRows::All).unwrap(), []);
    }

    #[test]
    fn acknowledged_notice_is_forgotten_with_its_job_only() {
        let data = tempfile::tempdir().unwrap();
        let mut machine = Machine::open(data.path()).unwrap();
        let added = machine.alone(data.path(), |transaction| {
            insert_job(transaction, &ended("b000001", "finished"))?;
            for (job, heard) in [("b000001", "3"), ("b000002", "3"), ("b000003", "NULL")] {
                let queue = format!(
                    "INSERT INTO notices (job, agent, list, queued_at, acknowledged_at) VALUES ('{job}', 'ana', 'L', 2, {heard})"
                );
                transaction.execute(&queue, [])?;
            }
            Ok(())
        });
        added.unwrap();
        assert_eq!((machine.heard_notices().unwrap(), machine.forget_heard_notices().unwrap()), (1, 1));
        let left = machine.notice_rows("L", NoticeRows::All).unwrap();
        assert_eq!(left.iter().map(|row| row.job.as_str()).collect::<Vec<_>>(), ["b000001", "b000003"]);
        assert_eq!((machine.heard_notices().unwrap(), machine.forget_heard_notices().unwrap()), (0, 0));
    }
}
