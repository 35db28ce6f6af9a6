//! Why something that should be private is not used.

use std::io;
use std::path::{Path, PathBuf};

/// Why something that should be private is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotPrivate {
    /// Another user made it, and may read and change it.
    #[error("`{}` belongs to another user (uid {owner})", .path.display())]
    ForeignOwner {
        /// The file or directory of that user.
        path: PathBuf,
        /// The number of that user.
        owner: u32,
    },
    /// Other users can put files there, and it cannot be closed to them: it is not ours, or not ours alone.
    #[error("other users can write to `{}`", .path.display())]
    OpenToOthers {
        /// The directory they can write to.
        path: PathBuf,
    },
    /// A link, a pipe or the like stands in the place of a file of ours.
    #[error("`{}` is no regular file", .path.display())]
    NoFile {
        /// The path at which it stands.
        path: PathBuf,
    },
}

impl NotPrivate {
    pub(super) fn foreign(path: &Path, owner: u32) -> Self {
        Self::ForeignOwner { path: path.to_owned(), owner }
    }

    pub(super) fn no_file(path: &Path) -> Self {
        Self::NoFile { path: path.to_owned() }
    }
}

impl From<NotPrivate> for io::Error {
    fn from(why: NotPrivate) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, why)
    }
}
