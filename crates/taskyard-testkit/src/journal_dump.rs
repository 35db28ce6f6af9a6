//! What a journal holds, read past all of our own code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};

/// The rows of each table that say what happened and who has what, in the order of their text.
pub type JournalDump = BTreeMap<&'static str, Vec<String>>;

/// What is compared. Where a file lies on the disk, and how far files were flushed or written out, is found out again by the next process
/// that looks.
const QUERIES: [(&str, &str); 4] = [
    ("entries", "SELECT * FROM entries"),
    ("leases", "SELECT * FROM leases"),
    ("facts", "SELECT * FROM facts WHERE key NOT IN ('flushed', 'applied')"),
    ("known", "SELECT task, content FROM known"),
];

/// Reads the journal in a list's sidecar, from a copy, so that nothing of it changes; none where SQLite cannot. A table that it
/// cannot read is left out.
pub fn dump_journal(sidecar: &Path) -> Option<JournalDump> {
    let copy = tempfile::tempdir().ok()?;
    for name in ["journal.sqlite", "journal.sqlite-wal"] {
        let from = sidecar.join(name);
        if from.is_file() {
            fs::copy(from, copy.path().join(name)).ok()?;
        }
    }
    let journal = Connection::open(copy.path().join("journal.sqlite")).ok()?;
    let mut dump = JournalDump::new();
    for (table, sql) in QUERIES {
        dump.extend(rows(&journal, sql).map(|rows| (table, rows)));
    }
    let has_forms = "SELECT 1 FROM sqlite_schema WHERE name = 'forms'";
    if journal.query_row(has_forms, [], |_| Ok(())).optional().ok()?.is_some() {
        dump.extend(rows(&journal, "SELECT * FROM forms").map(|rows| ("forms", rows)));
    }
    Some(dump)
}

/// Copies the log of the journal in a list's sidecar into its database, so that damages of either matter.
pub fn copy_log(sidecar: &Path) {
    let journal = Connection::open(sidecar.join("journal.sqlite")).unwrap();
    journal.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    let busy: i64 = journal.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0, "a process reads the journal");
}

/// Keeps the log of a journal where it is: no process is the last to close it, and this leaves it behind when it is dropped.
#[derive(Debug)]
pub struct HeldLog(Connection);

impl HeldLog {
    /// Opens the journal in a list's sidecar.
    pub fn of(sidecar: &Path) -> Self {
        let journal = Connection::open(sidecar.join("journal.sqlite")).unwrap();
        journal.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
        journal.query_row("SELECT count(*) FROM facts", [], |_| Ok(())).unwrap();
        Self(journal)
    }

    /// Returns the newest revision, read past all of our own code.
    pub fn newest(&self) -> i64 {
        self.0.query_row("SELECT coalesce(max(id), 0) >> 24 FROM entries", [], |row| row.get(0)).unwrap()
    }
}

fn rows(journal: &Connection, sql: &str) -> Option<Vec<String>> {
    let mut statement = journal.prepare(sql).ok()?;
    let columns = statement.column_count();
    let text = |row: &rusqlite::Row<'_>| {
        let values: Vec<Value> = (0..columns).map(|place| row.get(place)).collect::<Result<_, _>>()?;
        Ok(format!("{values:?}"))
    };
    let mut rows: Vec<String> = statement.query_map([], text).ok()?.collect::<Result<_, _>>().ok()?;
    rows.sort();
    Some(rows)
}
