//! Which list a directory is bound to.

#[cfg(unix)]
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Row;

use super::{Machine, MachineError};

/// A directory whose work belongs to one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The directory that was bound: the one asked for, or one above it.
    pub directory: PathBuf,
    /// The list's name.
    pub list: String,
}

impl Machine {
    /// Returns the binding of a directory, or of the nearest one above it that has one.
    pub fn binding(&self, directory: &Path) -> Result<Option<Binding>, MachineError> {
        for ancestor in directory.ancestors() {
            let query = "SELECT list FROM bindings WHERE directory = ?1";
            if let Some(list) = self.database.row(query, [key(ancestor)], |row| row.get(0))? {
                return Ok(Some(Binding { directory: ancestor.to_owned(), list }));
            }
        }
        Ok(None)
    }

    /// Returns every binding there is.
    pub fn bindings(&self) -> Result<Vec<Binding>, MachineError> {
        let binding = |row: &Row<'_>| {
            let directory: Vec<u8> = row.get(0)?;
            Ok(Binding { directory: path_of(directory), list: row.get(1)? })
        };
        Ok(self.database.rows("SELECT directory, list FROM bindings ORDER BY directory", [], binding)?)
    }

    /// Binds a directory, and everything below it, to a list.
    pub fn bind(&self, directory: &Path, list: &str) -> Result<(), MachineError> {
        let query = "INSERT OR REPLACE INTO bindings (directory, list) VALUES (?1, ?2)";
        self.database.execute(query, (key(directory), list))?;
        self.forget_uses(directory)
    }

    /// Takes the binding of exactly this directory away, and returns whether there was one.
    pub fn unbind(&self, directory: &Path) -> Result<bool, MachineError> {
        Ok(self.database.execute("DELETE FROM bindings WHERE directory = ?1", [key(directory)])? > 0)
    }
}

/// Returns the bytes of a path: not every path is text.
pub(super) fn key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Returns the path that has these bytes.
pub(super) fn path_of(bytes: Vec<u8>) -> PathBuf {
    #[cfg(unix)]
    let path = std::ffi::OsString::from_vec(bytes);
    #[cfg(not(unix))]
    let path = String::from_utf8_lossy(&bytes).into_owned();
    PathBuf::from(path)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Binding, Machine};

    #[test]
    fn a_directory_has_the_binding_of_the_nearest_one_above() {
        let data = tempfile::tempdir().unwrap();
        assert!(Machine::look(data.path()).unwrap().is_none());
        let machine = Machine::open(data.path()).unwrap();
        machine.bind(Path::new("/a"), "outer").unwrap();
        machine.bind(Path::new("/a/b"), "inner").unwrap();
        let machine = Machine::look(data.path()).unwrap().unwrap();
        let bound = |path: &str| machine.binding(Path::new(path)).unwrap();
        let binding =
            |directory: &str, list: &str| Some(Binding { directory: PathBuf::from(directory), list: list.into() });
        assert_eq!(bound("/a/b/c"), binding("/a/b", "inner"));
        assert_eq!(bound("/a/x"), binding("/a", "outer"));
        assert_eq!(bound("/b"), None);
        let all: Vec<_> = machine.bindings().unwrap().into_iter().map(Some).collect();
        assert_eq!(all, [binding("/a", "outer"), binding("/a/b", "inner")]);
    }

    #[test]
    fn a_binding_can_be_replaced_and_taken_away() {
        let data = tempfile::tempdir().unwrap();
        let machine = Machine::open(data.path()).unwrap();
        machine.bind(Path::new("/a"), "one").unwrap();
        machine.bind(Path::new("/a"), "two").unwrap();
        assert_eq!(machine.binding(Path::new("/a")).unwrap().unwrap().list, "two");
        assert!(machine.unbind(Path::new("/a")).unwrap());
        assert!(!machine.unbind(Path::new("/a")).unwrap());
    }
}
