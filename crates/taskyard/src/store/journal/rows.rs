//! The rows of the journal's tables: their checksums, the ids of entries, and the images in entries.
//!
//! The checksum is a CRC-32 of the other columns, so that a damaged row is detected. An image may be stored packed, see
//! `packing.rs`.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use crc32fast::Hasher;
use rusqlite::types::{ToSqlOutput, Type, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, ToSql};
use taskyard_core::packing::{Unpackable, needs_base, unpack};
use taskyard_core::{Image, Revision};

use crate::sqlite::Table;
use crate::store::error::JournalDamage;

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
