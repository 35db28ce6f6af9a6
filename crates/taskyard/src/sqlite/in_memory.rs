//! Small databases, read from a copy in memory.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::unchanging::open_unchanging;
use super::{Database, DatabaseError, Schema};

/// All pages at once.
const ALL: i32 = -1;

impl Database {
    /// Copies a database into memory, as its file is, without its log and without a lock, and opens the copy to read it.
    ///
    /// The caller makes sure that no process wrote to the file meanwhile, and that there was no log. SQLite opens and closes the file,
    /// because a descriptor of our own would take the locks of this process's other connections with it when it is closed.
    pub(crate) fn copy_into_memory(path: PathBuf, schema: &'static Schema) -> Result<Self, DatabaseError> {
        Self::set_up(path, schema, copied)
    }
}

fn copied(path: &Path) -> rusqlite::Result<Connection> {
    let file = open_unchanging(path)?;
    let mut copy = Connection::open_in_memory()?;
    match Backup::new(&file, &mut copy)?.step(ALL)? {
        StepResult::Done => {}
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    // What were written here would be lost.
    copy.execute_batch("PRAGMA query_only = ON")?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::super::{Database, Schema, Table};

    const WORDS: Table = Table { name: "words", since: Some(1), columns: "word", ending: ")" };
    static SCHEMA: Schema = Schema { file: "db", format: 1, tables: &[WORDS], indexes: "", settings: "" };

    fn words(database: &Database) -> Vec<String> {
        database.rows("SELECT word FROM words", [], |row| row.get(0)).unwrap()
    }

    fn count(place: &Path) -> usize {
        std::fs::read_dir(place).unwrap().count()
    }

    #[test]
    fn a_copy_in_memory_is_what_the_file_was_and_nothing_is_put_beside_that() {
        let data = tempfile::tempdir().unwrap();
        let database = Database::open(data.path(), &SCHEMA).unwrap();
        database.execute("INSERT INTO words VALUES ('one')", []).unwrap();
        drop(database);
        assert_eq!(count(data.path()), 1);
        let copy = Database::copy_into_memory(data.path().join("db"), &SCHEMA).unwrap();
        assert_eq!((words(&copy), count(data.path())), (vec!["one".to_owned()], 1));
        assert!(copy.execute("INSERT INTO words VALUES ('two')", []).is_err(), "it is only read");
        let database = Database::open(data.path(), &SCHEMA).unwrap();
        database.execute("INSERT INTO words VALUES ('two')", []).unwrap();
        assert_eq!((words(&copy).len(), words(&database).len()), (1, 2));
    }

    #[test]
    fn copying_takes_no_locks_away_from_the_connections_of_this_process() {
        let data = tempfile::tempdir().unwrap();
        let database = Database::open(data.path(), &SCHEMA).unwrap();
        let inode = std::fs::metadata(data.path().join("db")).unwrap().ino();
        let lock = format!("{} ", std::process::id());
        let place = format!(":{inode} 1073741826 1073742335");
        let look = || {
            let locks = std::fs::read_to_string("/proc/locks").unwrap();
            locks.lines().any(|line| line.contains(&lock) && line.ends_with(&place))
        };
        // While other processes come and go, the system leaves lines out.
        let is_locked = || (0..20).any(|_| look());
        assert!(is_locked());
        drop(Database::copy_into_memory(data.path().join("db"), &SCHEMA).unwrap());
        assert!(is_locked());
        assert!(words(&database).is_empty());
    }
}
