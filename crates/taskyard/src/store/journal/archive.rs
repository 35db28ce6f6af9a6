//! The archive of lists that no process has used for long, all in one small database: how far each list's journal went,
//! and what is still kept of its tasks. When a list is used again it gets its own journal back, which continues above
//! that.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Row, ToSql, params_from_iter};
use taskyard_core::packing::{pack_whole, unpack};

use super::Journal;
use super::damage::not_done;
use super::entries::entries_where;
use super::known::Known;
use super::layout::{ENTRIES, FACTS, data_of};
use super::stamp::Marks;
use crate::fingerprint::Fingerprint;
use crate::sqlite::{Database, Schema, Table};
use crate::store::StoreError;
use crate::store::journal::rows;
use crate::store::journal::rows::{COLUMNS, wrong};

/// Facts about the database itself, or that the restored database sets anew.
const FACTS_LEFT_BEHIND: [&str; 3] = ["path", "packed", "repacked"];

static ARCHIVE: Schema = Schema {
    file: "archive.sqlite",
    format: 1,
    tables: &[Table {
        name: "lists",
        since: Some(1),
        columns: "
            name TEXT NOT NULL PRIMARY KEY, path TEXT NOT NULL, revision INTEGER NOT NULL, token INTEGER NOT NULL,
            number INTEGER NOT NULL, has_tasks INTEGER NOT NULL, contents BLOB NOT NULL, sum INTEGER",
        ending: ")",
    }],
    indexes: "",
    settings: "",
};

/// The archived state of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Archived {
    /// The path of the list.
    pub(super) path: PathBuf,
    /// How far its journal went.
    pub(super) marks: Marks,
    rows: Vec<StoredRow>,
}

type StoredRow = (Kind, Vec<Value>);

/// The table a row belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Entry,
    Fact,
}

/// Returns the archived state of a list whose sidecar does not exist, or `None` if it has not been archived.
pub(super) fn find(sidecar: &Path) -> Result<Option<Archived>, StoreError> {
    let Some((archive, name)) = look(sidecar)? else { return Ok(None) };
    let sql = "SELECT name, path, revision, token, number, has_tasks, contents, sum FROM lists WHERE name = ?1";
    archive.row(sql, [name], archived).map_err(not_done)
}

/// Returns whether a list whose sidecar does not exist has been archived.
pub(super) fn is_archived(sidecar: &Path) -> bool {
    let found = look(sidecar).and_then(|found| {
        let Some((archive, name)) = found else { return Ok(None) };
        archive.row("SELECT 1 FROM lists WHERE name = ?1", [name], |_| Ok(())).map_err(not_done)
    });
    matches!(found, Ok(Some(())))
}

/// Returns the paths of the archived lists with tasks.
pub(in crate::store) fn archived_with_tasks(data: &Path) -> Vec<PathBuf> {
    let rows = Database::look(data, &ARCHIVE)
        .ok()
        .flatten()
        .map(|archive| archive.rows("SELECT path FROM lists WHERE has_tasks", [], |row| row.get::<_, String>(0)));
    rows.and_then(Result::ok).unwrap_or_default().into_iter().map(PathBuf::from).collect()
}

/// Archives what is left of a journal. Once this returns, it survives a power loss.
pub(super) fn keep(sidecar: &Path, list: &Path, journal: &Journal) -> Result<(), StoreError> {
    let marks = journal.marks()?;
    let (rows, has_tasks) = journal.rows_to_archive()?;
    let contents = pack(&rows);
    let data = data_of(sidecar);
    let archive = Database::open(data, &ARCHIVE).map_err(not_done)?;
    let name = name_of(sidecar);
    let path = list.to_string_lossy();
    let [revision, token, number] = [marks.revision, marks.token, marks.number].map(u64::cast_signed);
    let columns: [&dyn ToSql; 7] = [&name, &path, &revision, &token, &number, &has_tasks, &contents];
    let sql = "INSERT OR REPLACE INTO lists (name, path, revision, token, number, has_tasks, contents, sum)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let sum = journal.sum_of(&columns)?;
    let values = columns.into_iter().chain([&sum as &dyn ToSql]);
    archive.execute(sql, params_from_iter(values)).map_err(not_done)?;
    // The archive file may be new.
    File::open(data).and_then(|data| data.sync_all()).map_err(StoreError::io("cannot flush", data))
}

/// Removes a list that has its own journal again from the archive.
pub(super) fn forget(sidecar: &Path) {
    let forgotten = Database::open_existing(data_of(sidecar), &ARCHIVE).and_then(|archive| {
        archive.map_or(Ok(0), |archive| archive.execute("DELETE FROM lists WHERE name = ?1", [name_of(sidecar)]))
    });
    if let Err(error) = forgotten {
        // Harmless: the archive is not consulted if there is a journal.
        tracing::debug!(%error, "what was kept of a list is not forgotten");
    }
}

impl Archived {
    /// Writes the archived rows into a new journal, within the transaction that creates it.
    pub(super) fn write_to(&self, journal: &Journal, list: &Path) -> Result<(), StoreError> {
        for (kind, row) in &self.rows {
            let (table, columns) = match kind {
                Kind::Entry => (ENTRIES.name, COLUMNS),
                Kind::Fact => (FACTS.name, "key, value, sum"),
            };
            let places = vec!["?"; row.len()].join(", ");
            let sql = format!("INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})");
            journal.remove(&sql, params_from_iter(row))?;
        }
        let revision = self.marks.revision.cast_signed();
        journal.set_fact("flushed", revision)?;
        if journal.fact::<i64>("applied")?.is_some() {
            journal.set_fact("applied", revision)?;
            return Ok(());
        }
        if list.exists() { journal.know_last_states() } else { Ok(()) }
    }
}

