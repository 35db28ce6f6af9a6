//! The table of jobs whose end may have to open their tasks again, from their start until that is settled.

use rusqlite::Transaction;

use super::{Machine, MachineError};

impl Machine {
    /// Returns the jobs whose end may have to open a task again.
    pub(crate) fn reopenings(&self) -> Result<Vec<String>, MachineError> {
        let mut statement = match self.connection.prepare("SELECT job FROM reopenings") {
            Ok(statement) => statement,
            // A database from before there were any holds none.
            Err(error) if error.to_string().contains("no such table") => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read")(error)),
        };
        let rows = statement.query_map([], |row| row.get(0)).map_err(self.failed("read"))?;
        rows.collect::<Result<_, _>>().map_err(self.failed("read"))
    }
}

/// Adds a job whose end may have to open its task again.
pub(crate) fn insert_reopening(transaction: &Transaction<'_>, job: &str) -> rusqlite::Result<()> {
    transaction.execute("INSERT OR REPLACE INTO reopenings (job) VALUES (?1)", [job]).map(drop)
}

/// Takes a job away of which that is settled; tells whether none is left.
pub(crate) fn remove_reopening(transaction: &Transaction<'_>, job: &str) -> rusqlite::Result<bool> {
    transaction.execute("DELETE FROM reopenings WHERE job = ?1", [job])?;
    transaction.query_row("SELECT NOT EXISTS (SELECT 1 FROM reopenings)", [], |row| row.get(0))
}
