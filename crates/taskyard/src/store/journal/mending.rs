//! Checking a whole journal, and replacing a damaged one with a new one that has every row that can still be read.
//!
//! Mending can be interrupted at any point and started again: until the new database is complete nothing has changed,
//! and after that only files are renamed. In the meantime the stamp prevents all writes.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rusqlite::types::Value;
use rusqlite::{Connection, Row};
use rustix::io::Errno;
use taskyard_core::{AgentName, Image, Op, Revision, TaskId};

use super::Journal;
use super::damage::{
    clear_verdict, first_fault, first_unopenable, judge, keep_verdict_as, newer, read_verdict, set_aside,
};
use super::entries::{NewEntry, number_that_counts, task_id};
use super::known::{Formed, Known};
use super::layout::{BEGUN, DATABASE, ENTRIES, FACTS, FORMAT, FORMS, JOURNAL, KNOWN, LEASES, MOVES, TOKEN, data_of};
use super::opening::{lock_alone, stamp_at, sync_directories};
use super::stamp::{FoundStamp, Marks, StampFile, Standstill};
use crate::failpoint::reach;
use crate::fingerprint::Fingerprint;
use crate::private::prepare_database;
use crate::sqlite::{Alone, Database, Table};
use crate::store::error::JournalDamage;
use crate::store::journal::rows;
use crate::store::journal::rows::{AFTER, BEFORE, ENTRY_BITS, Images, RecentImages, SUM, images_of};
use crate::store::kit::first_token;
use crate::store::{Signature, StoreError};
use crate::{private, regular_file, system};

/// Checks the whole journal of a sidecar and returns the damage found. `written` is a revision known to have been
/// written.
pub(in crate::store) fn examine(sidecar: &Path, written: u64) -> Result<Option<JournalDamage>, StoreError> {
    if !sidecar.exists() {
        return Ok(None);
    }
    Ok(match health_of(sidecar, Revision(written))? {
        Health::Whole => None,
        Health::Mended(what) | Health::Damaged(what) => Some(what),
    })
}

/// Repairs the journal of a sidecar. Must be called within a turn at the list.
pub(in crate::store) fn mend(sidecar: &Path, list: &Path, beside: &Beside) -> Result<(), StoreError> {
    let alone = lock_alone(sidecar)?;
    let complete = sidecar.join(format!("{DATABASE}.mended"));
    if !complete.exists() {
        give_back_permissions(sidecar);
        match health_of(sidecar, Revision(beside.written))? {
            Health::Whole => return Ok(()),
            Health::Mended(_) => return clear(sidecar),
            // The new stamp is derived from the database, which does not show whether anything was lost.
            Health::Damaged(JournalDamage::NoStamp | JournalDamage::BadStamp) if is_whole(sidecar, beside)? => {
                return clear(sidecar);
            }
            Health::Damaged(what) => drop(keep_verdict_as(sidecar, &what, Standstill::Damaged)),
        }
        reach("mending: begun");
        build(&alone, sidecar, list, beside, &complete)?;
    }
    reach("mending: complete");
    set_aside(sidecar)?;
    reach("mending: set aside");
    let path = sidecar.join(DATABASE);
    fs::rename(&complete, &path).map_err(StoreError::io("cannot rename to", &path))?;
    sync_directories(sidecar);
    reach("mending: in place");
    clear(sidecar)
}

/// Returns whether the database is undamaged, without considering the stamp.
fn is_whole(sidecar: &Path, beside: &Beside) -> Result<bool, StoreError> {
    let written = Marks { revision: beside.written, ..Marks::default() };
    let fault = Journal::open_as_it_is(sidecar).and_then(|journal| {
        let Some(journal) = journal else { return Ok(Some(JournalDamage::Gone)) };
        let format = journal.database.format("open").map_err(judge)?;
        first_fault(&journal.database, format, written).map_err(judge)
    });
    match fault {
        Err(StoreError::JournalDamaged { .. }) => Ok(false),
        fault => Ok(fault?.is_none()),
    }
}

