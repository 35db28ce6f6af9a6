//! Which directories may run commands of their own.

use std::path::{Path, PathBuf};

use super::bindings::key;
use super::{Machine, MachineError};

impl Machine {
    /// Tells whether the user trusts exactly this directory. One that cannot be resolved is not trusted.
    pub fn is_trusted(&self, directory: &Path) -> Result<bool, MachineError> {
        let Ok(directory) = resolved(directory) else { return Ok(false) };
        let query = "SELECT 1 FROM trusted WHERE directory = ?1";
        Ok(self.database.row(query, [key(&directory)], |_| Ok(()))?.is_some())
    }

    /// Trusts a directory from now on, and returns it as it is remembered: with its symbolic links resolved.
    pub fn trust(&self, directory: &Path) -> Result<PathBuf, MachineError> {
        let directory = resolved(directory)?;
        let query = "INSERT OR IGNORE INTO trusted (directory) VALUES (?1)";
        self.database.execute(query, [key(&directory)])?;
        Ok(directory)
    }

    /// Trusts a directory no longer, and returns whether it was trusted.
    pub fn distrust(&self, directory: &Path) -> Result<bool, MachineError> {
        let directory = resolved(directory)?;
        let query = "DELETE FROM trusted WHERE directory = ?1";
        Ok(self.database.execute(query, [key(&directory)])? > 0)
    }
}

fn resolved(directory: &Path) -> Result<PathBuf, MachineError> {
    directory.canonicalize().map_err(|source| MachineError::Io {
        doing: "cannot resolve",
        path: directory.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::Machine;

    #[test]
    fn trust_is_given_and_taken_away() {
        let (data, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let machine = Machine::open(data.path()).unwrap();
        assert!(!machine.is_trusted(project.path()).unwrap());
        machine.trust(project.path()).unwrap();
        machine.trust(project.path()).unwrap();
        assert!(Machine::look(data.path()).unwrap().unwrap().is_trusted(project.path()).unwrap());
        assert!(machine.distrust(project.path()).unwrap());
        assert!(!machine.distrust(project.path()).unwrap());
        assert!(!machine.is_trusted(project.path()).unwrap());
    }

    #[test]
    fn trust_is_for_one_directory_whatever_way_leads_there() {
        let (data, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (project, link) = (place.path().join("project"), place.path().join("link"));
        std::fs::create_dir_all(project.join("below")).unwrap();
        std::os::unix::fs::symlink(&project, &link).unwrap();
        let machine = Machine::open(data.path()).unwrap();
        machine.trust(&link).unwrap();
        assert!(machine.is_trusted(&project).unwrap());
        assert!(!machine.is_trusted(&project.join("below")).unwrap());
        assert!(!machine.is_trusted(place.path()).unwrap());
        // What stands in the place of a trusted directory's link is another directory.
        std::fs::remove_file(&link).unwrap();
        std::fs::create_dir(&link).unwrap();
        assert!(!machine.is_trusted(&link).unwrap());
    }

    #[test]
    fn a_database_from_before_there_was_trust_holds_none() {
        let data = tempfile::tempdir().unwrap();
        Machine::open(data.path())
            .unwrap()
            .database
            .batch("write", "DROP TABLE trusted; PRAGMA user_version = 0")
            .unwrap();
        let machine = Machine::look(data.path()).unwrap().unwrap();
        assert!(!machine.is_trusted(data.path()).unwrap());
    }
}
