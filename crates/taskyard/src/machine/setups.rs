//! What was added to which configuration file. What a record says is the business of the crate `taskyard-setup`.

use std::path::Path;

use super::bindings::key;
use super::{Machine, MachineError};

impl Machine {
    /// Returns what is kept of a file.
    pub fn setup_record(&self, file: &Path) -> Result<Option<String>, MachineError> {
        let query = "SELECT record FROM setups WHERE file = ?1";
        Ok(self.database.row(query, [key(file)], |row| row.get(0))?)
    }

    /// Keeps a record of a file in place of the one before.
    pub fn keep_setup_record(&self, file: &Path, record: &str) -> Result<(), MachineError> {
        self.database.execute("INSERT OR REPLACE INTO setups (file, record) VALUES (?1, ?2)", (key(file), record))?;
        Ok(())
    }

    /// Forgets a file.
    pub fn forget_setup_record(&self, file: &Path) -> Result<(), MachineError> {
        self.database.execute("DELETE FROM setups WHERE file = ?1", [key(file)])?;
        Ok(())
    }
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
        Machine::open(data.path())
            .unwrap()
            .database
            .batch("write", "DROP TABLE setups; PRAGMA user_version = 0")
            .unwrap();
        let machine = Machine::look(data.path()).unwrap().unwrap();
        assert_eq!(machine.setup_record(Path::new("/x")).unwrap(), None);
        let machine = Machine::open(data.path()).unwrap();
        machine.keep_setup_record(Path::new("/x"), "one").unwrap();
    }
}
