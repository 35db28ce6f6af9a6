//! Records which list each repository has on this machine, and which directories use a list.
//!
//! A repository is identified by the id in its common git directory. The first repository to use a name keeps it; the
//! next one gets a name that includes its parent directory. Existing tasks never move: a list created before these
//! records remains the list of every repository that would have used it then.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::Row;
use taskyard_core::ListId;
use taskyard_core::rules::lists::repository_names;

use super::checkout::{Checkout, id_at};
use super::{Machine, MachineError};
use crate::machine::list_bindings::{key, path_of};
use crate::sqlite::{Database, DatabaseError};
use crate::system;

/// The tables are created when first needed, so that releases that do not know them can still use the database.
const CREATION: &str = "
    CREATE TABLE IF NOT EXISTS repositories (
        id TEXT NOT NULL PRIMARY KEY, root BLOB NOT NULL, list TEXT NOT NULL, store TEXT NOT NULL, since INTEGER NOT NULL,
        inherited INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS list_directories (
        directory BLOB NOT NULL PRIMARY KEY, list TEXT NOT NULL, store TEXT NOT NULL, repository TEXT) WITHOUT ROWID;";
const HAS_TABLES: &str = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'list_directories')";

/// The list of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryList {
    /// The name of the list.
    pub list: String,
    /// Whether this is recorded. If not, it is the list that the repository gets with its first write.
    pub is_recorded: bool,
    /// The recorded location of the repository, if it has moved since.
    pub moved_from: Option<PathBuf>,
    /// The root of another repository that has the plain name or shares the list.
    pub beside: Option<PathBuf>,
}

/// The use of a list in a directory, recorded with a write.
#[derive(Clone, Debug)]
pub struct ListUse {
    /// The top of a checkout, or the directory that has a list of its own.
    pub directory: PathBuf,
    /// The checkout, if the directory is in one.
    pub checkout: Option<Checkout>,
    /// The name of the list.
    pub list: String,
    /// The address of the store.
    pub store: String,
    /// The list of the repository as a whole, if the directory is in one; it may differ from the directory's.
    pub of_repository: Option<String>,
    /// Whether to bind the directory to the list, because it used the list before and the list has tasks.
    pub binds: bool,
}

/// The outcome of recording a use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UseRecorded {
    /// It was already recorded.
    Before,
    /// It was recorded now.
    Now,
    /// Another repository got the list in the meantime.
    Taken,
}

#[derive(Clone, Debug)]
struct Recorded {
    id: String,
    root: PathBuf,
    list: String,
    store: String,
    since: i64,
    /// Whether the list had tasks before it was recorded, so that other repositories may have used it as well.
    inherited: bool,
}

impl Machine {
    /// Returns the list of a repository with this name, which is or would be in the given store. `has_tasks` returns
    /// whether a list has any.
    pub fn list_of_repository(
        &self,
        checkout: &Checkout,
        name: &str,
        store: &str,
        has_tasks: &dyn Fn(&str) -> bool,
    ) -> Result<RepositoryList, MachineError> {
        if !self.has_repositories()? {
            return Ok(RepositoryList::first(name));
        }
        Ok(list_of(&self.database, checkout, name, store, has_tasks)?)
    }

    /// Returns the directories that use a list, sorted by path: those bound to it, and those in which it was written
    /// to. `store` is `None` for lists of this name in any store. Directories that no longer exist are left out.
    pub fn directories_of(&self, list: &ListId, store: Option<&str>) -> Result<BTreeSet<PathBuf>, MachineError> {
        let bindings = self.bindings()?;
        let is_it = |name: &str| ListId::new(name).is_ok_and(|named| named == *list);
        let bound = bindings.iter().filter(|binding| is_it(&binding.list));
        let mut directories: BTreeSet<PathBuf> = bound.map(|binding| binding.directory.clone()).collect();
        if self.has_repositories()? {
            let query = "SELECT directory, list FROM list_directories WHERE ?1 IS NULL OR store = ?1";
            let pair = |row: &Row<'_>| Ok((path_of(row.get(0)?), row.get(1)?));
            let used: Vec<(PathBuf, String)> = self.database.rows(query, [store], pair)?;
            directories.extend(used.into_iter().filter(|(_, name)| is_it(name)).map(|(path, _)| path));
        }
        directories.extend(self.repositories_of(list, store)?);
        directories.retain(|directory| directory.is_dir());
        Ok(directories)
    }

