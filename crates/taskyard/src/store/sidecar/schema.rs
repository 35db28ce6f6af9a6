//! The tables of the journal.

use crate::sqlite::{Schema, Table};

/// The name of the database.
pub(super) const DATABASE: &str = "journal.sqlite";
/// The format of the database; a higher one was written by a newer Taskyard.
pub(super) const FORMAT: i64 = 4;

/// The journal.
pub(super) static JOURNAL: Schema = Schema {
    file: DATABASE,
    format: FORMAT,
    tables: &[FACTS, ENTRIES, KNOWN, MOVES, LEASES, FORMS],
    indexes: "CREATE INDEX IF NOT EXISTS entries_by_task ON entries (task, id)",
    // A new journal has small pages: every table and index takes at least one, and most lists are short. Commits are made durable
    // by `Journal::sync`, at the moment we choose.
    settings: "PRAGMA page_size = 1024; PRAGMA synchronous = NORMAL;",
};

pub(super) const FACTS: Table = Table {
    name: "facts",
    since: Some(1),
    columns: "key TEXT PRIMARY KEY, value, sum INTEGER",
    ending: ") WITHOUT ROWID",
};
pub(super) const ENTRIES: Table = Table {
    name: "entries",
    since: Some(1),
    columns: "
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, op TEXT NOT NULL, task NOT NULL, before BLOB,
        after BLOB, inode INTEGER, undoes TEXT, remark TEXT, mode INTEGER, sum INTEGER, packed BLOB",
    ending: ")",
};
pub(super) const KNOWN: Table = Table {
    name: "known",
    since: Some(1),
    columns: "
        task NOT NULL UNIQUE, inode INTEGER NOT NULL, mtime INTEGER NOT NULL, size INTEGER NOT NULL, seen INTEGER NOT NULL,
        content BLOB NOT NULL, mode INTEGER, sum INTEGER",
    ending: ")",
};
pub(super) const MOVES: Table = Table {
    name: "moves",
    since: Some(1),
    columns: "token TEXT PRIMARY KEY, peer TEXT NOT NULL, payload TEXT, sum INTEGER",
    ending: ") WITHOUT ROWID",
};
pub(super) const LEASES: Table = Table {
    name: "leases",
    since: Some(2),
    columns: "
        task NOT NULL PRIMARY KEY, agent TEXT NOT NULL, token INTEGER NOT NULL, taken INTEGER NOT NULL, ttl INTEGER,
        ends INTEGER, ends_since_boot INTEGER, ends_boot TEXT, pid INTEGER, started INTEGER, process_boot TEXT,
        grace INTEGER, machine TEXT, pid_space TEXT, sum INTEGER",
    ending: ") WITHOUT ROWID",
};
/// The table that only lists in other dialects have.
pub(super) const FORMS: Table = Table {
    name: "forms",
    since: None,
    columns: "task NOT NULL PRIMARY KEY, form BLOB, image BLOB NOT NULL, sum INTEGER",
    ending: ") WITHOUT ROWID",
};
