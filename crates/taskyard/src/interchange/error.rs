//! Why another program's files could not be read or written.

use std::io;
use std::path::PathBuf;

use taskyard_core::dialect::foreign::BadSource;

/// Why another program's files could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterchangeError {
    /// The system refused something.
    #[error("cannot {doing} `{}`: {source}", .path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or folder it was done to.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file stands where the format has a folder.
    #[error("`{}` is a file, and {format} is a folder", .path.display())]
    NotAFolder {
        /// What was given.
        path: PathBuf,
        /// What should be read.
        format: &'static str,
    },
    /// A folder stands where the format has a file.
    #[error("`{}` is a folder, and {format} is a file", .path.display())]
    NotAFile {
        /// What was given.
        path: PathBuf,
        /// What should be read.
        format: &'static str,
    },
    /// The contents are something else.
    #[error("cannot read `{}`: {source}", .path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: BadSource,
    },
    /// A file of another format.
    #[error("`{}` is not in the format {format}: it looks like {looks_like}", .path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// What should be read.
        format: &'static str,
        /// What it seems to be.
        looks_like: &'static str,
    },
    /// Nothing of the format is there.
    #[error("no tasks in the format {format} found in `{}`", .path.display())]
    NothingFound {
        /// What was given.
        path: PathBuf,
        /// What should be read.
        format: &'static str,
    },
    /// A folder to be written has something in it.
    #[error("`{}` is not empty", .path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
}