    /// Returns the roots of the repositories that have a list, sorted by path. Those that no longer exist or are bound
    /// to another list are left out.
    pub fn repositories_of(&self, list: &ListId, store: Option<&str>) -> Result<BTreeSet<PathBuf>, MachineError> {
        if !self.has_repositories()? {
            return Ok(BTreeSet::new());
        }
        let is_it = |name: &str| ListId::new(name).is_ok_and(|named| named == *list);
        let bindings = self.bindings()?;
        let is_bound_elsewhere =
            |root: &Path| bindings.iter().any(|binding| binding.directory == root && !is_it(&binding.list));
        let mut recorded = self.database.rows(&format!("{SELECT} WHERE ?1 IS NULL OR store = ?1"), [store], read)?;
        recorded.retain(|found| is_it(&found.list) && found.is_there() && !is_bound_elsewhere(&found.root));
        Ok(recorded.into_iter().map(|found| found.root).collect())
    }

    /// Returns the list that was last written to in exactly this directory.
    pub fn list_used_in(&self, directory: &Path) -> Result<Option<String>, MachineError> {
        if !self.has_repositories()? {
            return Ok(None);
        }
        let query = "SELECT list FROM list_directories WHERE directory = ?1";
        Ok(self.database.row(query, [key(directory)], |row| row.get(0))?)
    }

    /// Returns whether a list belongs to another repository alone, because it had no tasks when that one got it.
    pub fn is_of_another(&self, checkout: &Checkout, list: &str, store: &str) -> Result<bool, MachineError> {
        Ok(self.has_repositories()? && other_owner(&self.database, checkout, list, store)?.is_some())
    }

    /// Records that a list is written to in a directory, unless that is recorded already. If the database is read-only,
    /// nothing is recorded and the call succeeds.
    pub fn record_use(
        data: &Path,
        used: &ListUse,
        has_tasks: &dyn Fn(&str) -> bool,
    ) -> Result<UseRecorded, MachineError> {
        if let Some(machine) = Self::read(data)?
            && machine.is_recorded(used)?
        {
            return Ok(UseRecorded::Before);
        }
        match Self::open(data).and_then(|machine| machine.record(used, has_tasks)) {
            Err(error) if error.is_read_only() => Ok(UseRecorded::Before),
            recorded => recorded,
        }
    }

    /// Makes every directory and repository that uses a list use the one named `to`, including the records of jobs, and
    /// binds directories outside git, whose list would otherwise be named after them. Returns the number of
    /// directories.
    pub fn rename_uses(&self, from: &ListId, to: &ListId, store: &str) -> Result<usize, MachineError> {
        let directories = self.directories_of(from, Some(store))?;
        let is_it = |name: &String| ListId::new(name.as_str()).is_ok_and(|named| named == *from);
        let renamed = self.database.transact(|database| {
            database.batch("create", CREATION)?;
            for directory in directories.iter().filter(|directory| Checkout::around(directory).is_none()) {
                let query = "INSERT OR IGNORE INTO bindings (directory, list) VALUES (?1, ?2)";
                database.execute(query, (key(directory), to.as_str()))?;
            }
            for table in ["bindings", "repositories", "list_directories", "jobs", "tidied_jobs", "notices"] {
                let names: BTreeSet<String> =
                    database.rows(&format!("SELECT list FROM {table}"), [], |row| row.get(0))?.into_iter().collect();
                for name in names.iter().filter(|name| is_it(name)) {
                    let query = format!("UPDATE {table} SET list = ?1 WHERE list = ?2");
                    database.execute(&query, [to.as_str(), name.as_str()])?;
                }
            }
            Ok(directories.len())
        });
        Ok(renamed?)
    }

