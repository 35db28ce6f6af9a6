//! Reads a database at rest into memory, including its write-ahead log, without taking a lock or creating files beside
//! it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io, mem};

use rusqlite::Connection;

use super::connection::open_files;
use super::{Database, Schema, beside};
use crate::failpoint::reach_if_named;
use crate::fingerprint::Fingerprint;
use crate::{private, regular_file, system};

/// Larger files are opened with SQLite instead: reading them takes longer than opening them.
pub(crate) const LARGEST: u64 = 256 << 10;
/// Position in the database header of the write and read versions: both are 2 if there is a write-ahead log, else 1.
const LOGGED: std::ops::Range<usize> = 18..20;

/// The files of a database as they were while no process was writing to them.
#[derive(Debug)]
pub(crate) struct AtRest {
    path: PathBuf,
    database: Fingerprint,
    log: Option<Fingerprint>,
}

impl AtRest {
    /// Examines the files of a database. Returns `None` if a process may be writing to one at this instant, or if one
    /// is larger than `limit`.
    fn find(path: &Path, database: Fingerprint, limit: u64) -> Option<Self> {
        let log = print_of(&beside(path, "-wal")).ok()?;
        let (files, now) = ([Some(database), log], system::wall());
        let mut files = files.iter().flatten();
        // Once a file has settled, any later write changes its modification time.
        let is_readable = files.all(|file| file.size <= limit && file.is_settled(now));
        is_readable.then(|| Self { path: path.to_owned(), database, log })
    }

    /// Returns whether no process has written to the database since. Writers change the log, and the database file when
    /// they checkpoint.
    pub(crate) fn is_still_so(&self) -> bool {
        // The log is checked first: if it is unchanged and the database is unchanged after that, what was read of both
        // was consistent.
        print_of(&beside(&self.path, "-wal")).is_ok_and(|log| log == self.log)
            && print_of(&self.path).is_ok_and(|database| database == Some(self.database))
    }

    /// Returns the inode of the database file.
    pub(crate) fn inode(&self) -> u64 {
        self.database.inode
    }
}

/// Returns the fingerprint of a file, or `None` if it does not exist.
fn print_of(path: &Path) -> io::Result<Option<Fingerprint>> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(io::ErrorKind::InvalidInput.into()),
        Ok(found) => Ok(Some(Fingerprint::of(&found))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Database {
    /// Reads a database into memory for reading. The result is valid only if [`AtRest::is_still_so`] returns true
    /// afterwards.
    ///
    /// Returns `None` if the database does not exist, a file is larger than `limit`, was just written or is open in
    /// this process, or anything about the files is unusual. The caller then opens the database, and SQLite reports
    /// what is wrong.
    pub(crate) fn read_at_rest(
        data: &Path,
        path: PathBuf,
        schema: &'static Schema,
        limit: u64,
    ) -> Option<(Self, AtRest)> {
        let found = private::database_at(data, &path).ok()??;
        let (files, inode) = (open_files(), (found.st_dev, found.st_ino));
        if files.contains_key(&inode) {
            return None;
        }
        let rest = AtRest::find(&path, Fingerprint::of_stat(&found), limit)?;
        // Tests stop a process while it reads a journal, and every process reads the machine's database first, so the
        // names differ.
        let [found, half_read] = match schema.file {
            "machine.sqlite" => ["machine at rest: found", "machine at rest: half read"],
            _ => ["at rest: found", "at rest: half read"],
        };
        reach_if_named(found);
        let (file, opened) = regular_file::open(&path, limit).ok()?;
        if (opened.st_dev, opened.st_ino) != inode {
            // Another file replaced it. If SQLite has that file open in this process, closing it here would release the
            // locks of this process.
            mem::forget(file);
            return None;
        }
        let mut pages = read(&file, rest.database.size)?;
        drop(file);
        drop(files);
        if pages.get(LOGGED)? != [2, 2] {
            return None;
        }
        reach_if_named(half_read);
        if let Some(log) = rest.log.filter(|log| log.size > 0) {
            let (file, _) = regular_file::open(&beside(&path, "-wal"), limit).ok()?;
            apply_log(&mut pages, &read(&file, log.size)?, limit)?;
        }
        // An in-memory database has no log.
        pages.get_mut(LOGGED)?.fill(1);
        let connection = in_memory(&pages).ok()?;
        Some((Self::over(connection, path, schema, None).ok()?, rest))
    }
}

fn read(file: &File, size: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    let count = regular_file::read_at(file, &mut bytes, 0).ok()?;
    (count == bytes.len()).then_some(bytes)
}

fn in_memory(pages: &[u8]) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    // Read-only, because writes would be lost.
    connection.deserialize_read_exact("main", pages, pages.len(), true)?;
    Ok(connection)
}

