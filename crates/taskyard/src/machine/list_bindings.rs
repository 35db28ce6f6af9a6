//! Records about directories: their lists, the directories of list names, trust, and what setup added.

use std::collections::BTreeMap;
#[cfg(unix)]
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rusqlite::Row;
use taskyard_core::{BadListName, ListId};

use super::{Machine, MachineError};
use crate::machine::machine_database::MACHINE;
use crate::sqlite::{Database, DatabaseError};

/// A directory bound to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The bound directory: the requested one, or one of its parents.
    pub directory: PathBuf,
    /// The list's name.
    pub list: String,
}

impl Machine {
    /// Returns the binding of a directory or of its nearest bound parent.
    pub fn binding(&self, directory: &Path) -> Result<Option<Binding>, MachineError> {
        for ancestor in directory.ancestors() {
            let query = "SELECT list FROM bindings WHERE directory = ?1";
            if let Some(list) = self.database.row(query, [key(ancestor)], |row| row.get(0))? {
                return Ok(Some(Binding { directory: ancestor.to_owned(), list }));
            }
        }
        Ok(None)
    }

    /// Returns all bindings.
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

    /// Removes the binding of exactly this directory, and returns whether there was one.
    pub fn unbind(&self, directory: &Path) -> Result<bool, MachineError> {
        Ok(self.database.execute("DELETE FROM bindings WHERE directory = ?1", [key(directory)])? > 0)
    }
}

/// Returns the bytes of a path, since a path need not be valid text.
pub(super) fn key(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

pub(super) fn path_of(bytes: Vec<u8>) -> PathBuf {
    #[cfg(unix)]
    let path = std::ffi::OsString::from_vec(bytes);
    #[cfg(not(unix))]
    let path = String::from_utf8_lossy(&bytes).into_owned();
    PathBuf::from(path)
}

/// The table is created when first needed, so that releases that do not know it can still use the database.
const CREATION: &str = "CREATE TABLE IF NOT EXISTS list_names (
    name TEXT NOT NULL PRIMARY KEY, directory TEXT NOT NULL UNIQUE) WITHOUT ROWID";
const INSERT: &str = "INSERT OR IGNORE INTO list_names (name, directory) VALUES (?1, ?2)";
const OF_NAME: &str = "SELECT directory FROM list_names WHERE name = ?1";
/// The number of hash digits appended to a directory name; the longer one is used if the shorter one is taken.
const DIGITS: [usize; 2] = [8, 16];

/// Why we could not determine the list that a name refers to.
#[derive(Debug, thiserror::Error)]
pub enum ListNameError {
    /// The text is not a valid list name.
    #[error(transparent)]
    Bad(#[from] BadListName),
    /// The machine's database could not be read or written.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// Whether resolving a name is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// The directory is recorded for the name.
    Keeps,
    /// Nothing is recorded: the caller only looks the name up, and may pass any name.
    Nothing,
}

impl Machine {
    /// Returns the list for a name that does not come from the client.
    pub fn list_named(data: &Path, name: &str, recording: Recording) -> Result<ListId, ListNameError> {
        let list = ListId::new(name)?;
        if list.is_plain() {
            return Ok(list);
        }
        let machine = Self::to_look_up(data)?;
        let found = machine.as_ref().map_or(Ok(Lookup::default()), |machine| machine.lookup(&list))?;
        if found.directory.is_some() || recording == Recording::Nothing {
            return Ok(found.list(list));
        }
        match Self::open(data).and_then(|machine| machine.keep_name(&list, std::slice::from_ref(&list))) {
            Err(error) if error.is_read_only() => Ok(found.list(list)),
            kept => Ok(kept?),
        }
    }

    /// Like [`Machine::list_named`], for a name whose directory already belongs to a list named after that directory:
    /// the list gets another directory.
    pub fn list_named_apart(data: &Path, name: &str, recording: Recording) -> Result<ListId, ListNameError> {
        let list = ListId::new(name)?;
        if recording == Recording::Nothing {
            return Ok(list.apart(DIGITS[0]));
        }
        match Self::open(data).and_then(|machine| machine.keep_name(&list, &[])) {
            Err(error) if error.is_read_only() => Ok(list.apart(DIGITS[0])),
            kept => Ok(kept?),
        }
    }

    /// Returns the list for a name that comes from the client. The name gets the directory unless another name has it.
    pub fn client_list_named(data: &Path, name: &str) -> Result<ListId, ListNameError> {
        let list = ListId::new(name)?;
        if list.is_plain() {
            return Ok(list);
        }
        let machine = Self::to_look_up(data)?;
        let owner = match machine.map(|machine| machine.name_of(list.directory())).transpose()?.flatten() {
            Some(owner) => Some(owner),
            None => match Self::open(data).and_then(|machine| machine.keep_client_name(&list)) {
                Err(error) if error.is_read_only() => None,
                kept => kept?,
            },
        };
        Ok(if owner.is_none_or(|owner| owner == list.as_str()) { list } else { list.plain() })
    }

