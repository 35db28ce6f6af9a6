//! Where the data of a list is stored: files, tables, and their sizes.
//!
//! While a list moves to another store, a note beside its journal says where it goes. The note is the first file
//! written by the move and the last one removed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use taskyard_core::Timestamp;

use crate::private::create_new;
use crate::regular_file;
use crate::sqlite::{Schema, Table};
use crate::store::{Departure, StoreError};

/// Returns the modification time of a file or directory, if available.
pub(in crate::store) fn changed(path: &Path) -> Option<Timestamp> {
    let changed = fs::metadata(path).and_then(|found| found.modified()).ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
}

/// Returns our own directory for the list at a canonical path.
pub(in crate::store) fn sidecar_of(data: &Path, list: &Path) -> PathBuf {
    data.join("lists").join(sidecar_name(list))
}

/// Returns the data directory that contains a sidecar.
pub(super) fn data_of(sidecar: &Path) -> &Path {
    sidecar.ancestors().nth(2).unwrap_or(sidecar)
}

/// Resolves the links in the part of a path that exists. The client locks beside the real file, and two paths to one
/// list must be the same list.
pub(in crate::store) fn canonical(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

/// Returns a readable directory name for our data about a list, unique to its canonical path.
pub(in crate::store) fn sidecar_name(directory: &Path) -> String {
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().take(80).collect();
    format!("{name}-{:016x}", fnv1a(directory.as_os_str().as_encoded_bytes()))
}

/// The 64-bit FNV-1a hash. It never changes, which the standard library does not guarantee for its hashes.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns whether a path no longer exists. If that cannot be determined, it may exist.
pub(in crate::store) fn is_gone(path: &Path) -> bool {
    matches!(fs::symlink_metadata(path), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

pub(super) const DATABASE: &str = "journal.sqlite";
/// The format of the database. A higher one was written by a newer Taskyard.
pub(super) const FORMAT: i64 = 4;

/// The format of the journal of a list that is moving or has moved to another store. Releases that know nothing about
/// moves take it for a newer Taskyard's and leave it alone.
pub(super) const MOVED: i64 = 9000;

/// The schema of the journal.
///
/// Columns have no types: SQLite would use them to convert values, and a row with converted values would not match its
/// checksum. Without them the definitions of all tables also fit on the first page.
pub(super) static JOURNAL: Schema = Schema {
    file: DATABASE,
    format: FORMAT,
    tables: &[FACTS, ENTRIES, KNOWN, MOVES, LEASES, FORMS],
    indexes: "CREATE INDEX IF NOT EXISTS entries_by_task ON entries (task, id)",
    // Small pages, because every table and index takes at least one, and most lists are short. `Journal::sync` makes
    // commits durable, when we choose.
    settings: "PRAGMA page_size = 1024; PRAGMA synchronous = NORMAL;",
};

/// The fact with the marks at which a journal was begun after its predecessor was lost: a revision, a space, a number.
pub(super) const BEGUN: &str = "begun";
/// The fact with the last token issued.
pub(super) const TOKEN: &str = "token";
/// The fact with the token of the move that brought the list here.
pub(super) const CAME_BY: &str = "came_by";
/// The fact with the revision up to which the journal was thinned.
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
/// Only lists in other dialects have this table.
pub(super) const FORMS: Table = Table {
    name: "forms",
    since: None,
    columns: "task NOT NULL PRIMARY KEY, form, image NOT NULL, sum",
    ending: ") WITHOUT ROWID",
};

/// Returns the size in bytes of the journal in a sidecar, including its log.
pub(in crate::store) fn journal_size(sidecar: &Path) -> u64 {
    let size = |ending: &str| fs::metadata(sidecar.join(format!("{DATABASE}{ending}"))).map_or(0, |found| found.len());
    size("") + size("-wal")
}

/// Returns the size in bytes of all files in a sidecar.
pub(in crate::store) fn memory_size(sidecar: &Path) -> u64 {
    let entries = fs::read_dir(sidecar).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file).map(|found| found.len()).sum()
}

/// The file name of the note.
const NOTE: &str = "moved";
/// The maximum length of a note, in bytes.
const LONGEST_NOTE: u64 = 1 << 20;

/// Returns where the list of a sidecar is going or has gone, or `None` if it is here.
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

/// Returns whether the list of a sidecar is leaving or has left, without reading where to.
pub(in crate::store) fn is_leaving(sidecar: &Path) -> bool {
    sidecar.join(NOTE).symlink_metadata().is_ok()
}

/// Writes the note, replacing an earlier one.
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

/// Removes the note, because the list stays.
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
