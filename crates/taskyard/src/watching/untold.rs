//! Directories on a system that is not asked what happens in them.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::Happened;

/// A directory that is watched: there is none here.
#[derive(Debug)]
pub(crate) struct DirectoryWatch(Infallible);

impl DirectoryWatch {
    /// Returns what has happened since this was last asked.
    pub(crate) fn take(&self) -> Happened {
        match self.0 {}
    }
}

/// Fails: look at the files instead.
pub(crate) fn watch(_path: &Path, _wants: fn(&OsStr) -> bool) -> io::Result<DirectoryWatch> {
    Err(io::ErrorKind::Unsupported.into())
}
