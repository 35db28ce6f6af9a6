//! Having the kernel tell of a list's directory, where it knows of everything that is done to it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

use crate::liveness::is_written_here_only;
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
    // Of what other machines, or programs of the user's own, do to a file system the kernel does not tell.
    if !is_written_here_only(directory) {
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