    /// Returns the name recorded for a directory; `None` if the directory's list needs no changed name.
    pub(crate) fn name_of(&self, directory: &str) -> Result<Option<String>, MachineError> {
        if !self.has_names()? {
            return Ok(None);
        }
        Ok(self.database.row("SELECT name FROM list_names WHERE directory = ?1", [directory], |row| row.get(0))?)
    }

    /// Returns the names that differ from their directories, keyed by directory.
    pub fn list_names(&self) -> Result<BTreeMap<String, String>, MachineError> {
        if !self.has_names()? {
            return Ok(BTreeMap::new());
        }
        let names =
            self.database.rows("SELECT directory, name FROM list_names", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(names.into_iter().collect())
    }

    /// Opens the database to look up a name, even if a newer Taskyard wrote it: earlier records are still valid.
    fn to_look_up(data: &Path) -> Result<Option<Self>, MachineError> {
        match Self::read(data) {
            Err(MachineError::Database(DatabaseError::Newer { .. })) => Ok(Self::glance(data)),
            looked => looked,
        }
    }

    fn lookup(&self, list: &ListId) -> Result<Lookup, MachineError> {
        if !self.has_names()? {
            return Ok(Lookup::default());
        }
        let directory = self.database.row(OF_NAME, [list.as_str()], |row| row.get(0))?;
        Ok(Lookup { directory, is_taken: self.name_of(list.directory())?.is_some() })
    }

    /// Records the directory of a name unless another process already did: the first of `wanted` that is free,
    /// otherwise one with a hash.
    fn keep_name(&self, list: &ListId, wanted: &[ListId]) -> Result<ListId, MachineError> {
        let kept = self.database.transact(|database| {
            database.batch("create", CREATION)?;
            for candidate in wanted.iter().cloned().chain(DIGITS.map(|digits| list.apart(digits))) {
                database.execute(INSERT, (list.as_str(), candidate.directory()))?;
                let directory = database.row(OF_NAME, [list.as_str()], |row| row.get(0))?;
                if directory.is_some() {
                    return Ok(Lookup { directory, is_taken: true }.list(list.clone()));
                }
            }
            Ok(list.apart(DIGITS[1]))
        });
        Ok(kept?)
    }

    /// Records the directory of a client's name unless another name has it, and returns the name that has it.
    fn keep_client_name(&self, list: &ListId) -> Result<Option<String>, MachineError> {
        self.database.transact(|database| {
            database.batch("create", CREATION)?;
            database.execute(INSERT, (list.as_str(), list.directory()))
        })?;
        self.name_of(list.directory())
    }

    fn has_names(&self) -> Result<bool, MachineError> {
        let has_names = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'list_names')";
        Ok(self.database.one(has_names, [], |row| row.get(0))?)
    }
}

#[derive(Debug, Default)]
struct Lookup {
    /// The directory recorded for the name.
    directory: Option<String>,
    /// Whether the directory that the client would use for the name belongs to another name.
    is_taken: bool,
}

impl Lookup {
    /// Returns the list for the name. It is named after its directory unless that is the one the client derives from
    /// the name.
    fn list(&self, named: ListId) -> ListId {
        match &self.directory {
            Some(directory) if directory == named.directory() => named,
            Some(directory) => ListId::new(directory.as_str()).unwrap_or_else(|_| named.apart(DIGITS[0])),
            None if self.is_taken => named.apart(DIGITS[0]),
            None => named,
        }
    }
}

impl Machine {
    /// Returns whether the user trusts exactly this directory. A directory that cannot be resolved is not trusted.
    pub fn is_trusted(&self, directory: &Path) -> Result<bool, MachineError> {
        let Ok(directory) = resolved(directory) else { return Ok(false) };
        let query = "SELECT 1 FROM trusted WHERE directory = ?1";
        Ok(self.database.row(query, [key(&directory)], |_| Ok(()))?.is_some())
    }

    /// Trusts a directory, and returns it as it is recorded: with its symbolic links resolved.
    pub fn trust(&self, directory: &Path) -> Result<PathBuf, MachineError> {
        let directory = resolved(directory)?;
        let query = "INSERT OR IGNORE INTO trusted (directory) VALUES (?1)";
        self.database.execute(query, [key(&directory)])?;
        Ok(directory)
    }

    /// Stops trusting a directory, and returns whether it was trusted.
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

impl Machine {
    /// Returns the setup record of a file; `None` if there is none.
    pub fn setup_record(&self, file: &Path) -> Result<Option<String>, MachineError> {
        let query = "SELECT record FROM setups WHERE file = ?1";
        Ok(self.database.row(query, [key(file)], |row| row.get(0))?)
    }

