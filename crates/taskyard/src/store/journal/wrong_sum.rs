//! A row that is not what was written.

use rusqlite::types::Type;

/// A row whose checksum is not that of its columns.
#[derive(Debug, thiserror::Error)]
#[error("a row of `{table}` does not match its checksum")]
pub(super) struct WrongSum {
    pub(super) table: &'static str,
}

/// Returns the error of a row that is not what was written.
pub(super) fn wrong(place: usize, table: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(place, Type::Integer, Box::new(WrongSum { table }))
}
