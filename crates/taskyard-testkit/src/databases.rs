//! Databases of ours as other processes treat them.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// A database in the middle of whose writing this process stays, until this is dropped.
#[derive(Debug)]
pub struct HeldDatabase(Connection);

impl HeldDatabase {
    /// Begins to write to a database.
    pub fn at(path: &Path) -> Self {
        let connection = connect(path);
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }
}

impl Drop for HeldDatabase {
    fn drop(&mut self) {
        let _ = self.0.execute_batch("ROLLBACK");
    }
}

/// Lets a database say that it has another format.
pub fn set_database_format(path: &Path, format: u32) {
    connect(path).pragma_update(None, "user_version", format).unwrap();
}

/// Upgrades a database as a newer release would: every table gets a column, and the format is one that no release knows yet.
pub fn upgrade_beyond_today(path: &Path) {
    let connection = connect(path);
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let columns: String = tables.iter().map(|table| format!("ALTER TABLE {table} ADD COLUMN tomorrow;")).collect();
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {columns} PRAGMA user_version = 99; COMMIT")).unwrap();
    // Every release notes beside a journal how far it goes, after the commit: that wakes its followers.
    if let Ok(stamp) = File::options().read(true).write(true).open(path.with_file_name("stamp")) {
        let mut first = [0];
        stamp.read_exact_at(&mut first, 0).and_then(|()| stamp.write_all_at(&first, 0)).unwrap();
    }
}

/// Opens a database past all of our own code.
pub(crate) fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    // As every release leaves it: with its log, without which SQLite reads nothing where it may not write.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection
}