    /// Copies another machine's records of repositories that exist here and are not recorded yet.
    pub(super) fn take_repositories(&self, from: &Self) -> Result<(), MachineError> {
        if !from.has_repositories()? {
            return Ok(());
        }
        let recorded = from.database.rows(SELECT, [], read)?;
        self.database.transact(|database| {
            database.batch("create", CREATION)?;
            for found in recorded.iter().filter(|found| found.is_there()) {
                let Recorded { id, root, list, store, since, inherited } = found;
                let query = "INSERT OR IGNORE INTO repositories (id, root, list, store, since, inherited) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                database.execute(query, (id, key(root), list, store, since, inherited))?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Deletes the recorded uses of a directory and those below it, because its binding has changed.
    pub(super) fn forget_uses(&self, directory: &Path) -> Result<(), MachineError> {
        if self.has_repositories()? {
            let below = self.database.rows("SELECT directory FROM list_directories", [], |row| row.get(0))?;
            for used in below.into_iter().map(path_of).filter(|used| used.starts_with(directory)) {
                self.database.execute("DELETE FROM list_directories WHERE directory = ?1", [key(&used)])?;
            }
        }
        Ok(())
    }

    fn has_repositories(&self) -> Result<bool, MachineError> {
        Ok(self.database.one(HAS_TABLES, [], |row| row.get(0))?)
    }

    fn is_recorded(&self, used: &ListUse) -> Result<bool, MachineError> {
        if used.binds || self.list_used_in(&used.directory)?.as_deref() != Some(&used.list) {
            return Ok(false);
        }
        let (Some(checkout), Some(list)) = (&used.checkout, &used.of_repository) else { return Ok(true) };
        let recorded = known(&self.database, checkout)?;
        Ok(recorded.is_some_and(|found| found.list == *list && found.root == checkout.root))
    }

    fn record(&self, used: &ListUse, has_tasks: &dyn Fn(&str) -> bool) -> Result<UseRecorded, MachineError> {
        let recorded = self.database.transact(|database| {
            database.batch("create", CREATION)?;
            let repository = match (&used.checkout, &used.of_repository) {
                (Some(checkout), Some(list)) => {
                    let id = record_repository(database, checkout, list, &used.store, has_tasks)?;
                    if id.is_none() && *list == used.list {
                        return Ok(UseRecorded::Taken);
                    }
                    id
                }
                (Some(checkout), None) => Some(checkout.id().unwrap_or_else(|| nameless(checkout))),
                (None, _) => None,
            };
            let query =
                "INSERT OR REPLACE INTO list_directories (directory, list, store, repository) VALUES (?1, ?2, ?3, ?4)";
            database.execute(query, (key(&used.directory), &used.list, &used.store, repository))?;
            if used.binds {
                let query = "INSERT OR IGNORE INTO bindings (directory, list) VALUES (?1, ?2)";
                database.execute(query, (key(&used.directory), &used.list))?;
            }
            Ok(UseRecorded::Now)
        });
        Ok(recorded?)
    }
}

impl RepositoryList {
    /// Returns the list of a repository on a machine on which no other repository has one.
    pub fn first(name: &str) -> Self {
        Self { list: name.to_owned(), is_recorded: false, moved_from: None, beside: None }
    }
}

impl Recorded {
    /// Returns whether its root still exists, whether or not it is the same repository.
    fn is_there(&self) -> bool {
        self.root.is_dir()
    }
}

const SELECT: &str = "SELECT id, root, list, store, since, inherited FROM repositories";

fn read(row: &Row<'_>) -> rusqlite::Result<Recorded> {
    Ok(Recorded {
        id: row.get(0)?,
        root: path_of(row.get(1)?),
        list: row.get(2)?,
        store: row.get(3)?,
        since: row.get(4)?,
        inherited: row.get(5)?,
    })
}

/// Returns the key for a repository that cannot be given an id.
fn nameless(checkout: &Checkout) -> String {
    format!("at {}", checkout.root.display())
}

/// Returns the record of a repository, with its former root; `None` for a copy of a repository that still exists.
fn known(database: &Database, checkout: &Checkout) -> Result<Option<Recorded>, DatabaseError> {
    if let Some(id) = checkout.id() {
        let found = database.row(&format!("{SELECT} WHERE id = ?1"), [&id], read)?;
        return Ok(found.filter(|found| found.root == checkout.root || id_at(&found.root).as_ref() != Some(&id)));
    }
    // A repository that was cloned again has no id yet.
    let at_root = format!("{SELECT} WHERE root = ?1 ORDER BY since DESC, id LIMIT 1");
    database.row(&at_root, [key(&checkout.root)], read)
}

/// Returns the root of another repository that has a list and does not share it with this one.
fn other_owner(
    database: &Database,
    checkout: &Checkout,
    list: &str,
    store: &str,
) -> Result<Option<PathBuf>, DatabaseError> {
    let others = database.rows(&format!("{SELECT} WHERE list = ?1 AND store = ?2"), [list, store], read)?;
    let is_owner = |other: &Recorded| {
        let is_newer = || checkout.born().is_some_and(|born| born > other.since);
        other.root != checkout.root && other.is_there() && (!other.inherited || is_newer())
    };
    if let Some(owner) = others.into_iter().find(is_owner) {
        return Ok(Some(owner.root));
    }
    // A list named in a repository's settings or configuration belongs to that repository as well; one that a directory
    // is bound to does not.
    let used =
        "SELECT directory FROM list_directories AS used WHERE list = ?1 AND store = ?2 AND repository IS NOT NULL
        AND directory NOT IN (SELECT directory FROM bindings)
        AND NOT EXISTS (SELECT 1 FROM repositories WHERE id = used.repository AND list = ?1)";
    let used = database.rows(used, [list, store], |row| row.get(0))?;
    let is_elsewhere = |directory: &PathBuf| {
        Checkout::around(directory).is_some_and(|other| other.common != checkout.common) && directory.is_dir()
    };
    Ok(used.into_iter().map(path_of).find(is_elsewhere))
}

fn list_of(
    database: &Database,
    checkout: &Checkout,
    name: &str,
    store: &str,
    has_tasks: &dyn Fn(&str) -> bool,
) -> Result<RepositoryList, DatabaseError> {
    if let Some(recorded) = known(database, checkout)? {
        let moved_from = (recorded.root != checkout.root).then_some(recorded.root);
        return Ok(RepositoryList { list: recorded.list, is_recorded: true, moved_from, beside: None });
    }
    let mut beside = None;
    for candidate in repository_names(name, &checkout.root) {
        let is_plain = candidate == name;
        match other_owner(database, checkout, &candidate, store)? {
            Some(owner) => beside = beside.or(Some(owner)),
            // A list that has tasks, and is not this repository's by name, belongs to some other directory.
            None if is_plain || !has_tasks(&candidate) => {
                return Ok(RepositoryList { list: candidate, is_recorded: false, moved_from: None, beside });
            }
            None => {}
        }
    }
    let list = repository_names(name, &checkout.root).last().unwrap_or_else(|| name.to_owned());
    Ok(RepositoryList { list, is_recorded: false, moved_from: None, beside })
}

/// Records the list of a repository and returns its id; `None` if the list belongs to another.
fn record_repository(
    database: &Database,
    checkout: &Checkout,
    list: &str,
    store: &str,
    has_tasks: &dyn Fn(&str) -> bool,
) -> Result<Option<String>, DatabaseError> {
    let (known, id) = (known(database, checkout)?, checkout.id());
    if known.is_none() && other_owner(database, checkout, list, store)?.is_some() {
        return Ok(None);
    }
    let is_copy = id.is_some() && known.is_none() && {
        let found = database.row(&format!("{SELECT} WHERE id = ?1"), [id.as_deref()], read)?;
        found.is_some_and(|found| found.root != checkout.root)
    };
    let given = match (&known, id) {
        (_, Some(_)) if is_copy => checkout.give_another_id(),
        (_, Some(id)) => Ok(id),
        (Some(known), None) => checkout.give_id(Some(&known.id).filter(|id| !id.contains(' ')).map(String::as_str)),
        (None, None) => checkout.give_id(None),
    };
    let id = given.unwrap_or_else(|_| nameless(checkout));
    if let Some(known) = &known {
        move_directories(database, &known.root, &checkout.root)?;
        database.execute("DELETE FROM repositories WHERE id = ?1", [&known.id])?;
    }
    let (since, inherited) = match &known {
        Some(known) if known.list == list => (known.since, known.inherited),
        _ => (system::now().0, has_tasks(list)),
    };
    let query =
        "INSERT OR REPLACE INTO repositories (id, root, list, store, since, inherited) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    database.execute(query, (&id, key(&checkout.root), list, store, since, inherited))?;
    Ok(Some(id))
}

/// Updates the records of a directory and those below it after it moved.
fn move_directories(database: &Database, from: &Path, to: &Path) -> Result<(), DatabaseError> {
    if from == to {
        return Ok(());
    }
    for table in ["bindings", "list_directories"] {
        let all = database.rows(&format!("SELECT directory FROM {table}"), [], |row| row.get(0))?;
        for old in all.into_iter().map(path_of) {
            let Ok(below) = old.strip_prefix(from) else { continue };
            let new = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
            database.execute(
                &format!("UPDATE OR IGNORE {table} SET directory = ?1 WHERE directory = ?2"),
                (key(&new), key(&old)),
            )?;
        }
    }
    Ok(())
}
