//! The checksum of a row: a CRC-32 over its other columns, so that a damaged row is told from a whole one.

use crc32fast::Hasher;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Row, ToSql};
use taskyard_core::Image;

use super::recent_images::{AFTER, BEFORE, Images, SUM};
use super::wrong_sum::wrong;
use crate::sqlite::Table;

/// Columns are gathered up to this many bytes before they are summed: one long run costs less than many short ones.
const GATHERED: usize = 256;

/// Returns the columns that a checksum is made of, in their order, and the checksum itself. What a format adds comes after it.
pub(super) fn columns_of(table: &Table) -> Vec<&'static str> {
    let mut columns: Vec<&str> = table.column_names().collect();
    let end = columns.iter().position(|column| *column == "sum").map_or(columns.len(), |sum| sum + 1);
    columns.truncate(end);
    columns
}

/// Writes one row: its columns, and after them their checksum.
pub(super) fn execute(statement: &mut CachedStatement<'_>, columns: &[&dyn ToSql]) -> rusqlite::Result<usize> {
    let sum = sum_of(columns)?;
    execute_with(statement, columns, sum)
}

/// Writes one row with this checksum.
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

/// Fails where a row's last column is a checksum, and not that of the columns before it. A row that an older release wrote has
/// none and counts as whole.
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

/// Fails where a row of entries, with its images rebuilt, has another checksum than it was written with.
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

/// Returns the checksum of columns.
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

/// A checksum under way. Every value goes in with its kind and its length, so that no two rows of different columns are alike.
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
