//! How a file is recognised as unchanged without reading it, and a database file as one that no process has open.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::clock;
use crate::sqlite::beside;

/// The identity of a file's contents as the file system tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct Fingerprint {
    pub(in crate::store) inode: u64,
    pub(in crate::store) mtime: i64,
    pub(in crate::store) size: u64,
}

/// Clocks that stamp files tick this often, at worst, where times have fractions of a second.
const GRAIN: i64 = 20_000_000;
/// ... and this often where they have none.
const COARSE_GRAIN: i64 = 2_000_000_000;

/// What the file system tells of a file, with the time of its last change of any kind, which no program can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct FileStamp {
    pub(in crate::store) print: Fingerprint,
    changed: i64,
}

impl FileStamp {
    /// Takes it from what the system tells of a file.
    pub(in crate::store) fn of(found: &Metadata) -> Self {
        let changed = found.ctime().saturating_mul(1_000_000_000).saturating_add(found.ctime_nsec());
        Self { print: Fingerprint::of(found), changed }
    }

    /// Tells whether a file that still looks like this was surely not changed since `seen`.
    pub(in crate::store) fn is_settled(&self, seen: i64) -> bool {
        self.print.is_settled(seen) && is_past(self.changed, seen)
    }
}

/// Tells whether a time that the file system gave lies so far before a moment that no later one could be the same.
pub(in crate::store) fn is_past(time: i64, moment: i64) -> bool {
    let grain = if time % 1_000_000_000 == 0 { COARSE_GRAIN } else { GRAIN };
    time.saturating_add(grain) <= moment
}

impl Fingerprint {
    /// Takes it from what the system tells of a file.
    pub(in crate::store) fn of(found: &Metadata) -> Self {
        let mtime = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Self { inode: found.ino(), mtime, size: found.size() }
    }

    /// Tells whether a file that still looks like this was surely not rewritten since `seen`: one that was changed within
    /// the clock's grain of being looked at may have changed again without a trace.
    pub(in crate::store) fn is_settled(&self, seen: i64) -> bool {
        is_past(self.mtime, seen)
    }
}

/// Larger ones are opened: copying them takes longer than making a log.
pub(super) const LARGEST: u64 = 128 << 10;

/// A database file that no process had open, as it was then.
#[derive(Debug)]
pub(crate) struct AtRest {
    path: PathBuf,
    print: Fingerprint,
    /// Tells whether a log beside the database means that it is in use.
    is_in_use: fn(&Path) -> bool,
}

impl AtRest {
    /// Looks at a database; none where a process has it open, or may have written to it at this instant, or it is large.
    pub(super) fn find(path: &Path) -> Option<Self> {
        Self::find_unless(path, may_have_log)
    }

    /// Looks at a database likewise, and takes an empty log for none: processes that only read leave one behind.
    pub(crate) fn find_beside_empty_log(path: &Path) -> Option<Self> {
        Self::find_unless(path, may_have_writes_in_log)
    }

    fn find_unless(path: &Path, is_in_use: fn(&Path) -> bool) -> Option<Self> {
        let print = Fingerprint::of(&fs::metadata(path).ok()?);
        let is_small = print.size <= LARGEST;
        // From a settled file the next write can be told by its time.
        (is_small && print.is_settled(clock::wall()) && !is_in_use(path)).then(|| Self {
            path: path.to_owned(),
            print,
            is_in_use,
        })
    }

    /// Tells whether no process has written to the database since.
    ///
    /// Every process writes to the log first, which is there until it is copied into the file. So where there is no log now, or an empty one,
    /// what was written has changed the file.
    pub(crate) fn is_still_so(&self) -> bool {
        !(self.is_in_use)(&self.path)
            && fs::metadata(&self.path).is_ok_and(|found| Fingerprint::of(&found) == self.print)
    }
}

/// Tells whether there is a log beside a database, of either kind that SQLite makes.
fn may_have_log(path: &Path) -> bool {
    let is_missing = |ending: &str| {
        fs::symlink_metadata(beside(path, ending)).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    };
    !(is_missing("-wal") && is_missing("-journal"))
}

/// Tells whether something may be in a log beside a database.
fn may_have_writes_in_log(path: &Path) -> bool {
    let is_empty = |ending: &str| match fs::symlink_metadata(beside(path, ending)) {
        Ok(found) => found.is_file() && found.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    !(is_empty("-wal") && is_empty("-journal"))
}
