//! Journals as earlier and later releases have them.

use std::path::Path;

use rusqlite::Connection;

use crate::databases::{connect, set_database_format};

/// What the second format had in the place of today's tables, to the letter.
const SECOND_FORMAT: &str = "
    BEGIN EXCLUSIVE;
    ALTER TABLE entries RENAME TO newer_entries;
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL, actor TEXT NOT NULL, op TEXT NOT NULL,
        task NOT NULL, before BLOB, after BLOB, inode INTEGER, undoes TEXT, remark TEXT);
    INSERT INTO entries SELECT id, at, actor, op, task, before, after, inode, undoes, remark FROM newer_entries;
    DROP TABLE newer_entries;
    CREATE INDEX entries_by_task ON entries (task, id);
    ALTER TABLE facts RENAME TO newer_facts;
    CREATE TABLE facts (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    INSERT INTO facts SELECT key, value FROM newer_facts;
    DROP TABLE newer_facts;
    ALTER TABLE known RENAME TO newer_known;
    CREATE TABLE known (
        task NOT NULL UNIQUE,
        inode INTEGER NOT NULL, mtime INTEGER NOT NULL, size INTEGER NOT NULL, seen INTEGER NOT NULL,
        content BLOB NOT NULL);
    INSERT INTO known SELECT task, inode, mtime, size, seen, content FROM newer_known;
    DROP TABLE newer_known;
    ALTER TABLE moves RENAME TO newer_moves;
    CREATE TABLE moves (token TEXT PRIMARY KEY, peer TEXT NOT NULL, payload TEXT) WITHOUT ROWID;
    INSERT INTO moves SELECT token, peer, payload FROM newer_moves;
    DROP TABLE newer_moves;
    ALTER TABLE leases RENAME TO newer_leases;
    CREATE TABLE leases (
        task NOT NULL PRIMARY KEY,
        agent TEXT NOT NULL, token INTEGER NOT NULL, taken INTEGER NOT NULL, ttl INTEGER,
        ends INTEGER, ends_since_boot INTEGER, ends_boot TEXT,
        pid INTEGER, started INTEGER, process_boot TEXT, grace INTEGER) WITHOUT ROWID;
    INSERT INTO leases SELECT task, agent, token, taken, ttl, ends, ends_since_boot, ends_boot, pid, started, process_boot,
        grace FROM newer_leases;
    DROP TABLE newer_leases;
    PRAGMA user_version = 2;
    COMMIT;
";

/// What the second format had in the place of the table that only lists in other dialects have.
const SECOND_FORMAT_OF_FORMS: &str = "
    BEGIN EXCLUSIVE;
    ALTER TABLE forms RENAME TO newer_forms;
    CREATE TABLE forms (task NOT NULL PRIMARY KEY, form BLOB, image BLOB NOT NULL) WITHOUT ROWID;
    INSERT INTO forms SELECT task, form, image FROM newer_forms;
    DROP TABLE newer_forms;
    COMMIT;
";

/// What the first format had in the place of the second's tables.
const FIRST_FORMAT: &str = "
    BEGIN EXCLUSIVE;
    ALTER TABLE entries DROP COLUMN remark;
    DROP TABLE leases;
    DELETE FROM facts WHERE key = 'token';
    PRAGMA user_version = 1;
    COMMIT;
";

/// Makes the journal in a list's sidecar one of the first format, which knew no leases.
pub fn make_first_format(sidecar: &Path) {
    make_second_format(sidecar);
    open(sidecar).execute_batch(FIRST_FORMAT).unwrap();
}

/// Makes the journal in a list's sidecar one of the second format, which knew no checksums.
pub fn make_second_format(sidecar: &Path) {
    let journal = open(sidecar);
    journal.execute_batch(SECOND_FORMAT).unwrap();
    // Older releases leave no word of how far they wrote.
    let _ = std::fs::remove_file(sidecar.join("stamp"));
    let forms = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'forms')";
    if journal.query_row(forms, [], |row| row.get(0)).unwrap() {
        journal.execute_batch(SECOND_FORMAT_OF_FORMS).unwrap();
    }
}

/// Lets the journal in a list's sidecar say that it has another format.
pub fn set_format(sidecar: &Path, format: u32) {
    set_database_format(&sidecar.join("journal.sqlite"), format);
}

fn open(sidecar: &Path) -> Connection {
    connect(&sidecar.join("journal.sqlite"))
}