/// Builds the new database beside the old one. It counts once it has been renamed to `complete`.
fn build(alone: &Alone, sidecar: &Path, list: &Path, beside: &Beside, complete: &Path) -> Result<(), StoreError> {
    let path = sidecar.join(format!("{DATABASE}.mending"));
    let parts = |part: &str| -> PathBuf { sidecar.join(format!("{DATABASE}.mending{part}")) };
    for part in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(parts(part));
    }
    let written = Marks { revision: beside.written, ..Marks::default() };
    let stamped = stamp_at(sidecar)?.whole().map_or(written, |(_, stamp)| stamp.expected());
    prepare_database(data_of(sidecar), &path).map_err(StoreError::io("cannot write", &path))?;
    let mut new = Journal::connect(path.clone())?;
    new.create(alone, list, Marks::default(), None)?;
    if beside.has_forms {
        new.have_forms()?;
    }
    let transaction = new.begin()?;
    salvage(sidecar, &new, beside, stamped)?;
    new.end(transaction)?;
    reach("mending: saved");
    new.copy_whole_log()?;
    drop(new);
    let file = File::open(&path).and_then(|file| file.sync_all());
    file.map_err(StoreError::io("cannot flush", &path))?;
    for part in ["-wal", "-shm"] {
        let _ = fs::remove_file(parts(part));
    }
    fs::rename(&path, complete).map_err(StoreError::io("cannot rename to", complete))?;
    sync_directories(sidecar);
    Ok(())
}

/// Records that the journal is undamaged and how far it goes.
fn clear(sidecar: &Path) -> Result<(), StoreError> {
    let journal = Journal::open_as_it_is(sidecar)?;
    let marks = journal.map(|journal| journal.marks()).transpose()?.unwrap_or_default();
    let is_noted = match stamp_at(sidecar)? {
        FoundStamp::Whole(file, _) => file.change(|stamp| *stamp = stamp.of_next_database(marks, Standstill::None)),
        FoundStamp::Missing | FoundStamp::Damaged(_) => {
            // Higher than the generation of any earlier stamp.
            let generation = system::wall().unsigned_abs();
            let mut stamp = StampFile::blank().of_next_database(marks, Standstill::None);
            stamp.generation = generation;
            let path = sidecar.join("stamp");
            let _ = fs::remove_dir(&path);
            StampFile::create(sidecar, stamp).map_err(StoreError::io("cannot write", path))?;
            true
        }
    };
    if is_noted {
        clear_verdict(sidecar);
    }
    Ok(())
}

/// Restores the owner's read and write permissions on our files.
fn give_back_permissions(sidecar: &Path) {
    for file in [DATABASE, "journal.sqlite-wal", "journal.sqlite-shm", "stamp", "damaged"] {
        let path = sidecar.join(file);
        let is_locked =
            fs::metadata(&path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o600 != 0o600);
        if is_locked {
            let _ = fs::set_permissions(&path, Permissions::from_mode(0o600));
        }
    }
}

/// No release will use a higher format than this.
const HIGHEST_TO_COME: i64 = 9999;

/// The result of checking a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Whole,
    /// It is undamaged, but an earlier verdict has not been cleared yet.
    Mended(JournalDamage),
    Damaged(JournalDamage),
}

/// Checks the journal of a sidecar. `written` is a revision that the caller knows to have been written.
pub(super) fn health_of(sidecar: &Path, written: Revision) -> Result<Health, StoreError> {
    // Damage found by only one of two reads does not count.
    let found = match fault(sidecar, written)? {
        Some(_) => fault(sidecar, written)?,
        None => None,
    };
    let standstill = stamp_at(sidecar)?.whole().map_or(Standstill::None, |(_, stamp)| stamp.standstill);
    Ok(match (found, standstill) {
        (Some(what), Standstill::Damaged) => Health::Damaged(first_found(sidecar, what)),
        (Some(what), _) => Health::Damaged(what),
        (None, Standstill::None) => Health::Whole,
        (None, _) => Health::Mended(read_verdict(sidecar)),
    })
}

