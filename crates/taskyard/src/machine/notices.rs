//! The table of notices: what there is to tell agents of jobs that have ended.

use rusqlite::{Row, ToSql, params_from_iter};

use super::job_row::{JobRow, read as read_job};
use super::{Machine, MachineError};
use crate::sqlite::{Database, DatabaseError};

/// What is true of a notice that no agent needs any more.
const HEARD_AND_GONE: &str = "acknowledged_at IS NOT NULL AND job NOT IN (SELECT id FROM jobs)";

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoticeRow {
    /// The job's id.
    pub(crate) job: String,
    /// Whom it is for.
    pub(crate) agent: String,
    /// When it was queued.
    pub(crate) queued: i64,
    /// When it was last told.
    pub(crate) delivered: Option<i64>,
}

/// Which rows of a list are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoticeRows {
    /// All of them.
    All,
    /// Those that no agent has acknowledged.
    Waiting,
}

impl Machine {
    /// Returns the notices of a list, in the order in which they were queued.
    pub(crate) fn notice_rows(&self, list: &str, which: NoticeRows) -> Result<Vec<NoticeRow>, MachineError> {
        let waiting = match which {
            NoticeRows::All => "",
            NoticeRows::Waiting => "AND acknowledged_at IS NULL",
        };
        let query = format!(
            "SELECT job, agent, queued_at, delivered_at FROM notices WHERE list = ?1 {waiting} ORDER BY queued_at, job"
        );
        Ok(self.database.rows(&query, [list], read)?)
    }

    /// Records that notices are told, and returns the jobs of those that still wait.
    pub(crate) fn deliver_notices(&self, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        self.mark("UPDATE notices SET delivered_at = ?1 WHERE acknowledged_at IS NULL AND job", jobs, at)
    }

    /// Records that notices were heard, and returns the jobs of those that had still waited.
    pub(crate) fn acknowledge_notices(&self, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        let query = "UPDATE notices SET acknowledged_at = ?1, delivered_at = coalesce(delivered_at, ?1) \
                     WHERE acknowledged_at IS NULL AND job";
        let heard = self.mark(query, jobs, at)?;
        self.forget_heard()?;
        Ok(heard)
    }

    /// Returns what was kept of a job that was tidied away.
    pub(super) fn kept_for_notice(&self, job: &str) -> Result<Option<JobRow>, MachineError> {
        let query = "SELECT id, state, tidied_jobs.list, task, started, ended, size, record, delivered_at IS NOT NULL \
            FROM tidied_jobs JOIN notices ON job = id WHERE id = ?1";
        Ok(self.database.row(query, [job], read_job)?)
    }

    /// Forgets the notices that were heard and whose jobs are not there any more; returns how many.
    pub fn forget_heard_notices(&self) -> Result<usize, MachineError> {
        Ok(self.database.execute(&format!("DELETE FROM notices WHERE {HEARD_AND_GONE}"), [])?)
    }

    /// Returns how many notices were heard whose jobs are not there any more.
    pub fn heard_notices(&self) -> Result<usize, MachineError> {
        let count: i64 =
            self.database.one(&format!("SELECT count(*) FROM notices WHERE {HEARD_AND_GONE}"), [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    /// Forgets what was kept only to be told, once it was heard.
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

/// Keeps what is recorded of a job that is tidied away for as long as its notice waits; where none waits, forgets the notice.
pub(super) fn keep_for_notice(transaction: &Database, job: &str) -> Result<(), DatabaseError> {
    transaction.execute("DELETE FROM notices WHERE job = ?1 AND acknowledged_at IS NOT NULL", [job])?;
    let columns = "id, state, list, task, started, ended, size, record";
    let keep = format!(
        "INSERT OR REPLACE INTO tidied_jobs ({columns}) SELECT {columns} FROM jobs \
         WHERE id = ?1 AND id IN (SELECT job FROM notices)"
    );
    transaction.execute(&keep, [job]).map(drop)
}

/// Keeps what is known of a job of another machine for as long as its notice waits.
pub(crate) fn keep_foreign(transaction: &Database, row: &JobRow) -> Result<(), DatabaseError> {
    let query = "INSERT OR IGNORE INTO tidied_jobs (id, state, list, task, started, ended, size, record) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let JobRow { id, state, list, task, started, ended, size, record, .. } = row;
    transaction.execute(query, (id, state, list, task, started, ended, size, record)).map(drop)
}

fn read(row: &Row<'_>) -> rusqlite::Result<NoticeRow> {
    Ok(NoticeRow { job: row.get(0)?, agent: row.get(1)?, queued: row.get(2)?, delivered: row.get(3)? })
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
    fn a_notice_that_was_heard_is_forgotten_when_its_job_is_gone_and_no_other() {
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
