//! How a file is recognised as unchanged without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::Stat;

/// The identity of a file's contents as the file system tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) inode: u64,
    pub(crate) mtime: i64,
    pub(crate) size: u64,
}

/// Clocks that stamp files tick this often, at worst, where times have fractions of a second.
const GRAIN: i64 = 20_000_000;
/// ... and this often where they have none.
const COARSE_GRAIN: i64 = 2_000_000_000;

/// What the file system tells of a file, with the time of its last change of any kind, which no program can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) print: Fingerprint,
    changed: i64,
}

impl FileStamp {
    /// Takes it from what the system tells of a file.
    pub(crate) fn of(found: &Metadata) -> Self {
        let changed = found.ctime().saturating_mul(1_000_000_000).saturating_add(found.ctime_nsec());
        Self { print: Fingerprint::of(found), changed }
    }

    /// Tells whether a file that still looks like this was surely not changed since `seen`.
    pub(crate) fn is_settled(&self, seen: i64) -> bool {
        self.print.is_settled(seen) && is_past(self.changed, seen)
    }
}

/// Tells whether a time that the file system gave lies so far before a moment that no later one could be the same.
pub(crate) fn is_past(time: i64, moment: i64) -> bool {
    let grain = if time % 1_000_000_000 == 0 { COARSE_GRAIN } else { GRAIN };
    time.saturating_add(grain) <= moment
}

impl Fingerprint {
    /// Takes it from what the system tells of a file.
    pub(crate) fn of(found: &Metadata) -> Self {
        let mtime = found.mtime().saturating_mul(1_000_000_000).saturating_add(found.mtime_nsec());
        Self { inode: found.ino(), mtime, size: found.size() }
    }

    /// Takes it from what the system tells of a file in its own words.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the numbers are narrower on other systems")]
    pub(crate) fn of_stat(found: &Stat) -> Self {
        let mtime = i64::from(found.st_mtime).saturating_mul(1_000_000_000).saturating_add(found.st_mtime_nsec as i64);
        Self { inode: found.st_ino as u64, mtime, size: u64::try_from(found.st_size).unwrap_or(0) }
    }

    /// Tells whether a file that still looks like this was surely not rewritten since `seen`: one that was changed within
    /// the clock's grain of being looked at may have changed again without a trace.
    pub(crate) fn is_settled(&self, seen: i64) -> bool {
        is_past(self.mtime, seen)
    }
}
