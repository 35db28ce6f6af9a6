//! What somebody who watches a directory is told.

use std::collections::BTreeSet;
use std::ffi::OsString;

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
