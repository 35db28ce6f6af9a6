//! Database formats: creating and upgrading databases, and reading older ones that cannot be written.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{ErrorCode, Transaction};

use super::{Alone, Database, DatabaseError, Table};
use crate::failpoint::reach;
use crate::sqlite::connection::{PATIENCE, name_of};

/// How long to wait for a reader of a database without a write-ahead log.
const SHORT: Duration = Duration::from_millis(5);

impl Database {
    /// Returns the format of the database, or 0 if it is empty. `doing` is what the caller is about to do: open, read
    /// or write it.
    pub(crate) fn format(&self, doing: &'static str) -> Result<i64, DatabaseError> {
        let format = || self.connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0));
        format().map_err(self.failed(doing))
    }

    /// Returns the format. Fails if a newer Taskyard wrote the database.
    pub(crate) fn known_format(&self, doing: &'static str) -> Result<i64, DatabaseError> {
        match self.format(doing)? {
            format if format > self.schema.format => Err(DatabaseError::Newer { path: self.path.clone(), format }),
            format => Ok(format),
        }
    }

    /// Begins the transaction that upgrades the database to the current format. The caller may add to it and must
    /// commit it.
    pub(crate) fn begin_upgrade(&self, _alone: &Alone) -> Result<Transaction<'_>, DatabaseError> {
        reach("upgrade: begun");
        self.log_ahead()?;
        let transaction = self.begin()?;
        let format = self.known_format("open")?;
        let doing = if format == 0 { "create" } else { "upgrade" };
        reach("upgrade: open");
        for table in self.schema.tables {
            let there = self.columns_of(table)?;
            if !there.is_empty() {
                for column in table.columns_beyond(&there) {
                    self.batch(doing, &format!("ALTER TABLE {} ADD COLUMN {column}", table.name))?;
                    reach("upgrade: column added");
                }
            } else if is_newer_than(table, format) {
                self.batch(doing, &table.creation())?;
            }
        }
        self.batch(doing, self.schema.indexes)?;
        self.batch(doing, &format!("PRAGMA user_version = {}", self.schema.format))?;
        reach("upgrade: rows written");
        Ok(transaction)
    }

    /// Makes a database of an older format readable as if it had the current one, using temporary tables and views.
    pub(crate) fn read_as_of_today(&self, format: i64) -> Result<(), DatabaseError> {
        for table in self.schema.tables {
            let (name, there) = (table.name, self.columns_of(table)?);
            let missing: Vec<&str> = table.columns_beyond(&there).map(name_of).collect();
            if there.is_empty() && is_newer_than(table, format) {
                self.batch("read", &format!("CREATE TEMP TABLE {name} ({})", missing.join(", ")))?;
            } else if !there.is_empty() && !missing.is_empty() {
                let missing: String = missing.iter().map(|column| format!(", NULL AS {column}")).collect();
                self.batch("read", &format!("CREATE TEMP VIEW {name} AS SELECT *{missing} FROM main.{name}"))?;
            }
        }
        Ok(())
    }

    /// Returns the names of a table's columns in the database, or none if the table does not exist.
    pub(crate) fn columns_of(&self, table: &Table) -> Result<Vec<String>, DatabaseError> {
        self.rows("SELECT name FROM pragma_table_info(?1, 'main')", [table.name], |row| row.get(0))
    }

    /// Switches to a write-ahead log, so that a commit costs one write and does not block readers.
    fn log_ahead(&self) -> Result<(), DatabaseError> {
        let started = Instant::now();
        loop {
            match self.connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
                // SQLite itself does not wait here for readers that use the rollback journal.
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && started.elapsed() < PATIENCE =>
                {
                    thread::sleep(SHORT);
                }
                logged => return logged.map_err(self.failed("create")),
            }
        }
    }
}

