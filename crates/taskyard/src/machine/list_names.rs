//! Which directory a list's name means, if the name had to be changed to become one.
//!
//! Several names may fold into one directory. The first one that is used on this machine gets it, and the others get one with a hash of their
//! name. The names of the client are not ours to choose: they always mean the directory that the client makes of them.

use std::collections::BTreeMap;
use std::path::Path;

use taskyard_core::{BadListName, ListId};

use super::{Machine, MachineError};
use crate::sqlite::DatabaseError;

/// The table is made when it is first needed, so that releases that do not know it can use the database all the same.
const CREATION: &str = "CREATE TABLE IF NOT EXISTS list_names (
    name TEXT NOT NULL PRIMARY KEY, directory TEXT NOT NULL UNIQUE) WITHOUT ROWID";
const INSERT: &str = "INSERT OR IGNORE INTO list_names (name, directory) VALUES (?1, ?2)";
const OF_NAME: &str = "SELECT directory FROM list_names WHERE name = ?1";
/// How many digits of the hash a directory gets; more if another name has that one as well.
const DIGITS: [usize; 2] = [8, 16];

/// Why it is not known which list a name means.
#[derive(Debug, thiserror::Error)]
pub enum ListNameError {
    /// The text names no list.
    #[error(transparent)]
    Bad(#[from] BadListName),
    /// The machine's database gave no answer.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// What a lookup of a name leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// The name keeps the directory that it gets.
    Keeps,
    /// Nothing: the caller only looks, and may ask for any name.
    Nothing,
}

impl Machine {
    /// Returns the list that a name means which does not come from the client.
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

    /// Returns the list that a name means, as [`Machine::list_named`] does, if a list has the directory of that name already, under the name of
    /// the directory: it gets another one.
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

    /// Returns the list that a name of the client means. The name keeps the directory if no other has it.
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

    /// Returns the name that has a directory, or `None` if no name that had to be changed has it.
    pub(crate) fn name_of(&self, directory: &str) -> Result<Option<String>, MachineError> {
        if !self.has_names()? {
            return Ok(None);
        }
        Ok(self.database.row("SELECT name FROM list_names WHERE directory = ?1", [directory], |row| row.get(0))?)
    }

    /// Returns the names that had to be changed, by the directories they have.
    pub fn list_names(&self) -> Result<BTreeMap<String, String>, MachineError> {
        if !self.has_names()? {
            return Ok(BTreeMap::new());
        }
        let names =
            self.database.rows("SELECT directory, name FROM list_names", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(names.into_iter().collect())
    }

    /// Opens the database to look a name up, also if a newer Taskyard wrote it: what was recorded before still holds.
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

    /// Records the directory of a name, unless another process was first: the first of these that no name has, else one with a hash.
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

    /// Records that a name of the client has its directory, unless another name has it, and returns which one has.
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

/// What is recorded of a name.
#[derive(Debug, Default)]
struct Lookup {
    /// The directory that the name has.
    directory: Option<String>,
    /// Whether a name has the directory that the client would make of this one.
    is_taken: bool,
}

impl Lookup {
    /// Returns the list that the name means. It has the name of its directory, unless that is what the client makes of the name.
    fn list(&self, named: ListId) -> ListId {
        match &self.directory {
            Some(directory) if directory == named.directory() => named,
            Some(directory) => ListId::new(directory.as_str()).unwrap_or_else(|_| named.apart(DIGITS[0])),
            None if self.is_taken => named.apart(DIGITS[0]),
            None => named,
        }
    }
}

#[cfg(test)]
mod tests {
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
