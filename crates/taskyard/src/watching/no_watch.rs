//! Stub for systems on which directories are not watched.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::Happened;

/// A watched directory; it never exists here.
#[derive(Debug)]
pub(crate) struct DirectoryWatch(Infallible);

impl DirectoryWatch {
    /// Returns what has happened since the last call.
    pub(crate) fn take(&self) -> Happened {
        match self.0 {}
    }
}

/// Always fails; the caller polls the files instead.
pub(crate) fn watch(_path: &Path, _wants: fn(&OsStr) -> bool) -> io::Result<DirectoryWatch> {
    Err(io::ErrorKind::Unsupported.into())
}