/// Returns the damage that was found first if it is recorded, else `what`.
fn first_found(sidecar: &Path, what: JournalDamage) -> JournalDamage {
    match read_verdict(sidecar) {
        JournalDamage::Found { at: None, .. } => what,
        first => first,
    }
}

/// Returns the first damage found in the journal of a sidecar.
fn fault(sidecar: &Path, written: Revision) -> Result<Option<JournalDamage>, StoreError> {
    match look_over(sidecar, written) {
        Err(StoreError::JournalDamaged { what, .. }) => Ok(Some(what)),
        found => found,
    }
}

fn look_over(sidecar: &Path, written: Revision) -> Result<Option<JournalDamage>, StoreError> {
    let stamped = match stamp_at(sidecar)? {
        FoundStamp::Whole(_, stamp) if stamp.is_newer() => return Err(newer(sidecar, &stamp)),
        FoundStamp::Whole(_, stamp) => Some(stamp),
        FoundStamp::Missing => None,
        FoundStamp::Damaged(_) if let Some(newer) = newer_by_itself(sidecar) => return Err(newer),
        FoundStamp::Damaged(what) => return Ok(Some(what)),
    };
    if let Some(what) = first_unopenable(&sidecar.join(DATABASE)) {
        return Ok(Some(what));
    }
    let written = Marks { revision: written.0, ..Marks::default() };
    let expected = stamped.as_ref().map_or(written, |stamp| stamp.expected());
    let Some(journal) = Journal::open_as_it_is(sidecar)? else {
        return Ok((expected != Marks::default()).then_some(JournalDamage::Gone));
    };
    let format = journal.database.format("open").map_err(judge)?;
    if format > FORMAT {
        // A newer Taskyard first raises the format in the stamp. If the stamp has a lower one, the format in the
        // database may be damaged, or the stamp may be older than the database. So leave alone what a newer Taskyard
        // may have written, unless no release will ever use that format.
        return match format <= HIGHEST_TO_COME {
            true => Err(StoreError::NewerJournal { path: journal.database.path, format }),
            false => Ok(Some(JournalDamage::Malformed { why: format!("it says that its format is {format}") })),
        };
    }
    journal.read_unmapped();
    let moment = journal.begin_to_read()?;
    let found = first_fault(&journal.database, format, expected);
    drop(moment);
    match found.map_err(judge)? {
        None if format == FORMAT && stamped.is_none() => Ok(Some(JournalDamage::NoStamp)),
        found => Ok(found),
    }
}

/// Returns the error that a newer Taskyard wrote the journal, if the stamp is damaged but the database says so.
fn newer_by_itself(sidecar: &Path) -> Option<StoreError> {
    let database = Database::connect_to_read(sidecar.join(DATABASE), &JOURNAL).ok()?;
    let newer = database.known_format("open").err().map(judge)?;
    matches!(newer, StoreError::NewerJournal { format, .. } if format <= HIGHEST_TO_COME).then_some(newer)
}

/// How many bytes to copy at a time.
const BLOCK: usize = 4096;

/// How to find the rows of a table: in the order of a column, and one by one with keys from an index or another table.
struct Source {
    table: &'static Table,
    order: &'static str,
    key: &'static str,
    keys: &'static [&'static str],
}

const BY_TASKS_OF_ENTRIES: &str = "SELECT DISTINCT task FROM entries";

const SOURCES: [Source; 6] = [
    Source {
        table: &ENTRIES,
        order: "id",
        key: "id",
        keys: &[
            "SELECT id FROM entries INDEXED BY entries_by_task ORDER BY task, id",
            "SELECT id FROM entries INDEXED BY entries_by_task ORDER BY task DESC, id DESC",
        ],
    },
    Source {
        table: &KNOWN,
        order: "rowid",
        key: "task",
        keys: &["SELECT task FROM known ORDER BY task", BY_TASKS_OF_ENTRIES],
    },
    Source { table: &FACTS, order: "key", key: "key", keys: &[] },
    Source { table: &MOVES, order: "token", key: "token", keys: &[] },
    Source { table: &LEASES, order: "task", key: "task", keys: &[BY_TASKS_OF_ENTRIES] },
    Source { table: &FORMS, order: "task", key: "task", keys: &[BY_TASKS_OF_ENTRIES] },
];

