//! The rows of the journal's tables: checksums, entry ids, and the images of entries, which are stored packed.
//!
//! The checksum is a CRC-32 of the other columns, so that a damaged row is detected.
//!
//! The newest image of a task is stored whole. An older one is stored compressed, usually as the difference from the
//! one before it, from which it is rebuilt. In the table, `before` is either the bytes or the id of the entry with that
//! image; `after` is the bytes, or null if `packed` has the image.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use crc32fast::Hasher;
use rusqlite::types::{ToSqlOutput, Type, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, ToSql, params};
use taskyard_core::packing::{Unpackable, needs_base, pack_difference, pack_whole, unpack};
use taskyard_core::{Image, Revision, TaskId};

use super::Journal;
use super::entries::{Key, entries_where, task_id};
use crate::failpoint::reach;
use crate::sqlite::Table;
use crate::store::StoreError;
use crate::store::error::JournalDamage;
use crate::store::journal::thinning::Pace;

/// How many consecutive entries about a task may depend on the one before them. The next one is stored whole.
pub(super) const LONGEST_CHAIN: u8 = 31;
/// How many entries to pack in one transaction, for which writers have to wait.
const AT_ONCE: i64 = 64;
/// The fact with the id of the last entry examined: entries it superseded are packed.
const PACKED_UP_TO: &str = "packed";
/// The same for entries written by older releases.
const REPACKED_UP_TO: &str = "repacked";

impl Journal {
    /// Packs entries that are followed by another entry about the same task, up to a revision whose files are durable.
    /// The last state of a task, and everything that may have to be written out again, stays whole. Continues where it
    /// last ended, or after `since` if the journal was never packed.
    pub(in crate::store) fn pack(&self, since: Revision, until: Revision) -> Result<(), StoreError> {
        let begin = self.fact::<i64>(PACKED_UP_TO)?.map_or_else(|| first_id(since.next()), |last| last + 1);
        self.pack_entries(begin, first_id(until.next()), PACKED_UP_TO, &Pace::straight_on())?;
        self.index_rare_entries(until)
    }

    /// Also packs what older releases wrote, up to a revision whose files are durable.
    pub(super) fn pack_old(&self, until: Revision, pace: &Pace) -> Result<(), StoreError> {
        let end = first_id(until.next());
        let packed = self.fact::<i64>(PACKED_UP_TO)?;
        let begin = self.fact::<i64>(REPACKED_UP_TO)?.map_or(0, |last| last + 1);
        self.pack_entries(begin, packed.map_or(end, |last| end.min(last + 1)), REPACKED_UP_TO, pace)?;
        if pace.is_over() {
            return Ok(());
        }
        self.pack_entries(packed.map_or(begin, |last| last + 1), end, PACKED_UP_TO, pace)
    }

    /// Packs the predecessors of the entries from `next` to `end`, some at a time, and records the progress.
    fn pack_entries(&self, mut next: i64, end: i64, reached: &str, pace: &Pace) -> Result<(), StoreError> {
        while next < end && !pace.is_over() {
            let transaction = self.begin_when(pace)?;
            let sql = "SELECT id, task FROM entries WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
            let later = self.rows(sql, [next, end, AT_ONCE], |row| Ok((row.get(0)?, task_id(row.get_ref(1)?))))?;
            let Some((last, _)) = later.last() else { return Ok(()) };
            next = last + 1;
            for (later, task) in &later {
                self.pack_before(*later, task)?;
            }
            self.set_fact(reached, last)?;
            self.end(transaction)?;
            reach("journal: packed");
            pace.rest();
        }
        Ok(())
    }

