//! What the user should know of configuration that does not count.

use std::path::PathBuf;

use taskyard_core::rules::lists::ownership::Doubt;

/// What the user should know of configuration that does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigWarning {
    /// Keys of a project's file are ignored, because the user does not trust the project.
    #[error("{} in `{}` {} ignored: the directory is not trusted", .keys.join(", "), .path.display(), are(.keys))]
    Untrusted {
        /// The file.
        path: PathBuf,
        /// The keys. They are our own words: a file that the user does not trust has no say in what is told of it.
        keys: Vec<&'static str>,
    },
    /// Whether a project is trusted could not be found out, so it counts as not trusted.
    #[error("cannot tell whether `{}` is trusted: {why}", .directory.display())]
    TrustUnknown {
        /// The root of the project.
        directory: PathBuf,
        /// Why not.
        why: String,
    },
    /// A file does not count at all.
    #[error("`{}` does not count: {doubt}", .path.display())]
    NotCounted {
        /// The file.
        path: PathBuf,
        /// Why another user could have written it.
        doubt: Doubt,
    },
}

fn are(keys: &[&str]) -> &'static str {
    if keys.len() == 1 { "is" } else { "are" }
}
