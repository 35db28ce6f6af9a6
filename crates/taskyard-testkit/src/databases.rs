//! Databases of ours as other processes treat them.

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

/// Opens a database past all of our own code.
pub(crate) fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    // As every release leaves it: with its log, without which SQLite reads nothing where it may not write.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    connection
}
