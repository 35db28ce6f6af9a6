//! A commit that exists, while something keeps it from the files.

use std::io;

use crate::store::StoreError;
use crate::store::locks::turn::WriteTurn;

/// Says that a commit exists, and what kept it from the files.
pub(in crate::store) fn unfinished(turn: &WriteTurn, error: StoreError) -> StoreError {
    let (doing, path, source) = match error {
        StoreError::Unfinished { .. } => return error,
        StoreError::Io { doing, path, source } => (doing, path, source),
        other => ("cannot write to", turn.place.directory.clone(), io::Error::other(other)),
    };
    StoreError::Unfinished { doing, path, source }
}
