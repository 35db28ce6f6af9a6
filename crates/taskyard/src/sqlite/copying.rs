//! Copies a database with SQLite's backup API while other processes may be writing to it.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::OpenFlags;
use rusqlite::backup::{Backup, StepResult};

use super::{Database, DatabaseError};
use crate::private::create_new;
use crate::sqlite::connection::open_with;

/// How many pages to copy per step.
const PAGES: i32 = 4096;
/// How long to wait for a process that has the database locked exclusively.
const BREATH: Duration = Duration::from_millis(5);

impl Database {
    /// Copies a snapshot of the database into a new private file. Within a read transaction, the snapshot is that of
    /// the transaction. The copy has no write-ahead log, so it is a single file that can be read even in a read-only
    /// directory.
    pub(crate) fn copy_to(&self, copy: &Path) -> Result<(), DatabaseError> {
        create_new(copy).map_err(DatabaseError::io("cannot create", copy))?;
        // A read transaction, however long the copying takes: without it SQLite restarts the copy whenever a writer
        // commits.
        let moment = self.connection.is_autocommit().then(|| self.begin_to_read()).transpose()?;
        self.one("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))?;
        let copied = || -> rusqlite::Result<()> {
            let mut into = open_with(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            let backup = Backup::new(&self.connection, &mut into)?;
            loop {
                match backup.step(PAGES)? {
                    StepResult::Done => break,
                    StepResult::More => {}
                    _ => thread::sleep(BREATH),
                }
            }
            drop(backup);
            into.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        };
        copied().map_err(self.failed("copy"))?;
        drop(moment);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rusqlite::OpenFlags;

    use super::super::{Database, Schema, Table};
    use crate::sqlite::connection::open_with;

    const WORDS: Table = Table { name: "words", since: Some(1), columns: "word TEXT", ending: ")" };
    static SCHEMA: Schema = Schema { file: "db", format: 1, tables: &[WORDS], indexes: "", settings: "" };

    #[test]
    fn a_copy_shows_one_moment_while_others_write() {
        let data = tempfile::tempdir().unwrap();
        let database = Database::open(data.path(), &SCHEMA).unwrap();
        let add_two = |database: &Database| {
            let insert = "INSERT INTO words (word) VALUES (hex(zeroblob(3000)))";
            database.transact(|database| database.execute(insert, []).and_then(|_| database.execute(insert, [])))
        };
        for _ in 0..200 {
            add_two(&database).unwrap();
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let writer = Database::open(data.path(), &SCHEMA).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    add_two(&writer).unwrap();
                }
            });
            for number in 0..5 {
                let moment = database.begin_to_read().unwrap();
                let count = |database: &Database| {
                    database.one("SELECT count(*) FROM words", [], |row| row.get::<_, i64>(0)).unwrap()
                };
                let then = count(&database);
                let copy = data.path().join(format!("copy-{number}"));
                database.copy_to(&copy).unwrap();
                drop(moment);
                let copied = open_with(&copy, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
                let found: i64 = copied.query_row("SELECT count(*) FROM words", [], |row| row.get(0)).unwrap();
                let check: String = copied.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
                assert_eq!((found, found % 2, check.as_str()), (then, 0, "ok"));
                assert!(!data.path().join(format!("copy-{number}-wal")).exists());
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
