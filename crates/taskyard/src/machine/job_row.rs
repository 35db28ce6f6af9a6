//! One row of the table of jobs.

use rusqlite::Row;

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

/// Reads a row of the columns that the table is asked for.
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
