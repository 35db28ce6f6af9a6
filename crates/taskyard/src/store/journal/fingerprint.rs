//! How a file is recognised as unchanged without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

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
