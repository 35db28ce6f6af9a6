//! The two marks of a list: the highest number used, which the client reads, and the last commit applied to every file.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use taskyard_core::Revision;
use taskyard_core::dialect::native::next_number;

use super::reading::files;
use crate::regular_file::{self, NotRead};
use crate::store::StoreError;
use crate::store::locks::client_lock;
use crate::store::locks::list_paths::c_name;
use crate::store::locks::turn::WriteTurn;

/// Records in the turn record that a commit is in every file.
pub(in crate::store) fn mark_applied(turn: &mut WriteTurn, revision: Revision) -> Result<(), StoreError> {
    turn.state.applied = revision.0;
    turn.state.sequence = (turn.state.sequence | 1) + 1;
    turn.save()
}

/// Raises `.highwatermark`, as the client does before it removes a file.
pub(in crate::store) fn raise_mark(turn: &WriteTurn, mark: f64) -> Result<(), StoreError> {
    let (text, name) = (next_number(mark - 1.0), c_name(".highwatermark"));
    let directory = turn.directory.as_fd();
    if overwrite_mark(turn, text.as_bytes()).is_ok() {
        return Ok(());
    }
    let replaced = files::replace(directory, &name, text.as_bytes()).or_else(|error| match error.kind() {
        // If the mark is a directory, it is renamed with its contents.
        io::ErrorKind::IsADirectory => {
            client_lock::set_aside(directory, &name, ".highwatermark.unreadable")?;
            files::replace(directory, &name, text.as_bytes())
        }
        _ => Err(error),
    });
    replaced.map_err(StoreError::io("cannot write", turn.place.directory.join(".highwatermark")))
}

/// Overwrites a mark with a higher one in place, as the client does: file systems flush a file that is renamed over
/// another, while other programs wait for the list's lock. Overwriting digits with at least as many digits leaves a
/// valid number at any moment.
fn overwrite_mark(turn: &WriteTurn, text: &[u8]) -> Result<(), NotRead> {
    let file = regular_file::open_to_change(&turn.place.directory.join(".highwatermark"))?;
    let mut found = [0; 32];
    let length = regular_file::read_at(&file, &mut found, 0)?;
    match found[..length].iter().all(u8::is_ascii_digit) && (1..=text.len()).contains(&length) {
        true => Ok(file.write_all_at(text, 0)?),
        false => Err(NotRead::System(io::ErrorKind::InvalidData.into())),
    }
}
