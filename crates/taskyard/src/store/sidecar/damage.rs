//! What can be wrong with a journal, and how that is told from an error that passes.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use super::sums::WrongSum;
use crate::store::StoreError;

/// SQLite's code for SQL that does not fit the tables. Ours always does, so the tables are not what they were.
const SQLITE_ERROR: i32 = 1;
/// SQLite's code for a file that ends before it should.
const SQLITE_IOERR_SHORT_READ: i32 = 522;

/// What is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalDamage {
    /// A row does not match its checksum.
    #[error("a row of `{table}` does not match its checksum")]
    WrongSum {
        /// The table.
        table: &'static str,
    },
    /// A row holds a value that no release writes there.
    #[error("a row holds what was never written there ({why})")]
    WrongValue {
        /// What was found instead.
        why: String,
    },
    /// SQLite finds that the database is not whole.
    #[error("the database is not whole ({why})")]
    Malformed {
        /// What SQLite says.
        why: String,
    },
}

/// Returns what an error of SQLite's says of the journal: that it is damaged, or only that something could not be done now.
pub(super) fn judge(error: Error, doing: &'static str, path: &Path) -> StoreError {
    match damage(&error) {
        Some(what) => StoreError::JournalDamaged { path: path.to_owned(), what },
        None => StoreError::Journal { doing, path: path.to_owned(), source: error },
    }
}

fn damage(error: &Error) -> Option<JournalDamage> {
    let wrong_value = || Some(JournalDamage::WrongValue { why: error.to_string() });
    match error {
        Error::FromSqlConversionFailure(_, _, source) => match source.downcast_ref::<WrongSum>() {
            Some(wrong) => Some(JournalDamage::WrongSum { table: wrong.table }),
            None => wrong_value(),
        },
        Error::InvalidColumnType(..) | Error::IntegralValueOutOfRange(..) | Error::Utf8Error(..) => wrong_value(),
        Error::SqliteFailure(failure, _) => {
            let is_damage = matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
                || matches!(failure.extended_code, SQLITE_ERROR | SQLITE_IOERR_SHORT_READ);
            is_damage.then(|| JournalDamage::Malformed { why: error.to_string() })
        }
        Error::SqlInputError { .. } => Some(JournalDamage::Malformed { why: error.to_string() }),
        _ => None,
    }
}
