//! Directories on a system that is not asked what happens in them.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// A directory that is watched: there is none here.
#[derive(Debug)]
pub(crate) struct DirectoryWatch(Infallible);

/// What has happened in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// Nothing.
    Nothing,
    /// Something was done to the files of these names.
    To(BTreeSet<OsString>),
    /// Nobody knows what; the directory is watched further.
    Anything,
    /// Nobody knows what, and nothing more will be told: the directory is no longer in its place.
    Gone,
}

impl DirectoryWatch {
    /// Returns what has happened since this was last asked.
    pub(crate) fn take(&self) -> Happened {
        match self.0 {}
    }
}

/// Fails: look at the files instead.
pub(crate) fn watch(_path: &Path) -> io::Result<DirectoryWatch> {
    Err(io::ErrorKind::Unsupported.into())
}