    /// Saves the setup record of a file, replacing an earlier one.
    pub fn keep_setup_record(&self, file: &Path, record: &str) -> Result<(), MachineError> {
        self.database.execute("INSERT OR REPLACE INTO setups (file, record) VALUES (?1, ?2)", (key(file), record))?;
        Ok(())
    }

    /// Deletes the setup record of a file.
    pub fn forget_setup_record(&self, file: &Path) -> Result<(), MachineError> {
        self.database.execute("DELETE FROM setups WHERE file = ?1", [key(file)])?;
        Ok(())
    }
}

/// Copies the database of a data directory to a new private file; returns whether there is one.
pub(crate) fn copy_machine(data: &Path, copy: &Path) -> Result<bool, DatabaseError> {
    match Database::look(data, &MACHINE)? {
        Some(database) => database.copy_to(copy).map(|()| true),
        None => Ok(false),
    }
}

impl Machine {
    /// Copies the bindings of another machine for directories that exist here and are not bound, and the lists of its
    /// repositories. Returns the directories that were bound.
    pub(crate) fn take_bindings(&self, from: &Self) -> Result<Vec<PathBuf>, MachineError> {
        let there = self.bindings()?;
        let mut bound = Vec::new();
        for binding in from.bindings()? {
            let is_bound = there.iter().any(|there| there.directory == binding.directory);
            if !is_bound && binding.directory.is_dir() {
                self.bind(&binding.directory, &binding.list)?;
                bound.push(binding.directory);
            }
        }
        self.take_repositories(from)?;
        Ok(bound)
    }
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

#[cfg(test)]
mod list_names_tests {
    use std::thread;

    use super::{Machine, Recording};

    #[test]
    fn first_name_keeps_the_directory_and_others_get_a_hash() {
        let data = tempfile::tempdir().unwrap();
        let list = |name: &str| Machine::list_named(data.path(), name, Recording::Keeps).unwrap();
        assert_eq!(list("plain_1").directory(), "plain_1");
        assert!(Machine::look(data.path()).unwrap().is_none(), "a plain name needs no record");
        let tokyo = list("东京");
        assert_eq!((tokyo.as_str(), tokyo.directory()), ("东京", "--"));
        let beijing = list("北京");
        assert!(beijing.is_plain() && beijing.directory().len() == 11, "{beijing:?}");
        for _ in 0..2 {
            assert_eq!((list("东京"), list("北京"), list("--").directory()), (tokyo.clone(), beijing.clone(), "--"));
        }
        assert_eq!(list(beijing.as_str()), beijing);
        let machine = Machine::look(data.path()).unwrap().unwrap();
        assert_eq!(machine.name_of("--").unwrap().as_deref(), Some("东京"));
        assert_eq!(machine.name_of(beijing.directory()).unwrap().as_deref(), Some("北京"));
    }

    #[test]
    fn names_of_the_client_fold_as_the_client_folds_them() {
        let data = tempfile::tempdir().unwrap();
        let client = |name: &str| Machine::client_list_named(data.path(), name).unwrap();
        let other = |name: &str| Machine::list_named(data.path(), name, Recording::Keeps).unwrap();
        assert_eq!((client("Bär").directory(), client("Bür").directory()), ("B-r", "B-r"));
        assert_eq!(client("Bür").as_str(), "B-r", "the name is another's");
        assert_eq!(other("Bär").directory(), "B-r");
        assert_ne!(other("Bür").directory(), "B-r");
        assert_eq!(client("Bür").directory(), "B-r");
    }

    #[test]
    fn lookup_without_recording_leaves_nothing() {
        let data = tempfile::tempdir().unwrap();
        let look = |name: &str| Machine::list_named(data.path(), name, Recording::Nothing).unwrap();
        assert_eq!(look("a/b").directory(), "a-b");
        assert_eq!(look("a;b").directory(), "a-b");
        assert!(Machine::look(data.path()).unwrap().is_none());
        Machine::list_named(data.path(), "a;b", Recording::Keeps).unwrap();
        assert_ne!(look("a/b").directory(), "a-b");
        assert_eq!(look("a/b"), Machine::list_named(data.path(), "a/b", Recording::Keeps).unwrap());
    }

    #[test]
    fn names_that_race_get_two_lists() {
        for round in 0..20 {
            let data = tempfile::tempdir().unwrap();
            let lists = thread::scope(|scope| {
                let threads: Vec<_> = ["东京", "北京", "南京", "西京"]
                    .map(|name| scope.spawn(|| Machine::list_named(data.path(), name, Recording::Keeps).unwrap()))
                    .into();
                let joined = threads.into_iter().map(|thread| thread.join().unwrap().directory().to_owned());
                joined.collect::<std::collections::BTreeSet<_>>()
            });
            assert_eq!(lists.len(), 4, "round {round}: {lists:?}");
            assert!(lists.contains("--"));
        }
    }
}

#[cfg(test)]
mod trust_tests {
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
        // A directory that replaces the link to a trusted one is a different directory.
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

#[cfg(test)]
mod setups_tests {
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
