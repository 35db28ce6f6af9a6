//! Journals as earlier and later releases have them.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// What the first format had in the place of today's tables, to the letter.
const FIRST_FORMAT: &str = "
    BEGIN EXCLUSIVE;
    ALTER TABLE entries RENAME TO newer;
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, actor TEXT NOT NULL, op TEXT NOT NULL,
        task NOT NULL, before BLOB, after BLOB, inode INTEGER, undoes TEXT);
    INSERT INTO entries SELECT id, at, actor, op, task, before, after, inode, undoes FROM newer;
    DROP TABLE newer;
    CREATE INDEX entries_by_task ON entries (task, id);
    DROP TABLE leases;
    DELETE FROM facts WHERE key = 'token';
    PRAGMA user_version = 1;
    COMMIT;
";

/// Makes the journal in a list's sidecar one of the first format, which knew no leases.
pub fn make_first_format(sidecar: &Path) {
    open(sidecar).execute_batch(FIRST_FORMAT).unwrap();
}

/// Lets the journal in a list's sidecar say that it has another format.
pub fn set_format(sidecar: &Path, format: u32) {
    open(sidecar).pragma_update(None, "user_version", format).unwrap();
}

fn open(sidecar: &Path) -> Connection {
    let journal = Connection::open(sidecar.join("journal.sqlite")).unwrap();
    // As every release leaves it: with its log, without which SQLite reads nothing where it may not write.
    journal.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    journal
}