    /// Packs the entry about a task that precedes another one.
    fn pack_before(&self, later: i64, task: &TaskId) -> Result<(), StoreError> {
        let sql = entries_where("task = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1");
        let whole = |row: &Row<'_>| {
            let is_whole = matches!(row.get_ref(AFTER)?, ValueRef::Blob(_));
            let reference = row.get_ref(BEFORE)?.as_i64_or_null().ok().flatten();
            is_whole.then(|| Ok((row.get::<_, i64>(0)?, reference, self.checked_images(row)?))).transpose()
        };
        let Some((entry, reference, images)) = self.row(&sql, params![Key(task), later], whole)?.flatten() else {
            return Ok(());
        };
        let Images { before, after: Some(after) } = images else { return Ok(()) };
        let reference = match (&before, reference) {
            (Some(before), None) => self.entry_before_with(entry, task, before)?,
            (_, reference) => reference,
        };
        let depth = reference.map(|reference| self.depth(reference)).transpose()?.unwrap_or(0);
        let difference = || pack_difference(after.bytes(), before.as_ref()?.bytes()).map(|packed| (depth + 1, packed));
        let packed = if depth < LONGEST_CHAIN { difference() } else { None };
        let packed = packed.or_else(|| pack_whole(after.bytes()).map(|packed| (0, packed)));
        let before: Value = match (reference, before) {
            (Some(reference), _) => reference.into(),
            (None, Some(before)) => before.bytes().to_vec().into(),
            (None, None) => Value::Null,
        };
        let (whole, packed) = match packed {
            Some((depth, packed)) => (None, Some([&[depth], &packed[..]].concat())),
            None => (Some(after.bytes()), None),
        };
        let sql = "UPDATE entries SET before = ?2, after = ?3, packed = ?4 WHERE id = ?1";
        self.remove(sql, params![entry, before, whole, packed])
    }

    /// Returns the previous entry about a task if its image is `image`.
    fn entry_before_with(&self, entry: i64, task: &TaskId, image: &Image) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id FROM entries WHERE task = ?1 AND id < ?2 ORDER BY id DESC LIMIT 1";
        let Some(earlier) = self.row(sql, params![Key(task), entry], |row| row.get(0))? else { return Ok(None) };
        let connection = &self.database.connection;
        let found = image_after(connection, &self.recent_images, earlier);
        // If there is no such entry or it cannot be rebuilt, the image stays in place.
        Ok(found.is_ok_and(|found| found == *image).then_some(earlier))
    }

    /// Returns how many earlier entries are needed to rebuild an entry's image.
    pub(super) fn depth(&self, entry: i64) -> Result<u8, StoreError> {
        let depth = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob_or_null()?.and_then(|packed| packed.first().copied()));
        Ok(self.row("SELECT packed FROM entries WHERE id = ?1", [entry], depth)?.flatten().unwrap_or(0))
    }
}

impl Journal {
    /// Returns the newest entry about a task if its image is `image`.
    pub(super) fn entry_with(&self, task: &TaskId, image: &Image) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT id, after = ?2 FROM entries WHERE task = ?1 ORDER BY id DESC LIMIT 1";
        let found = self.row(sql, params![Key(task), image.bytes()], |row| {
            Ok(row.get::<_, Option<bool>>(1)?.unwrap_or(false).then_some(row.get::<_, i64>(0)?))
        })?;
        Ok(found.flatten())
    }

    /// Returns the images of an entry. Fails if the checksum does not match.
    pub(super) fn checked_images(&self, row: &Row<'_>) -> rusqlite::Result<Images> {
        let images = images_of(&self.database.connection, &self.recent_images, row)?;
        check_entry(row, &images)?;
        Ok(images)
    }
}

/// How many bytes to buffer before hashing: one long run is faster than many short ones.
const GATHERED: usize = 256;

/// Returns the columns covered by the checksum, in order, and the checksum itself. Columns added by later formats
/// follow it.
pub(super) fn columns_of(table: &Table) -> Vec<&'static str> {
    let mut columns: Vec<&str> = table.column_names().collect();
    let end = columns.iter().position(|column| *column == "sum").map_or(columns.len(), |sum| sum + 1);
    columns.truncate(end);
    columns
}

/// Writes a row: its columns, then their checksum.
pub(super) fn execute(statement: &mut CachedStatement<'_>, columns: &[&dyn ToSql]) -> rusqlite::Result<usize> {
    let sum = sum_of(columns)?;
    execute_with(statement, columns, sum)
}

/// Writes a row with a given checksum.
pub(super) fn execute_with(
    statement: &mut CachedStatement<'_>,
    columns: &[&dyn ToSql],
    sum: i64,
) -> rusqlite::Result<usize> {
    for (place, column) in columns.iter().enumerate() {
        statement.raw_bind_parameter(place + 1, column)?;
    }
    statement.raw_bind_parameter(columns.len() + 1, sum)?;
    statement.raw_execute()
}