/// Magic number of a log with little-endian checksums. Plus one for big-endian.
const LOG: u32 = 0x377f_0682;
/// The only log format version there is.
const LAYOUT: u32 = 3_007_000;
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Applies the committed frames of a log to the database pages, as SQLite does in recovery
/// (<https://sqlite.org/fileformat2.html#walformat>). Returns `None` if the log does not belong to this database.
fn apply_log(pages: &mut Vec<u8>, log: &[u8], limit: u64) -> Option<()> {
    // A log no longer than its header has no commits, and SQLite ignores one with an invalid header.
    let Some((header, frames)) = log.split_at_checked(HEADER) else { return Some(()) };
    let number = |bytes: &[u8], place: usize| bytes[place..place + 4].try_into().map_or(0, u32::from_be_bytes);
    let is_highest_first = match number(header, 0).wrapping_sub(LOG) {
        0 => false,
        1 => true,
        _ => return Some(()),
    };
    let mut sum = Sum { is_highest_first, sums: [0, 0] };
    sum.add(&header[..24]);
    if sum.sums != [number(header, 24), number(header, 28)] {
        return Some(());
    }
    let size = usize::try_from(number(header, 8)).ok()?;
    let own_size = match u16::from_be_bytes(pages.get(16..18)?.try_into().ok()?) {
        1 => 1 << 16,
        size => usize::from(size),
    };
    if number(header, 4) != LAYOUT || size != own_size || size < 512 {
        return None;
    }
    let longest = usize::try_from(limit.saturating_mul(2)).ok()?;
    let mut uncommitted = Vec::new();
    for frame in frames.chunks_exact(FRAME_HEADER + size) {
        let (head, page) = frame.split_at(FRAME_HEADER);
        sum.add(&head[..8]);
        sum.add(page);
        // The frames after the last valid one are from an earlier log, or half written.
        if head[8..16] != header[16..24] || sum.sums != [number(head, 16), number(head, 20)] {
            break;
        }
        uncommitted.push((usize::try_from(number(head, 0)).ok()?.checked_sub(1)?, page));
        let count = usize::try_from(number(head, 4)).ok()?;
        if count > 0 {
            let length = count.checked_mul(size).filter(|length| *length <= longest)?;
            pages.resize(length, 0);
            for (place, page) in uncommitted.drain(..) {
                // Pages beyond the end were freed by truncation.
                if let Some(room) = pages.get_mut(place * size..(place + 1) * size) {
                    room.copy_from_slice(page);
                }
            }
        }
    }
    Some(())
}

