//! Why a configuration file cannot be used.

use std::io;
use std::path::PathBuf;

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The system refused.
    #[error("cannot read `{}`: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no TOML, or a value is not what its key takes.
    #[error("`{}` line {line}: {message}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where in it, counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}