/// Fails if a row's checksum, its last column, does not match the columns before it. A row written by an older release
/// may have none and counts as undamaged.
pub(super) fn check(row: &Row<'_>, table: &'static str) -> rusqlite::Result<()> {
    let last = row.as_ref().column_count() - 1;
    let sum = match row.get_ref(last)? {
        ValueRef::Null => return Ok(()),
        ValueRef::Integer(sum) => Some(sum),
        _ => None,
    };
    let mut running = Running::new();
    for place in 0..last {
        running.add(row.get_ref(place)?);
    }
    if sum == Some(running.sum()) {
        return Ok(());
    }
    Err(wrong(last, table))
}

/// Fails if an entry with its rebuilt images does not match its checksum.
pub(super) fn check_entry(row: &Row<'_>, images: &Images) -> rusqlite::Result<()> {
    let sum = match row.get_ref(SUM)? {
        ValueRef::Null => return Ok(()),
        ValueRef::Integer(sum) => Some(sum),
        _ => None,
    };
    let mut running = Running::new();
    for place in 0..SUM {
        match place {
            BEFORE => running.add(bytes_or_null(images.before.as_ref())),
            AFTER => running.add(bytes_or_null(images.after.as_ref())),
            _ => running.add(row.get_ref(place)?),
        }
    }
    if sum == Some(running.sum()) {
        return Ok(());
    }
    Err(wrong(SUM, "entries"))
}

fn bytes_or_null(image: Option<&Image>) -> ValueRef<'_> {
    image.map_or(ValueRef::Null, |image| ValueRef::Blob(image.bytes()))
}

/// Returns the checksum of some columns.
pub(super) fn sum_of(columns: &[&dyn ToSql]) -> rusqlite::Result<i64> {
    let mut running = Running::new();
    for column in columns {
        match column.to_sql()? {
            ToSqlOutput::Borrowed(value) => running.add(value),
            ToSqlOutput::Owned(value) => running.add(borrowed(&value)),
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
    }
    Ok(running.sum())
}

fn borrowed(value: &Value) -> ValueRef<'_> {
    value.into()
}

/// A checksum being computed. Includes the type and length of each value, so that rows with different columns never
/// hash the same input.
struct Running {
    hasher: Hasher,
    gathered: [u8; GATHERED],
    length: usize,
}

impl Running {
    fn new() -> Self {
        Self { hasher: Hasher::new(), gathered: [0; GATHERED], length: 0 }
    }

    fn add(&mut self, value: ValueRef<'_>) {
        match value {
            ValueRef::Null => self.add_kind(0, 0),
            ValueRef::Integer(number) => self.add_kind(1, number.cast_unsigned()),
            ValueRef::Real(number) => self.add_kind(2, number.to_bits()),
            ValueRef::Text(text) => self.add_bytes(3, text),
            ValueRef::Blob(bytes) => self.add_bytes(4, bytes),
        }
    }

    fn add_kind(&mut self, kind: u8, word: u64) {
        let mut column = [kind; 9];
        column[1..].copy_from_slice(&word.to_le_bytes());
        self.gather(&column);
    }

    fn add_bytes(&mut self, kind: u8, bytes: &[u8]) {
        self.add_kind(kind, bytes.len() as u64);
        self.gather(bytes);
    }

    fn gather(&mut self, bytes: &[u8]) {
        if self.length + bytes.len() > GATHERED {
            self.hasher.update(&self.gathered[..self.length]);
            self.length = 0;
        }
        if bytes.len() > GATHERED {
            self.hasher.update(bytes);
        } else {
            self.gathered[self.length..self.length + bytes.len()].copy_from_slice(bytes);
            self.length += bytes.len();
        }
    }

    fn sum(mut self) -> i64 {
        self.hasher.update(&self.gathered[..self.length]);
        i64::from(self.hasher.finalize())
    }
}

/// A row that does not match its checksum.
#[derive(Debug, thiserror::Error)]
#[error("a row of `{table}` does not match its checksum")]
pub(super) struct WrongSum {
    pub(super) table: &'static str,
}

/// Returns the error for a damaged row.
pub(super) fn wrong(place: usize, table: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(place, Type::Integer, Box::new(WrongSum { table }))
}

/// The columns of an entry, in the order they are read. The checksum covers those before it, with rebuilt images.
pub(super) const COLUMNS: &str = "id, at, actor, op, task, before, after, inode, undoes, remark, mode, sum, packed";
/// The positions of the images, the checksum and the packed image.
pub(super) const BEFORE: usize = 5;
pub(super) const AFTER: usize = 6;
pub(super) const SUM: usize = 11;
pub(super) const PACKED: usize = 12;
/// How many bytes of images to cache for rebuilding later entries.
const REMEMBERED: usize = 2 << 20;

