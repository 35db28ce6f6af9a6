//! What the file of each team last held.

use super::Memory;
use crate::teams::TeamError;

impl Memory {
    /// Returns what the file of the team in a directory last held.
    pub(in crate::teams::files) fn last_file(&self, directory: &str) -> Result<Option<Vec<u8>>, TeamError> {
        let query = "SELECT content FROM files WHERE directory = ?1";
        Ok(self.database.row(query, [directory], |row| row.get(0))?)
    }

    /// Remembers what the file of the team in a directory holds.
    pub(in crate::teams::files) fn keep_file(&self, directory: &str, content: &[u8]) -> Result<(), TeamError> {
        let query = "INSERT INTO files (directory, content) VALUES (?1, ?2)
            ON CONFLICT (directory) DO UPDATE SET content = ?2 WHERE content <> ?2";
        self.database.execute(query, (directory, content))?;
        Ok(())
    }

    /// Forgets the file of the team in a directory.
    pub(in crate::teams::files) fn forget_file(&self, directory: &str) -> Result<(), TeamError> {
        self.database.execute("DELETE FROM files WHERE directory = ?1", [directory])?;
        Ok(())
    }
}
