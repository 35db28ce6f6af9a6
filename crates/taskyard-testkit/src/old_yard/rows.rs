//! What is in a database, read past all of our own code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value;
use tempfile::TempDir;

/// The rows of every table of a database, by the columns that it had when they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows(BTreeMap<String, (String, Vec<String>)>);

impl Rows {
    /// Reads every row of a database, past all of our own code.
    pub fn of(database: &Path) -> Self {
        let copy = Copy::of(database);
        let tables = texts(&copy.connection, "SELECT name FROM sqlite_schema WHERE type = 'table'");
        let rows = |table: String| {
            let columns = texts(&copy.connection, &format!("SELECT name FROM pragma_table_info('{table}')")).join(", ");
            let found = rows_of(&copy.connection, &table, &columns);
            (table, (columns, found))
        };
        Self(tables.into_iter().map(rows).collect())
    }

    /// Reads the same columns of the same tables of a database that may have got more of both.
    pub fn again_in(&self, database: &Path) -> Self {
        let copy = Copy::of(database);
        let again = |(table, (columns, _)): (&String, &(String, Vec<String>))| {
            (table.clone(), (columns.clone(), rows_of(&copy.connection, table, columns)))
        };
        Self(self.0.iter().map(again).collect())
    }

    /// Returns the names of the tables.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the rows of a table, in the order of their text.
    pub fn rows(&self, table: &str) -> &[String] {
        self.0.get(table).map_or(&[], |(_, rows)| rows)
    }

    /// Returns how many rows a table has.
    pub fn count(&self, table: &str) -> usize {
        self.rows(table).len()
    }
}

fn rows_of(database: &Connection, table: &str, columns: &str) -> Vec<String> {
    let mut statement = database.prepare(&format!("SELECT {columns} FROM {table}")).expect("the table is there");
    let count = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| {
        let values: Vec<Value> = (0..count).map(|place| row.get(place)).collect::<Result<_, _>>()?;
        Ok(format!("{values:?}"))
    };
    let rows = statement.query_map([], row).expect("the table can be read");
    let mut rows: Vec<String> = rows.collect::<Result<_, _>>().expect("the rows can be read");
    rows.sort();
    rows
}

/// A copy of a database and its log, open: nothing of the database itself changes.
pub(super) struct Copy {
    pub(super) connection: Connection,
    _folder: TempDir,
}

impl Copy {
    pub(super) fn of(database: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let copy = folder.path().join("copy");
        fs::copy(database, &copy).expect("the database is there");
        let log = PathBuf::from(format!("{}-wal", database.display()));
        if log.exists() {
            fs::copy(log, folder.path().join("copy-wal")).expect("its log can be copied");
        }
        Self { connection: Connection::open(&copy).expect("the copy can be opened"), _folder: folder }
    }
}

pub(super) fn texts(database: &Connection, sql: &str) -> Vec<String> {
    let mut statement = database.prepare(sql).expect("the query is good");
    let rows = statement.query_map([], |row| row.get(0)).expect("the tables can be listed");
    rows.collect::<Result<_, _>>().expect("names are text")
}