impl Journal {
    /// Returns the rows to archive, and whether any of them has the contents of a task.
    fn rows_to_archive(&self) -> Result<(Vec<StoredRow>, bool), StoreError> {
        let values = |row: &Row<'_>, count: usize| (0..count).map(|place| row.get(place)).collect::<Result<_, _>>();
        let has_image = "before IS NOT NULL OR after IS NOT NULL OR packed IS NOT NULL";
        let entries = self.rows(&entries_where(&format!("({has_image}) ORDER BY id")), [], |row| {
            self.checked_images(row)?;
            values(row, 13).map(|values| (Kind::Entry, values))
        })?;
        let facts = self.rows("SELECT key, value, sum FROM facts", [], |row| {
            rows::check(row, FACTS.name)?;
            values(row, 3).map(|values| (Kind::Fact, values))
        })?;
        let has_tasks = !entries.is_empty();
        let is_wanted =
            |(_, row): &StoredRow| !matches!(&row[0], Value::Text(key) if FACTS_LEFT_BEHIND.contains(&key.as_str()));
        Ok((entries.into_iter().chain(facts.into_iter().filter(is_wanted)).collect(), has_tasks))
    }

    /// Records the last entries as the last known states of the files. Each is compared with its file before it is
    /// trusted.
    fn know_last_states(&self) -> Result<(), StoreError> {
        let last = "id = (SELECT max(later.id) FROM entries AS later WHERE later.task = entries.task)";
        let last = self.rows(&entries_where(&format!("{last} ORDER BY id")), [], |row| self.stored_entry(row))?;
        for stored in last {
            if let Some(image) = stored.entry.after {
                let print = Fingerprint { inode: 0, mtime: 0, size: 0 };
                self.set_known(&stored.entry.task, &Known { print, seen: 0, image, mode: stored.mode })?;
            }
        }
        Ok(())
    }
}

/// Opens the archive beside a sidecar, or returns `None` if there is no archive.
fn look(sidecar: &Path) -> Result<Option<(Database, String)>, StoreError> {
    let data = data_of(sidecar);
    // Cheap check first: every process that meets a new list gets here.
    if fs::symlink_metadata(data.join(ARCHIVE.file)).is_err() {
        return Ok(None);
    }
    let archive = Database::look(data, &ARCHIVE).map_err(not_done)?;
    Ok(archive.map(|archive| (archive, name_of(sidecar))))
}

fn name_of(sidecar: &Path) -> String {
    sidecar.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn archived(row: &Row<'_>) -> rusqlite::Result<Archived> {
    rows::check(row, "lists")?;
    let mark = |place: usize| row.get::<_, i64>(place).map(i64::unsigned_abs);
    let rows = unpacked(&row.get::<_, Vec<u8>>(6)?).ok_or_else(|| wrong(6, "lists"))?;
    let marks = Marks { revision: mark(2)?, token: mark(3)?, number: mark(4)? };
    Ok(Archived { path: PathBuf::from(row.get::<_, String>(1)?), marks, rows })
}

/// Serialises rows, each value with its type, and compresses them. Starts with a zero byte if compression does not
/// help.
fn pack(rows: &[StoredRow]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (kind, row) in rows {
        bytes.push(match kind {
            Kind::Entry => 1,
            Kind::Fact => 2,
        });
        bytes.push(u8::try_from(row.len()).unwrap_or(0));
        row.iter().for_each(|value| push(&mut bytes, value));
    }
    pack_whole(&bytes).unwrap_or_else(|| [&[0], &bytes[..]].concat())
}

fn push(bytes: &mut Vec<u8>, value: &Value) {
    let mut long = |kind: u8, contents: &[u8]| {
        bytes.push(kind);
        bytes.extend((contents.len() as u64).to_le_bytes());
        bytes.extend(contents);
    };
    match value {
        Value::Null => bytes.push(0),
        Value::Integer(number) => {
            bytes.push(1);
            bytes.extend(number.to_le_bytes());
        }
        Value::Real(number) => {
            bytes.push(2);
            bytes.extend(number.to_le_bytes());
        }
        Value::Text(text) => long(3, text.as_bytes()),
        Value::Blob(blob) => long(4, blob),
    }
}

/// Deserialises rows. Returns `None` if they are malformed.
fn unpacked(contents: &[u8]) -> Option<Vec<StoredRow>> {
    let bytes = match contents.split_first() {
        Some((0, plain)) => plain.to_vec(),
        _ => unpack(contents, None).ok()?,
    };
    let (mut rest, mut rows) = (&bytes[..], Vec::new());
    while let Some((kind, after)) = rest.split_first() {
        let kind = match kind {
            1 => Kind::Entry,
            2 => Kind::Fact,
            _ => return None,
        };
        let (count, after) = after.split_first()?;
        rest = after;
        rows.push((kind, (0..*count).map(|_| pull(&mut rest)).collect::<Option<_>>()?));
    }
    Some(rows)
}

fn pull(rest: &mut &[u8]) -> Option<Value> {
    let (kind, after) = rest.split_first()?;
    *rest = after;
    if *kind == 0 {
        return Some(Value::Null);
    }
    let (number, after) = rest.split_first_chunk::<8>()?;
    *rest = after;
    let mut long = |length: u64| -> Option<Vec<u8>> {
        let (contents, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        *rest = after;
        Some(contents.to_vec())
    };
    Some(match kind {
        1 => Value::Integer(i64::from_le_bytes(*number)),
        2 => Value::Real(f64::from_le_bytes(*number)),
        3 => Value::Text(String::from_utf8(long(u64::from_le_bytes(*number))?).ok()?),
        4 => Value::Blob(long(u64::from_le_bytes(*number))?),
        _ => return None,
    })
}