/// Returns whether the table is newer than this format. A database that lacks a table its format should have is
/// damaged.
fn is_newer_than(table: &Table, format: i64) -> bool {
    table.since.is_some_and(|since| since > format)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{Database, DatabaseError, Schema, Table};
    use crate::system::flock_holder;

    const PEOPLE: Table =
        Table { name: "people", since: Some(1), columns: "name TEXT PRIMARY KEY", ending: ") WITHOUT ROWID" };
    const OLDER: Schema = Schema { file: "db", format: 1, tables: &[PEOPLE], indexes: "", settings: "" };
    static FIRST: Schema = OLDER;
    static THIRD: Schema = Schema {
        format: 3,
        tables: &[
            Table { columns: "name TEXT PRIMARY KEY, age INTEGER DEFAULT 0, town TEXT", ..PEOPLE },
            Table { name: "towns", since: Some(2), columns: "town TEXT", ending: ")" },
            Table { name: "extras", since: None, columns: "extra TEXT", ending: ")" },
        ],
        ..OLDER
    };

    fn filled(data: &Path) {
        let database = Database::open(data, &FIRST).unwrap();
        database.execute("INSERT INTO people VALUES ('ana')", []).unwrap();
    }

    fn people(database: &Database) -> Vec<(String, Option<i64>, Option<String>)> {
        let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        database.rows("SELECT * FROM people", [], columns).unwrap()
    }

    fn count(database: &Database, table: &str) -> Result<i64, DatabaseError> {
        database.one(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
    }

    #[test]
    fn older_database_is_read_as_is_and_extended_before_writing() {
        let data = tempfile::tempdir().unwrap();
        filled(data.path());
        let looked = Database::look(data.path(), &THIRD).unwrap().unwrap();
        assert_eq!(people(&looked), [("ana".into(), None, None)]);
        assert_eq!((count(&looked, "towns").unwrap(), looked.format("read").unwrap()), (0, 1));
        assert!(count(&looked, "extras").is_err(), "its owner has not made it");
        let opened = Database::open(data.path(), &THIRD).unwrap();
        opened.execute("INSERT INTO towns VALUES ('rome')", []).unwrap();
        assert_eq!(people(&opened), [("ana".into(), Some(0), None)]);
        assert_eq!(opened.format("read").unwrap(), 3);
        assert!(count(&opened, "extras").is_err(), "its owner has not made it");
    }

    #[test]
    fn a_new_database_is_one_of_today_with_a_log() {
        let data = tempfile::tempdir().unwrap();
        let database = Database::open(data.path(), &THIRD).unwrap();
        let mode: String = database.one("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!((mode.as_str(), database.format("read").unwrap()), ("wal", 3));
        assert!(people(&database).is_empty());
    }

    #[test]
    fn database_gets_wal_once_old_style_readers_are_done() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("db");
        drop(crate::private::create_new(&path).unwrap());
        let reader = rusqlite::Connection::open(&path).unwrap();
        reader.execute_batch("CREATE TABLE people (name TEXT); BEGIN; SELECT * FROM people").unwrap();
        let database = std::thread::scope(|scope| {
            let opened = scope.spawn(|| Database::open(data.path(), &THIRD));
            while flock_holder(data.path()).is_none() {
                assert!(!opened.is_finished(), "it did not wait for who reads");
            }
            reader.execute_batch("COMMIT").unwrap();
            opened.join().unwrap().unwrap()
        });
        let mode: String = database.one("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!((mode.as_str(), people(&database)), ("wal", Vec::new()));
    }

    #[test]
    fn a_newer_database_is_refused_and_left_alone() {
        let data = tempfile::tempdir().unwrap();
        drop(Database::open(data.path(), &THIRD).unwrap());
        for refused in [Database::open(data.path(), &FIRST).map(drop), Database::look(data.path(), &FIRST).map(drop)] {
            assert!(matches!(refused, Err(DatabaseError::Newer { format: 3, .. })), "{refused:?}");
        }
        assert_eq!(Database::open(data.path(), &THIRD).unwrap().format("read").unwrap(), 3);
    }

    #[test]
    fn a_table_that_an_older_database_has_lost_is_not_made_anew() {
        let data = tempfile::tempdir().unwrap();
        filled(data.path());
        Database::open(data.path(), &FIRST).unwrap().batch("write", "DROP TABLE people").unwrap();
        assert!(count(&Database::look(data.path(), &THIRD).unwrap().unwrap(), "people").is_err());
        assert!(count(&Database::open(data.path(), &THIRD).unwrap(), "people").is_err());
    }

    #[test]
    fn many_who_open_a_new_database_at_once_make_it_once() {
        let data = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| Database::open(data.path(), &THIRD).unwrap());
            }
        });
        assert_eq!(count(&Database::open(data.path(), &THIRD).unwrap(), "towns").unwrap(), 0);
    }
}