pub(super) struct Images {
    pub(super) before: Option<Image>,
    pub(super) after: Option<Image>,
}

/// Recently read images, by entry id.
#[derive(Debug, Default)]
pub(super) struct RecentImages {
    images: HashMap<i64, Image>,
    order: VecDeque<i64>,
    bytes: usize,
}

impl RecentImages {
    fn keep(&mut self, entry: i64, image: &Image) {
        if self.images.insert(entry, image.clone()).is_some() {
            return;
        }
        self.order.push_back(entry);
        self.bytes += image.bytes().len();
        while self.bytes > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.images.remove(&oldest);
            self.bytes -= gone.map_or(0, |image| image.bytes().len());
        }
    }
}

/// Returns the images of an entry. They may be wrong if the row is damaged; only the checksum of the rebuilt row tells.
pub(super) fn images_of(
    connection: &Connection,
    recent: &RefCell<RecentImages>,
    row: &Row<'_>,
) -> rusqlite::Result<Images> {
    let before = match row.get_ref(BEFORE)? {
        ValueRef::Integer(entry) => Some(image_after(connection, recent, entry)?),
        whole => whole.as_blob_or_null()?.map(Image::new),
    };
    let after = match row.get_ref(PACKED)? {
        ValueRef::Null => row.get_ref(AFTER)?.as_blob_or_null()?.map(Image::new),
        packed => Some(unpacked(packed.as_blob()?, before.as_ref())?),
    };
    if let Some(image) = &after {
        recent.borrow_mut().keep(row.get(0)?, image);
    }
    Ok(Images { before, after })
}

/// Returns the new image of a task in an entry.
pub(super) fn image_after(
    connection: &Connection,
    recent: &RefCell<RecentImages>,
    entry: i64,
) -> rusqlite::Result<Image> {
    let mut statement = connection.prepare_cached("SELECT before, after, packed FROM entries WHERE id = ?1")?;
    let mut differences: Vec<(i64, Vec<u8>)> = Vec::new();
    let mut wanted = entry;
    let mut image = loop {
        if let Some(image) = recent.borrow().images.get(&wanted) {
            break image.clone();
        }
        let mut rows = statement.query([wanted])?;
        let row = rows.next()?.ok_or_else(|| unpackable(BEFORE, Unpackable::NoBase))?;
        let ValueRef::Blob(packed) = row.get_ref(2)? else {
            break Image::new(row.get_ref(1)?.as_blob()?);
        };
        match row.get_ref(0)? {
            ValueRef::Integer(earlier) if is_difference(packed) => {
                // Ids must decrease, so that even a damaged table cannot cause an endless loop.
                if earlier >= wanted {
                    return Err(unpackable(BEFORE, Unpackable::Malformed));
                }
                differences.push((wanted, packed.to_vec()));
                wanted = earlier;
            }
            ValueRef::Integer(_) => break unpacked(packed, None)?,
            before => break unpacked(packed, before.as_blob_or_null()?.map(Image::new).as_ref())?,
        }
    };
    recent.borrow_mut().keep(wanted, &image);
    for (entry, packed) in differences.into_iter().rev() {
        image = unpacked(&packed, Some(&image))?;
        recent.borrow_mut().keep(entry, &image);
    }
    Ok(image)
}

/// Unpacks the value of the `packed` column: the depth, then the packed image.
fn unpacked(packed: &[u8], base: Option<&Image>) -> rusqlite::Result<Image> {
    let image = unpack(packed.get(1..).unwrap_or_default(), base.map(Image::bytes));
    image.map(Image::new).map_err(|why| unpackable(PACKED, why))
}

fn is_difference(packed: &[u8]) -> bool {
    needs_base(packed.get(1..).unwrap_or_default())
}

/// An image that cannot be rebuilt counts as damage, like a wrong checksum.
fn unpackable(column: usize, why: Unpackable) -> rusqlite::Error {
    tracing::debug!(%why, column, "an image of the journal cannot be rebuilt");
    wrong(column, "entries")
}

/// The number of bits, below the revision, that number the entries of a commit.
pub(super) const ENTRY_BITS: u32 = 24;

/// Returns the id of the first entry of a revision.
pub(super) fn first_id(revision: Revision) -> i64 {
    i64::try_from(revision.0.min(1 << 38)).unwrap_or(0) << ENTRY_BITS
}

