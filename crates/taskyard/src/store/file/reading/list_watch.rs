//! Having the kernel tell of a list's directory, where it knows of everything that is done to it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use crate::store::locks::fingerprint::look_through;
use crate::watching::{self, DirectoryWatch};

/// A directory of which the kernel tells what happens in it.
#[derive(Debug)]
pub(in crate::store) struct ListWatch {
    pub(in crate::store) changes: DirectoryWatch,
    pub(in crate::store) inode: u64,
}

/// Returns which directory it is.
pub(in crate::store) fn inode_of(directory: BorrowedFd<'_>) -> Option<u64> {
    look_through(directory).ok().map(|look| look.print.inode)
}

/// Begins to watch a list's directory.
pub(in crate::store) fn watch(directory: BorrowedFd<'_>, path: &Path, inode: u64) -> io::Result<ListWatch> {
    if !tells_everything(directory) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let changes = watching::watch(path, may_hold_task)?;
    // The path may have come to lead elsewhere in between.
    if rustix::fs::stat(path)?.st_ino != inode {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(ListWatch { changes, inode })
}

/// Tells whether a file may hold a task.
fn may_hold_task(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".json")
}

/// Tells whether the kernel knows of everything that is done to a file system. Of one that other machines, or programs of the user's own,
/// write to it does not.
#[cfg(target_os = "linux")]
fn tells_everything(directory: BorrowedFd<'_>) -> bool {
    /// NFS, SMB, SMB2, CIFS, FUSE, 9P, Ceph, AFS, Coda, GFS2, OCFS2, Lustre, vboxsf, and a host's directory in a virtual machine.
    const ELSEWHERE: [u32; 14] = [
        0x6969,
        0x517B,
        0xFE53_4D42,
        0xFF53_4D42,
        0x6573_5546,
        0x0102_1997,
        0x00C3_6400,
        0x5346_414F,
        0x7375_7245,
        0x0116_1970,
        0x7461_636F,
        0x0BD0_0BD0,
        0x786F_4256,
        0x6A65_6A62,
    ];
    rustix::fs::fstatfs(directory).is_ok_and(|found| !ELSEWHERE.contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn tells_everything(_directory: BorrowedFd<'_>) -> bool {
    false
}
