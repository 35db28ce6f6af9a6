//! Where the memory of a list is kept, which files and tables it has, and how much space it takes.
//!
//! A list that moves to another store has a note beside its journal that says where it goes. The note is the first file of the move and
//! the last one to be removed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::private::create_new;
use crate::regular_file;
use crate::sqlite::{Schema, Table};
use crate::store::{Departure, StoreError};

/// Returns our own directory for the list at a canonical path.
pub(in crate::store) fn sidecar_of(data: &Path, list: &Path) -> PathBuf {
    data.join("lists").join(sidecar_name(list))
}

/// Returns the data directory that our own directory for a list is in.
pub(super) fn data_of(sidecar: &Path) -> &Path {
    sidecar.ancestors().nth(2).unwrap_or(sidecar)
}

/// Returns a path with its links resolved, as far as it exists: the client locks beside the real file, and two paths to one
/// list are one list.
pub(in crate::store) fn canonical(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

/// Returns a readable directory name for our data about a list, one for each canonical path.
pub(in crate::store) fn sidecar_name(directory: &Path) -> String {
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().take(80).collect();
    format!("{name}-{:016x}", fnv1a(directory.as_os_str().as_encoded_bytes()))
}

/// The 64-bit FNV-1a hash: stable for ever, which the standard library's hashes do not promise.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Tells whether nothing is at a path any more. What cannot be looked at may be there.
pub(in crate::store) fn is_gone(path: &Path) -> bool {
    matches!(fs::symlink_metadata(path), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

/// The name of the database.
pub(super) const DATABASE: &str = "journal.sqlite";
/// The format of the database; a higher one was written by a newer Taskyard.
pub(super) const FORMAT: i64 = 4;

/// The format of the journal of a list that is moving to another store, or has moved. Processes that know nothing of that take it for a
/// newer Taskyard's, and leave it alone.
pub(super) const MOVED: i64 = 9000;

/// The journal.
///
/// Columns have no types. SQLite would use them to convert what is bound, and a row whose values were converted would not match its
/// checksum. Without them the definitions of all tables fit on the first page.
pub(super) static JOURNAL: Schema = Schema {
    file: DATABASE,
    format: FORMAT,
    tables: &[FACTS, ENTRIES, KNOWN, MOVES, LEASES, FORMS],
    indexes: "CREATE INDEX IF NOT EXISTS entries_by_task ON entries (task, id)",
    // A new journal has small pages: every table and index takes at least one, and most lists are short. Commits are made durable
    // by `Journal::sync`, at the moment we choose.
    settings: "PRAGMA page_size = 1024; PRAGMA synchronous = NORMAL;",
};

/// The fact that says where a journal was begun whose predecessor is gone: a revision, a space, a number.
pub(super) const BEGUN: &str = "begun";
/// The fact that says which token was given out last.
pub(super) const TOKEN: &str = "token";
/// The fact that holds the token of the move that brought the list here.
pub(super) const CAME_BY: &str = "came_by";
/// The fact that says up to which revision the journal was thinned out.
pub(super) const THINNED: &str = "thinned";

pub(super) const FACTS: Table =
    Table { name: "facts", since: Some(1), columns: "key PRIMARY KEY, value, sum", ending: ") WITHOUT ROWID" };
pub(super) const ENTRIES: Table = Table {
    name: "entries",
    since: Some(1),
    columns: "
        id INTEGER PRIMARY KEY, at NOT NULL, actor NOT NULL, op NOT NULL, task NOT NULL, before, after, inode,
        undoes, remark, mode, sum, packed",
    ending: ")",
};
pub(super) const KNOWN: Table = Table {
    name: "known",
    since: Some(1),
    columns: "
        task NOT NULL UNIQUE, inode NOT NULL, mtime NOT NULL, size NOT NULL, seen NOT NULL, content NOT NULL, mode,
        sum",
    ending: ")",
};
pub(super) const MOVES: Table = Table {
    name: "moves",
    since: Some(1),
    columns: "token PRIMARY KEY, peer NOT NULL, payload, sum",
    ending: ") WITHOUT ROWID",
};
pub(super) const LEASES: Table = Table {
    name: "leases",
    since: Some(2),
    columns: "
        task NOT NULL PRIMARY KEY, agent NOT NULL, token NOT NULL, taken NOT NULL, ttl, ends, ends_since_boot,
        ends_boot, pid, started, process_boot, grace, machine, pid_space, sum",
    ending: ") WITHOUT ROWID",
};
/// The table that only lists in other dialects have.
pub(super) const FORMS: Table = Table {
    name: "forms",
    since: None,
    columns: "task NOT NULL PRIMARY KEY, form, image NOT NULL, sum",
    ending: ") WITHOUT ROWID",
};

/// Returns how many bytes the journal in a sidecar takes up, with its log.
pub(in crate::store) fn journal_size(sidecar: &Path) -> u64 {
    let size = |ending: &str| fs::metadata(sidecar.join(format!("{DATABASE}{ending}"))).map_or(0, |found| found.len());
    size("") + size("-wal")
}

/// Returns how many bytes everything in a sidecar takes up.
pub(in crate::store) fn memory_size(sidecar: &Path) -> u64 {
    let entries = fs::read_dir(sidecar).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file).map(|found| found.len()).sum()
}

/// The name of the note.
const NOTE: &str = "moved";
/// A note is no longer than this.
const LONGEST_NOTE: u64 = 1 << 20;

/// Returns where the list of a sidecar goes or has gone; `None` if it is here.
pub(in crate::store) fn departure_in(sidecar: &Path) -> Result<Option<Departure>, StoreError> {
    let path = sidecar.join(NOTE);
    let text = match regular_file::read(&path, LONGEST_NOTE) {
        Ok(text) => text,
        Err(why) if why.is_missing() => return Ok(None),
        Err(why) => return Err(StoreError::io("cannot read", path)(why.into())),
    };
    let departure = std::str::from_utf8(&text).ok().and_then(Departure::parse);
    let unclear = || StoreError::io("cannot read", path)(io::ErrorKind::InvalidData.into());
    departure.map(Some).ok_or_else(unclear)
}

/// Tells whether the list of a sidecar goes elsewhere or has gone, without reading where.
pub(in crate::store) fn is_leaving(sidecar: &Path) -> bool {
    sidecar.join(NOTE).symlink_metadata().is_ok()
}

/// Writes the note, in the place of an earlier one.
pub(in crate::store) fn note_departure(sidecar: &Path, departure: &Departure) -> Result<(), StoreError> {
    let (path, new) = (sidecar.join(NOTE), sidecar.join(format!("{NOTE}.new")));
    let written = || -> io::Result<()> {
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = create_new(&new)?;
        file.write_all(departure.print().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(sidecar)?.sync_all()
    };
    written().map_err(StoreError::io("cannot write", &path))
}

/// Removes the note: the list stays.
pub(in crate::store) fn withdraw_departure(sidecar: &Path) -> Result<(), StoreError> {
    let path = sidecar.join(NOTE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("cannot remove", path)(error)),
        _ => {
            File::open(sidecar).and_then(|sidecar| sidecar.sync_all()).map_err(StoreError::io("cannot flush", sidecar))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }
}
