//! What the watcher of a directory is told.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What has happened in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// Nothing.
    Nothing,
    /// Something was done to the files of these names.
    To(BTreeMap<OsString, Deed>),
    /// It is not known what; the directory is watched further.
    Anything,
    /// It is not known what, and nothing more will be told: the directory is no longer in its place.
    Gone,
}

/// What was done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    /// A file was renamed to its name, and nothing else was done to what stands there.
    MovedThere,
    /// Anything else.
    Touched,
}
