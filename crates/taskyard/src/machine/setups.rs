//! What was added to which configuration file. What a record says is the business of [`crate::setup`].

use std::path::Path;

use rusqlite::OptionalExtension as _;

use super::{Machine, MachineError};

impl Machine {
    /// Returns what is kept of a file.
    pub(crate) fn setup_record(&self, file: &Path) -> Result<Option<String>, MachineError> {
        let mut statement = match self.connection.prepare("SELECT record FROM setups WHERE file = ?1") {
            Ok(statement) => statement,
            // A database from before there were setups knows of none.
            Err(error) if error.to_string().contains("no such table") => return Ok(None),
            Err(error) => return Err(self.failed("read")(error)),
        };
        statement.query_row([key(file)], |row| row.get(0)).optional().map_err(self.failed("read"))
    }

    /// Keeps a record of a file in place of the one before.
    pub(crate) fn keep_setup_record(&self, file: &Path, record: &str) -> Result<(), MachineError> {
        let query = "INSERT OR REPLACE INTO setups (file, record) VALUES (?1, ?2)";
        self.connection.execute(query, (key(file), record)).map_err(self.failed("write"))?;
        Ok(())
    }

    /// Forgets a file.
    pub(crate) fn forget_setup_record(&self, file: &Path) -> Result<(), MachineError> {
        self.connection.execute("DELETE FROM setups WHERE file = ?1", [key(file)]).map_err(self.failed("write"))?;
        Ok(())
    }
}

/// Returns the bytes of a path: not every path is text.
fn key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Machine;

    #[test]
    fn a_record_is_kept_replaced_and_forgotten() {
        let data = tempfile::tempdir().unwrap();
        let machine = Machine::open(data.path()).unwrap();
        let file = Path::new("/x/settings.json");
        assert_eq!(machine.setup_record(file).unwrap(), None);
        machine.keep_setup_record(file, "one").unwrap();
        machine.keep_setup_record(file, "two").unwrap();
        assert_eq!(machine.setup_record(file).unwrap().as_deref(), Some("two"));
        machine.forget_setup_record(file).unwrap();
        assert_eq!(machine.setup_record(file).unwrap(), None);
    }

    #[test]
    fn a_database_from_before_there_were_setups_knows_of_none() {
        let data = tempfile::tempdir().unwrap();
        Machine::open(data.path()).unwrap().connection.execute_batch("DROP TABLE setups").unwrap();
        let machine = Machine::look(data.path()).unwrap().unwrap();
        assert_eq!(machine.setup_record(Path::new("/x")).unwrap(), None);
    }
}
