//! A database file that no process has open.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::fingerprint::Fingerprint;
use crate::clock;
use crate::sqlite::beside;

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
