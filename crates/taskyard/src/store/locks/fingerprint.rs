//! How a file is recognised as unchanged without reading it.

use std::ffi::CStr;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FileType};

pub(in crate::store) use crate::store::journal::Fingerprint;
use crate::store::journal::is_past;

/// One look at a name in a directory.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Look {
    pub(in crate::store) print: Fingerprint,
    /// When it was made, where the file system knows. Tells two inodes of one number apart.
    pub(in crate::store) born: i64,
    /// When anything about it last changed, its name included. No program can set this time.
    pub(in crate::store) changed: i64,
    pub(in crate::store) kind: FileType,
    pub(in crate::store) mode: u32,
}

impl Look {
    /// Tells whether a file that had this fingerprint when it was last seen surely holds what it held then: nothing was done to it since, not
    /// even by a program that kept its size and set its time back.
    pub(in crate::store) fn is_unchanged(&self, known: &Fingerprint, seen: i64) -> bool {
        self.print == *known && known.is_settled(seen) && is_past(self.changed, seen)
    }

    /// Tells whether two looks saw the same file, whatever was done to it in between.
    pub(in crate::store) fn is_same_file(&self, other: &Self) -> bool {
        (self.print.inode, self.born) == (other.print.inode, other.born)
    }
}

/// Looks at a name in a directory, without following a link; nothing there is `None`.
pub(in crate::store) fn look_at(directory: BorrowedFd<'_>, name: &CStr) -> io::Result<Option<Look>> {
    match stat_at(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(look) => Ok(Some(look)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks at an open file.
pub(in crate::store) fn look_through(file: BorrowedFd<'_>) -> io::Result<Look> {
    stat_at(file, c"", AtFlags::EMPTY_PATH)
}

#[cfg(target_os = "linux")]
fn stat_at(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<Look> {
    use rustix::fs::{StatxFlags, statx};
    let wanted = StatxFlags::TYPE
        | StatxFlags::MODE
        | StatxFlags::INO
        | StatxFlags::MTIME
        | StatxFlags::CTIME
        | StatxFlags::SIZE
        | StatxFlags::BTIME;
    let stat = statx(directory, name, flags, wanted)?;
    let nanos = |time: rustix::fs::StatxTimestamp| time.tv_sec * 1_000_000_000 + i64::from(time.tv_nsec);
    Ok(Look {
        print: Fingerprint { inode: stat.stx_ino, mtime: nanos(stat.stx_mtime), size: stat.stx_size },
        born: nanos(stat.stx_btime),
        changed: nanos(stat.stx_ctime),
        kind: FileType::from_raw_mode(u32::from(stat.stx_mode)),
        mode: u32::from(stat.stx_mode) & 0o7777,
    })
}

#[cfg(not(target_os = "linux"))]
fn stat_at(directory: BorrowedFd<'_>, name: &CStr, flags: AtFlags) -> io::Result<Look> {
    let stat =
        if name.is_empty() { rustix::fs::fstat(directory)? } else { rustix::fs::statat(directory, name, flags)? };
    Ok(Look {
        print: Fingerprint {
            inode: stat.st_ino,
            mtime: stat.st_mtime * 1_000_000_000 + stat.st_mtime_nsec,
            size: u64::try_from(stat.st_size).unwrap_or(0),
        },
        born: 0,
        changed: stat.st_ctime * 1_000_000_000 + stat.st_ctime_nsec,
        kind: FileType::from_raw_mode(stat.st_mode),
        mode: u32::from(stat.st_mode) & 0o7777,
    })
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn a_file_changed_within_the_clocks_grain_is_not_trusted() {
        let print = Fingerprint { inode: 1, mtime: 5_000_000_001, size: 1 };
        assert!(!print.is_settled(5_000_000_001));
        assert!(!print.is_settled(5_010_000_001));
        assert!(print.is_settled(5_020_000_001));
    }

    #[test]
    fn whole_seconds_are_a_coarse_clock() {
        let print = Fingerprint { inode: 1, mtime: 5_000_000_000, size: 1 };
        assert!(!print.is_settled(6_900_000_000));
        assert!(print.is_settled(7_000_000_000));
    }
}
