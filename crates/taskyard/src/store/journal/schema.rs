//! The tables of the journal.

use crate::sqlite::{Schema, Table};

/// The name of the database.
pub(super) const DATABASE: &str = "journal.sqlite";
/// The format of the database; a higher one was written by a newer Taskyard.
pub(super) const FORMAT: i64 = 4;

/// The format of the journal of a list that is moving to another store, or has moved. Processes that know nothing of that take it for a
/// newer Taskyard's, and leave it alone.
pub(super) const MOVED: i64 = 9000;

/// The journal.
///
/// Columns have no types. SQLite would use them to convert what is bound, and a row whose values were converted would not match its
/// checksum. Without them the definitions of all tables fit on the first page.
pub(super) static JOURNAL: Schema = Schema {
    file: DATABASE,
    format: FORMAT,
    tables: &[FACTS, ENTRIES, KNOWN, MOVES, LEASES, FORMS],
    indexes: "CREATE INDEX IF NOT EXISTS entries_by_task ON entries (task, id)",
    // A new journal has small pages: every table and index takes at least one, and most lists are short. Commits are made durable
    // by `Journal::sync`, at the moment we choose.
    settings: "PRAGMA page_size = 1024; PRAGMA synchronous = NORMAL;",
};

/// The fact that says where a journal was begun whose predecessor is gone: a revision, a space, a number.
pub(super) const BEGUN: &str = "begun";
/// The fact that says which token was given out last.
pub(super) const TOKEN: &str = "token";
/// The fact that holds the token of the move that brought the list here.
pub(super) const CAME_BY: &str = "came_by";
/// The fact that says up to which revision the journal was thinned out.
pub(super) const THINNED: &str = "thinned";

pub(super) const FACTS: Table =
    Table { name: "facts", since: Some(1), columns: "key PRIMARY KEY, value, sum", ending: ") WITHOUT ROWID" };
pub(super) const ENTRIES: Table = Table {
    name: "entries",
    since: Some(1),
    columns: "
        id INTEGER PRIMARY KEY, at NOT NULL, actor NOT NULL, op NOT NULL, task NOT NULL, before, after, inode,
        undoes, remark, mode, sum, packed",
    ending: ")",
};
pub(super) const KNOWN: Table = Table {
    name: "known",
    since: Some(1),
    columns: "
        task NOT NULL UNIQUE, inode NOT NULL, mtime NOT NULL, size NOT NULL, seen NOT NULL, content NOT NULL, mode,
        sum",
    ending: ")",
};
pub(super) const MOVES: Table = Table {
    name: "moves",
    since: Some(1),
    columns: "token PRIMARY KEY, peer NOT NULL, payload, sum",
    ending: ") WITHOUT ROWID",
};
pub(super) const LEASES: Table = Table {
    name: "leases",
    since: Some(2),
    columns: "
        task NOT NULL PRIMARY KEY, agent NOT NULL, token NOT NULL, taken NOT NULL, ttl, ends, ends_since_boot,
        ends_boot, pid, started, process_boot, grace, machine, pid_space, sum",
    ending: ") WITHOUT ROWID",
};
/// The table that only lists in other dialects have.
pub(super) const FORMS: Table = Table {
    name: "forms",
    since: None,
    columns: "task NOT NULL PRIMARY KEY, form, image NOT NULL, sum",
    ending: ") WITHOUT ROWID",
};
