//! The table of jobs whose end may have to open their tasks again, from their start until that is settled.

use super::{Machine, MachineError};
use crate::sqlite::{Database, DatabaseError};

impl Machine {
    /// Returns the jobs whose end may have to open a task again.
    pub(crate) fn reopenings(&self) -> Result<Vec<String>, MachineError> {
        Ok(self.database.rows("SELECT job FROM reopenings", [], |row| row.get(0))?)
    }
}

/// Adds a job whose end may have to open its task again.
pub(crate) fn insert_reopening(transaction: &Database, job: &str) -> Result<(), DatabaseError> {
    transaction.execute("INSERT OR REPLACE INTO reopenings (job) VALUES (?1)", [job]).map(drop)
}

/// Takes a job away of which that is settled; tells whether none is left.
pub(crate) fn remove_reopening(transaction: &Database, job: &str) -> Result<bool, DatabaseError> {
    transaction.execute("DELETE FROM reopenings WHERE job = ?1", [job])?;
    transaction.one("SELECT NOT EXISTS (SELECT 1 FROM reopenings)", [], |row| row.get(0))
}