/// The running checksum of a log.
struct Sum {
    is_highest_first: bool,
    sums: [u32; 2],
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let number = |bytes: &[u8]| {
            let bytes = bytes.try_into().unwrap_or_default();
            if self.is_highest_first { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let [mut first, mut second] = self.sums;
        for pair in bytes.chunks_exact(8) {
            first = first.wrapping_add(number(&pair[..4])).wrapping_add(second);
            second = second.wrapping_add(number(&pair[4..])).wrapping_add(first);
        }
        self.sums = [first, second];
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    use rusqlite::config::DbConfig;
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

    use super::super::{Database, Schema, Table};
    use super::{AtRest, LARGEST};

    const WORDS: Table = Table { name: "words", since: Some(1), columns: "word", ending: ")" };
    static SCHEMA: Schema = Schema { file: "db", format: 1, tables: &[WORDS], indexes: "", settings: "" };

    fn words(database: &Database) -> Vec<String> {
        database.rows("SELECT word FROM words", [], |row| row.get(0)).unwrap()
    }

    fn count(place: &Path) -> usize {
        fs::read_dir(place).unwrap().count()
    }

    /// Opens a database that keeps its log when it is closed, as if its process had been killed.
    fn open(data: &Path) -> Database {
        let database = Database::open(data, &SCHEMA).unwrap();
        database.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
        database.batch("write", "PRAGMA wal_autocheckpoint = 0").unwrap();
        database
    }

    fn add(database: &Database, word: &str) {
        database.execute("INSERT INTO words VALUES (?1)", [word]).unwrap();
    }

    /// Backdates the files.
    fn settle(data: &Path) {
        set_time(data, SystemTime::now() - Duration::from_secs(9));
    }

    fn set_time(data: &Path, time: SystemTime) {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let time = Timespec { tv_sec: since.as_secs().cast_signed(), tv_nsec: since.subsec_nanos().into() };
        let times = Timestamps { last_access: time, last_modification: time };
        for file in ["db", "db-wal"] {
            // By path: closing a descriptor would release the locks of this process.
            let _ = utimensat(CWD, data.join(file), &times, AtFlags::empty());
        }
    }

    fn read(data: &Path) -> Option<(Database, AtRest)> {
        Database::read_at_rest(data, data.join("db"), &SCHEMA, LARGEST)
    }

    #[test]
    fn database_and_log_are_read_and_nothing_is_left() {
        let data = tempfile::tempdir().unwrap();
        let mut expected = Vec::new();
        for round in 0..3 {
            let database = open(data.path());
            for word in 0..4 {
                expected.push(format!("{round}-{word}{}", "x".repeat(3000 * word)));
                add(&database, expected.last().unwrap());
            }
            if round == 1 {
                // The next commit restarts the log, overwriting earlier frames.
                database.batch("write", "PRAGMA wal_checkpoint(RESTART)").unwrap();
                expected.push("last".to_owned());
                add(&database, "last");
            }
            drop(database);
            settle(data.path());
            let files = count(data.path());
            let (copy, rest) = read(data.path()).unwrap();
            assert_eq!((words(&copy), count(data.path())), (expected.clone(), files));
            assert!(rest.is_still_so());
            assert!(copy.execute("INSERT INTO words VALUES ('two')", []).is_err(), "it is only read");
        }
    }

    #[test]
    fn half_a_commit_in_the_log_does_not_count() {
        let data = tempfile::tempdir().unwrap();
        let database = open(data.path());
        add(&database, "one");
        let log = data.path().join("db-wal");
        let whole = fs::metadata(&log).unwrap().len();
        add(&database, &"two".repeat(5000));
        drop(database);
        let length = fs::metadata(&log).unwrap().len();
        for cut in [length - 1, whole + 1, (whole + length) / 2] {
            let file = File::options().write(true).open(&log).unwrap();
            file.set_len(cut).unwrap();
            settle(data.path());
            assert_eq!(words(&read(data.path()).unwrap().0), ["one"], "{cut} of {length}");
        }
    }

    #[test]
    fn what_is_written_meanwhile_is_noticed() {
        let data = tempfile::tempdir().unwrap();
        add(&open(data.path()), "one");
        settle(data.path());
        let (copy, rest) = read(data.path()).unwrap();
        let database = open(data.path());
        add(&database, "two");
        assert!(!rest.is_still_so());
        assert_eq!(words(&copy), ["one"]);
        drop(database);
        // In the future, so that it counts as just written however long this test is delayed.
        set_time(data.path(), SystemTime::now() + Duration::from_secs(3600));
        assert!(read(data.path()).is_none(), "it was written this instant");
    }

    #[test]
    fn locks_of_this_process_are_kept() {
        let data = tempfile::tempdir().unwrap();
        let database = Database::open(data.path(), &SCHEMA).unwrap();
        settle(data.path());
        let inode = fs::metadata(data.path().join("db")).unwrap().ino();
        let lock = format!("{} ", std::process::id());
        let place = format!(":{inode} 1073741826 1073742335");
        let look = || {
            let locks = fs::read_to_string("/proc/locks").unwrap();
            locks.lines().any(|line| line.contains(&lock) && line.ends_with(&place))
        };
        // `/proc/locks` can omit lines while other processes come and go.
        let is_locked = || (0..20).any(|_| look());
        assert!(is_locked());
        assert!(read(data.path()).is_none(), "to close the file would give the locks back");
        assert!(is_locked());
        drop(database);
        settle(data.path());
        assert!(read(data.path()).is_some());
    }
}
