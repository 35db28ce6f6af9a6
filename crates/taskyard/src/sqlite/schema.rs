//! The tables of a database, as its owner names them.

/// What a database of ours is.
///
/// Formats only grow: a newer one has more tables, or more columns after the last one of a table. So these tables are all that is
/// needed to make a database, to give an older one what is new, and to read an older one that may not be written.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The name of its file.
    pub(crate) file: &'static str,
    /// The format of today; a higher one was written by a newer Taskyard.
    pub(crate) format: i64,
    /// The tables.
    pub(crate) tables: &'static [Table],
    /// SQL that makes the indexes where they are missing.
    pub(crate) indexes: &'static str,
    /// SQL that every connection begins with.
    pub(crate) settings: &'static str,
}

/// One table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// The format that first had it; none for one that not every database has, and that its owner makes.
    pub(crate) since: Option<i64>,
    /// Its columns with their types, as SQL. New ones come last.
    pub(crate) columns: &'static str,
    /// What follows the columns, as SQL.
    pub(crate) ending: &'static str,
}

impl Table {
    /// Returns SQL that makes it where it is missing.
    pub(crate) fn creation(&self) -> String {
        // SQLite keeps the text as it is, blanks included.
        let columns: Vec<&str> = self.columns_beyond(&[]).collect();
        format!("CREATE TABLE IF NOT EXISTS {}({}{};", self.name, columns.join(","), self.ending)
    }

    /// Returns the names of its columns.
    pub(crate) fn column_names(&self) -> impl Iterator<Item = &'static str> {
        self.columns_beyond(&[]).map(name_of)
    }

    /// Returns the columns, as SQL, that are not among those of these names.
    pub(super) fn columns_beyond(&self, there: &[String]) -> impl Iterator<Item = &'static str> {
        self.columns.split(',').map(str::trim).filter(|column| there.iter().all(|name| name != name_of(column)))
    }
}

/// Returns the name of a column from its definition.
pub(super) fn name_of(definition: &'static str) -> &'static str {
    definition.split(' ').next().unwrap_or(definition)
}
