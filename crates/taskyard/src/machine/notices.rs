//! The table of notices: what there is to tell agents of jobs that have ended.

use rusqlite::{Row, ToSql, params_from_iter};

use super::{Machine, MachineError};

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
    /// Those nobody has acknowledged.
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
        let mut statement = match self.connection.prepare(&query) {
            Ok(statement) => statement,
            // A database from before there were notices holds none.
            Err(error) if error.to_string().contains("no such table") => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read")(error)),
        };
        let rows = statement.query_map([list], read).map_err(self.failed("read"))?;
        rows.collect::<Result<_, _>>().map_err(self.failed("read"))
    }

    /// Records that notices are told, and returns the jobs of those that still wait.
    pub(crate) fn deliver_notices(&self, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        self.mark("UPDATE notices SET delivered_at = ?1 WHERE acknowledged_at IS NULL AND job", jobs, at)
    }

    /// Records that notices were heard, and returns the jobs of those that had still waited.
    pub(crate) fn acknowledge_notices(&self, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        let query = "UPDATE notices SET acknowledged_at = ?1, delivered_at = coalesce(delivered_at, ?1) \
                     WHERE acknowledged_at IS NULL AND job";
        self.mark(query, jobs, at)
    }

    fn mark(&self, query: &str, jobs: &[&str], at: i64) -> Result<Vec<String>, MachineError> {
        let places = vec!["?"; jobs.len()].join(", ");
        let values = std::iter::once(&at as &dyn ToSql).chain(jobs.iter().map(|job| job as &dyn ToSql));
        let attempt = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare(&format!("{query} IN ({places}) RETURNING job"))?;
            statement.query_map(params_from_iter(values), |row| row.get(0))?.collect()
        };
        attempt().map_err(self.failed("write"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<NoticeRow> {
    Ok(NoticeRow { job: row.get(0)?, agent: row.get(1)?, queued: row.get(2)?, delivered: row.get(3)? })
}
