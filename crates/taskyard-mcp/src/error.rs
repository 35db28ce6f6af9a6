//! Why a server does not run.

use std::io;

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The system refuses what a server needs.
    #[error("cannot start the server: {0}")]
    Start(#[source] io::Error),
    /// There was no connection, or it broke.
    #[error("no connection: {0}")]
    Connection(String),
}