/// Checks that entry ids have no gaps: they rise by one within a revision, and from one revision to the next.
pub(super) struct Sequence {
    last: i64,
}

impl Sequence {
    /// Begins with the first entry of a revision. Earlier entries are those of a mended journal, and may have gaps.
    pub(super) fn from(first: i64) -> Self {
        Self { last: first - 1 }
    }

    /// Takes the next id, and returns what is missing before it.
    pub(super) fn gap_before(&mut self, id: i64) -> Option<JournalDamage> {
        if id <= self.last {
            return None;
        }
        let [last, this] = [self.last >> ENTRY_BITS, id >> ENTRY_BITS];
        let is_next = id == self.last + 1 || id == (last + 1) << ENTRY_BITS;
        self.last = id;
        (!is_next).then(|| JournalDamage::Gap { missing: format!("something between revisions {last} and {this}") })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::params;
    use taskyard_core::{AgentName, Entry, Image, Op, Revision, TaskId, Timestamp};

    use super::super::{Journal, NewEntry};
    use super::first_id;
    use super::{LONGEST_CHAIN, Pace};
    use crate::store::{HistoryQuery, Signature};

    /// A journal, and what was written to it.
    struct Written {
        journal: Journal,
        entries: Vec<(TaskId, Option<Image>, Option<Image>)>,
        _place: tempfile::TempDir,
    }

    impl Written {
        fn new() -> Self {
            let place = tempfile::tempdir().unwrap();
            Self { journal: Journal::open(place.path(), place.path()).unwrap(), entries: Vec::new(), _place: place }
        }

        fn write(&mut self, task: u64, after: Option<&str>) {
            let task = TaskId::number(task);
            let before = self.entries.iter().rev().find(|(id, ..)| *id == task).and_then(|(.., after)| after.clone());
            let after = after.map(|text| Image::new(text.as_bytes()));
            let entry = NewEntry {
                task: &task,
                op: Op::Update,
                before: before.as_ref(),
                after: after.as_ref(),
                inode: None,
                mode: None,
            };
            let revision = Revision(self.entries.len() as u64 + 1);
            let transaction = self.journal.begin().unwrap();
            let signature = Signature::new(AgentName::elsewhere(), Op::Update);
            self.journal.append(revision, Timestamp(0), &signature, &[entry]).unwrap();
            self.journal.end(transaction).unwrap();
            self.entries.push((task, before, after));
        }

        /// Returns, for every entry, whether its image is stored whole.
        fn whole(&self) -> Vec<bool> {
            let sql = "SELECT packed IS NULL OR substr(packed, 2, 1) = CAST('w' AS BLOB) FROM entries ORDER BY id";
            self.journal.rows(sql, [], |row| row.get(0)).unwrap()
        }

        #[track_caller]
        fn assert_is_there(&self) {
            let found = self.journal.select(&HistoryQuery::default()).unwrap();
            let found = found.into_iter().map(|Entry { task, before, after, .. }| (task, before, after));
            assert_eq!(found.collect::<Vec<_>>(), self.entries);
        }
    }

    fn long(number: usize) -> String {
        format!("{{\"description\": \"{}\", \"status\": \"{number}\"}}", "what it is about, ".repeat(300))
    }

    #[test]
    fn a_change_is_stored_once_and_the_last_state_is_whole() {
        let mut written = Written::new();
        for number in 0..100 {
            written.write(1, Some(&long(number)));
        }
        written.journal.pack(Revision(0), Revision(100)).unwrap();
        written.journal.recent_images.replace(Default::default());
        written.assert_is_there();
        let whole = written.whole();
        assert!(whole[99], "the last state is whole");
        let longest = whole.split(|is_whole| *is_whole).map(<[bool]>::len).max().unwrap();
        assert_eq!(longest, usize::from(LONGEST_CHAIN));
        let sum = "SELECT sum(coalesce(length(before), 0) + coalesce(length(after), 0) + coalesce(length(packed), 0)) FROM entries";
        let bytes: i64 = written.journal.one(sum, [], |row| row.get(0)).unwrap();
        assert!(bytes < 4 * i64::try_from(long(0).len()).unwrap(), "{bytes}");
    }

    #[test]
    fn what_is_not_flushed_stays_whole() {
        let mut written = Written::new();
        for number in 0..10 {
            written.write(1, Some(&long(number)));
        }
        written.journal.pack(Revision(0), Revision(6)).unwrap();
        assert_eq!(written.whole()[5..], [true; 5]);
        written.journal.pack(Revision(6), Revision(10)).unwrap();
        assert_eq!(written.whole().iter().filter(|is_whole| **is_whole).count(), 2);
        written.assert_is_there();
    }

    #[test]
    fn full_entries_of_older_releases_are_packed_on_tidying() {
        let mut written = Written::new();
        for number in 0..40 {
            written.write(1, Some(&long(number)));
        }
        for number in 1..40_u64 {
            let before = long(usize::try_from(number).unwrap() - 1);
            let sql = "UPDATE entries SET before = CAST(?2 AS BLOB) WHERE id = ?1";
            written.journal.remove(sql, params![first_id(Revision(number + 1)), before]).unwrap();
        }
        // Since then, a release that packs has written the last entry.
        written.journal.pack(Revision(39), Revision(40)).unwrap();
        let sum = "SELECT sum(length(before) + coalesce(length(after), 0) + coalesce(length(packed), 0)) FROM entries";
        let bytes = || written.journal.one(sum, [], |row| row.get::<_, i64>(0)).unwrap();
        let before = bytes();
        written.journal.pack_old(Revision(40), &Pace::straight_on()).unwrap();
        assert!(bytes() * 10 < before, "{} of {before}", bytes());
        written.journal.recent_images.replace(Default::default());
        written.assert_is_there();
    }

    #[test]
    fn a_damaged_difference_is_found_and_never_taken_for_an_image() {
        let mut written = Written::new();
        for number in 0..10 {
            written.write(1, Some(&long(number)));
        }
        written.journal.pack(Revision(0), Revision(10)).unwrap();
        let flip = "UPDATE entries SET packed = CAST(replace(packed, '4', '5') AS BLOB) WHERE id = (SELECT id FROM entries ORDER BY id LIMIT 1 OFFSET 4)";
        written.journal.remove(flip, []).unwrap();
        written.journal.recent_images.replace(Default::default());
        assert!(written.journal.select(&HistoryQuery::default()).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        #[test]
        fn whatever_was_written_comes_back_to_the_byte(
            steps in prop::collection::vec((1..4_u64, prop::option::weighted(0.9, (0..3_usize, ".{0,30}"))), 1..80),
            flushed in prop::collection::vec(0..80_u64, 0..4),
        ) {
            let mut written = Written::new();
            let mut texts = vec![vec!["a".repeat(400), "b".repeat(50), String::new()]; 4];
            for (task, change) in &steps {
                let text = &mut texts[usize::try_from(*task).unwrap()];
                if let Some((place, new)) = change {
                    text[*place].push_str(new);
                }
                written.write(*task, change.as_ref().map(|_| text.concat()).as_deref());
            }
            let mut last = 0;
            for until in flushed {
                if until > last {
                    written.journal.pack(Revision(last), Revision(until)).unwrap();
                    last = until;
                }
            }
            written.journal.recent_images.replace(Default::default());
            written.assert_is_there();
        }
    }
}

#[cfg(test)]
mod rows_tests {
    use super::sum_of;

    #[test]
    fn the_checksum_never_changes() {
        let blob: &[u8] = &[7; 400];
        assert_eq!(sum_of(&[]).unwrap(), 0);
        assert_eq!(sum_of(&[&1_i64, &"two", &3.0_f64, &None::<i64>, &blob]).unwrap(), 1_995_393_072);
    }

    #[test]
    fn what_moves_from_one_column_to_the_next_changes_the_checksum() {
        assert_ne!(sum_of(&[&"ab", &"c"]).unwrap(), sum_of(&[&"a", &"bc"]).unwrap());
        assert_ne!(sum_of(&[&1_i64]).unwrap(), sum_of(&[&"1"]).unwrap());
        assert_ne!(sum_of(&[&None::<i64>]).unwrap(), sum_of(&[&0_i64]).unwrap());
    }

    #[test]
    fn every_flipped_bit_changes_the_checksum() {
        let mut bytes: Vec<u8> = (0..=255).cycle().take(600).collect();
        let whole = sum_of(&[&bytes]).unwrap();
        for place in 0..bytes.len() * 8 {
            bytes[place / 8] ^= 1 << (place % 8);
            assert_ne!(sum_of(&[&bytes]).unwrap(), whole);
            bytes[place / 8] ^= 1 << (place % 8);
        }
    }
}