/// What is known about a list from outside its journal.
#[derive(Clone, Debug, Default)]
pub(in crate::store) struct Beside {
    pub(in crate::store) present: BTreeSet<TaskId>,
    /// The last revision known to have been written.
    pub(in crate::store) written: u64,
    /// Whether the list is stored in another dialect.
    pub(in crate::store) has_forms: bool,
}

/// Copies everything readable from the journal of a sidecar to a new one. Returns the marks that the new one continues
/// above.
pub(super) fn salvage(sidecar: &Path, new: &Journal, beside: &Beside, stamped: Marks) -> Result<Marks, StoreError> {
    let mut saved = Saved { marks: stamped, ..Saved::default() };
    let copy = Copy::of(sidecar)?;
    if let Some(old) = copy.open() {
        for source in SOURCES.iter().filter(|source| source.table.since.is_some() || beside.has_forms) {
            for row in readable_rows(&old, source) {
                saved.note(source.table, &row);
                new.write_row(source.table, &row);
            }
        }
    }
    drop(copy);
    new.begin_above(&saved, beside)?;
    Ok(saved.marks)
}

/// What was salvaged.
#[derive(Default)]
struct Saved {
    marks: Marks,
    overtaken: i64,
    /// The contents of each task after its newest salvaged entry, and the id of that entry.
    last: HashMap<TaskId, (i64, Option<Image>)>,
}

impl Saved {
    fn note(&mut self, table: &Table, row: &[Value]) {
        match (table.name, row) {
            ("entries", [Value::Integer(id), .., task, _, after, _, _, _, _]) => {
                let task = task_id(task.into());
                let revision = id.unsigned_abs() >> ENTRY_BITS;
                self.marks = self.marks.max(Marks { revision, token: 0, number: number_that_counts(&task) });
                let image = match after {
                    Value::Blob(bytes) => Some(Image::new(bytes.as_slice())),
                    _ => None,
                };
                let last = self.last.entry(task).or_insert((0, None));
                if *id >= last.0 {
                    *last = (*id, image);
                }
            }
            ("leases", [_, _, Value::Integer(token), ..]) => {
                self.marks = self.marks.max(Marks { token: token.unsigned_abs(), ..Marks::default() });
            }
            ("facts", [Value::Text(key), Value::Integer(token)]) if key == TOKEN => {
                self.marks = self.marks.max(Marks { token: token.unsigned_abs(), ..Marks::default() });
            }
            ("facts", [Value::Text(key), Value::Integer(count)]) if key == "overtaken" => self.overtaken = *count,
            _ => {}
        }
    }
}

