//! Journals for tests: dumped without our own code, long ones, and those of other releases.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension};
use taskyard::core::TaskId;
use taskyard::core::rules::changes::patching::Patch;
use taskyard::operations::{NewTask, Update};
use taskyard::{Outcome, Yard};

use crate::Random;
use crate::files_on_disk::{connect, set_database_format};

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

/// How many tasks the list has at first.
const TASKS: u64 = 20;

/// Makes a list of twenty tasks and changes them, one real commit after the other, until its journal has so many revisions. Every
/// description has about so many bytes.
///
/// Task 3 waits for task 2, which is deleted as soon as all are made; half of the changes are to task 1, the others to the rest in turn.
pub fn write_long_journal(yard: &Yard, revisions: usize, bytes: usize) {
    let mut random = Random::new(16);
    let texts: Vec<String> = (0..TASKS).map(|_| words(&mut random, bytes)).collect();
    for (number, text) in (1..).zip(&texts) {
        let blocked_by = if number == 3 { vec![TaskId::number(2)] } else { Vec::new() };
        let subject = format!("Task {number} of many");
        done(yard.create(NewTask { subject, description: text.clone(), blocked_by, ..NewTask::default() }));
    }
    done(yard.delete(&[TaskId::number(2)]));
    for step in texts.len() + 1..revisions {
        // Tasks 3 to 20 in turn.
        let place = if step % 2 == 0 { 0 } else { 2 + step / 2 % (texts.len() - 2) };
        let text = &texts[place];
        let middle = (step * 7 % text.len().max(1)).min(text.len());
        let description = format!("{}{step}{}", &text[..middle], &text[middle..]);
        let patch = Patch { description: Some(description), ..Patch::default() };
        done(yard.update(&TaskId::number(place as u64 + 1), Update { patch, ..Update::default() }));
    }
}

fn done<T: std::fmt::Debug>(outcome: Result<Outcome<T>, taskyard::Error>) {
    let outcome = outcome.expect("the list can be changed");
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
}

/// Returns words that say nothing.
fn words(random: &mut Random, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 12);
    while text.len() < bytes {
        let letters = 2 + random.below(9);
        text.extend((0..letters).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap_or(0))));
        text.push(' ');
    }
    text
}

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