impl Journal {
    /// Writes a salvaged row. Skips it if it does not fit the table.
    fn write_row(&self, table: &Table, row: &[Value]) {
        let columns: Vec<&str> = table.column_names().take(row.len() + 1).collect();
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("?{place}")).collect();
        let (columns, places) = (columns.join(", "), places.join(", "));
        let sql = format!("INSERT OR IGNORE INTO {} ({columns}) VALUES ({places})", table.name);
        let Ok(mut statement) = self.database.connection.prepare_cached(&sql) else { return };
        let columns: Vec<&dyn rusqlite::ToSql> = row.iter().map(|value| value as &dyn rusqlite::ToSql).collect();
        if let Err(error) = rows::execute(&mut statement, &columns) {
            tracing::debug!(%error, table = table.name, "a row is not saved");
        }
    }

    /// Makes the journal continue above everything that existed, and sets the last known states of the files from what
    /// was salvaged.
    fn begin_above(&self, saved: &Saved, beside: &Beside) -> Result<(), StoreError> {
        let revision = self.note_unaccounted(saved, beside)?.0.cast_signed();
        self.set_fact(BEGUN, format!("{} {}", saved.marks.revision, saved.marks.number))?;
        self.set_fact(TOKEN, saved.marks.token.max(first_token(system::now()).0).cast_signed())?;
        self.set_fact("overtaken", saved.overtaken + 1)?;
        // The salvaged entries may be older than the files, so they must not be written out again.
        self.set_fact("flushed", revision)?;
        if beside.has_forms {
            self.set_fact("applied", revision)?;
        }
        for task in &beside.present {
            let Some((_, Some(image))) = saved.last.get(task) else { continue };
            if beside.has_forms && self.form(task)?.is_none() {
                // No form equals an empty one, so the task is read from the files and compared with what was known of
                // it.
                self.set_form(task, &Formed { form: Some(Vec::new()), image: image.clone() })?;
            } else if !beside.has_forms && self.known(task)?.is_none() {
                let print = Fingerprint { inode: 0, mtime: 0, size: 0 };
                self.set_known(task, &Known { print, seen: 0, image: image.clone(), mode: None })?;
            }
        }
        Ok(())
    }

    /// Records which tasks are missing although no salvaged entry explains why: an agent may have deleted them on
    /// purpose. Returns the last revision.
    fn note_unaccounted(&self, saved: &Saved, beside: &Beside) -> Result<Revision, StoreError> {
        let last = Revision(saved.marks.revision);
        let mut gone: Vec<&TaskId> = Vec::new();
        for (task, _) in
            saved.last.iter().filter(|(task, (_, image))| image.is_some() && !beside.present.contains(task))
        {
            // Tasks that the files cannot represent are only kept here.
            let is_kept_here = beside.has_forms && self.form(task)?.is_some_and(|formed| formed.form.is_none());
            if !is_kept_here {
                gone.push(task);
            }
        }
        if gone.is_empty() {
            return Ok(last);
        }
        gone.sort();
        for task in &gone {
            self.forget(task)?;
            if beside.has_forms {
                self.forget_form(task)?;
            }
        }
        let note = |task| NewEntry { task, op: Op::Mend, before: None, after: None, inode: None, mode: None };
        let entries: Vec<NewEntry<'_>> = gone.into_iter().map(note).collect();
        self.append(last.next(), system::now(), &Signature::new(AgentName::elsewhere(), Op::Mend), &entries)?;
        Ok(last.next())
    }
}

/// A copy of a database and its log, because SQLite modifies what it opens and the damaged original is preserved.
struct Copy<'a> {
    sidecar: &'a Path,
}

impl<'a> Copy<'a> {
    fn of(sidecar: &'a Path) -> Result<Self, StoreError> {
        let copy = Self { sidecar };
        copy.remove();
        for part in ["", "-wal"] {
            let from = sidecar.join(format!("{DATABASE}{part}"));
            if from.is_file() {
                copy_blocks(&from, &copy.path(part)).map_err(StoreError::io("cannot copy", &from))?;
            }
        }
        Ok(copy)
    }

    fn open(&self) -> Option<Database> {
        Database::connect(self.path(""), &JOURNAL).ok()
    }

    fn path(&self, part: &str) -> std::path::PathBuf {
        self.sidecar.join(format!("{DATABASE}.salvage{part}"))
    }

    fn remove(&self) {
        for part in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.path(part));
        }
    }
}

impl Drop for Copy<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Copies a file. A block that cannot be read, even on a second attempt, is left empty, so that the rest can be
/// salvaged.
fn copy_blocks(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (File::open(from)?, private::create(to)?);
    let mut block = [0; BLOCK];
    for at in (0..from.metadata()?.len()).step_by(BLOCK) {
        let is_lost = |error: &io::Error| error.raw_os_error() == Some(Errno::IO.raw_os_error());
        let read =
            regular_file::read_at(&from, &mut block, at).or_else(|_| regular_file::read_at(&from, &mut block, at));
        match read {
            Ok(count) => to.write_all_at(&block[..count], at)?,
            Err(error) if is_lost(&error) => to.set_len(at + BLOCK as u64)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the undamaged rows of a table without their checksums, read from the beginning, from the end, and one by
/// one.
fn readable_rows(old: &Database, source: &Source) -> Vec<Vec<Value>> {
    let there = old.columns_of(source.table).unwrap_or_default();
    // Columns after the checksum are needed to rebuild an entry.
    let wanted = match source.table.name {
        "entries" => source.table.column_names().collect(),
        _ => rows::columns_of(source.table),
    };
    let columns: Vec<String> = wanted
        .into_iter()
        .map(|column| if there.iter().any(|name| name == column) { format!("\"{column}\"") } else { "NULL".to_owned() })
        .collect();
    let (columns, name) = (columns.join(", "), source.table.name);
    let mut found: HashMap<Vec<u8>, Vec<Value>> = HashMap::new();
    let key = source.table.column_names().position(|column| column == source.key).unwrap_or(0);
    let mut take = |sql: &str, parameter: Option<&Value>| {
        let _ = each_row(&old.connection, sql, parameter, source.table, &mut |row| {
            found.entry(format!("{:?}", row[key]).into_bytes()).or_insert(row);
        });
    };
    for direction in ["ASC", "DESC"] {
        take(&format!("SELECT {columns} FROM {name} ORDER BY {} {direction}", source.order), None);
    }
    for sql in source.keys {
        for key in keys(&old.connection, sql) {
            take(&format!("SELECT {columns} FROM {name} WHERE {} = ?1", source.key), Some(&key));
        }
    }
    found.into_values().collect()
}

/// Calls `take` with every row that matches its checksum, until SQLite fails.
fn each_row(
    old: &Connection,
    sql: &str,
    parameter: Option<&Value>,
    table: &Table,
    take: &mut dyn FnMut(Vec<Value>),
) -> rusqlite::Result<()> {
    let mut statement = old.prepare_cached(sql)?;
    let mut rows = match parameter {
        Some(key) => statement.query([key])?,
        None => statement.query([])?,
    };
    let recent = RefCell::default();
    while let Some(row) = rows.next()? {
        let columns = match table.name {
            "entries" => whole_entry(old, &recent, row),
            _ => whole_row(row, table),
        };
        columns.into_iter().for_each(&mut *take);
    }
    Ok(())
}

/// Returns the columns before the checksum. Fails if the row does not match it.
fn whole_row(row: &Row<'_>, table: &Table) -> rusqlite::Result<Vec<Value>> {
    rows::check(row, table.name)?;
    (0..rows::columns_of(table).len() - 1).map(|place| row.get(place)).collect()
}

/// Returns the columns of an entry before the checksum, with complete images. Fails if these cannot be rebuilt or do
/// not match it.
fn whole_entry(old: &Connection, recent: &RefCell<RecentImages>, row: &Row<'_>) -> rusqlite::Result<Vec<Value>> {
    let images = images_of(old, recent, row)?;
    rows::check_entry(row, &images)?;
    let image = |image: Option<Image>| image.map_or(Value::Null, |image| Value::Blob(image.bytes().to_vec()));
    let Images { before, after } = images;
    let mut columns: Vec<Value> = Vec::with_capacity(SUM);
    for place in 0..SUM {
        let is_image = matches!(place, BEFORE | AFTER);
        columns.push(if is_image { Value::Null } else { row.get(place)? });
    }
    columns[BEFORE] = image(before);
    columns[AFTER] = image(after);
    Ok(columns)
}

/// Returns the keys found in an index or another table, until SQLite fails.
fn keys(old: &Connection, sql: &str) -> Vec<Value> {
    let mut keys = Vec::new();
    let Ok(mut statement) = old.prepare(sql) else { return keys };
    let Ok(mut rows) = statement.query([]) else { return keys };
    while let Ok(Some(row)) = rows.next() {
        keys.extend(row.get::<_, Value>(0));
    }
    keys
}
