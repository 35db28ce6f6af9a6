//! Tasks that other tools hide from the client under a dot name, `.7.json`.
//!
//! Such a file is the task's own where there is none under the plain name; where there is, the plain one counts. A task stays
//! hidden while we write to it, until it is open again. In the client's rules nobody sees it.

use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;

use taskyard_core::TaskId;
use taskyard_core::dialect::macf::hidden_name;

use super::fingerprint::{Look, look_at};
use super::place::{Place, c_name, file_name};
use crate::store::new_name::rename_to_new;

/// Returns the name a task's file has, and what it looks like; where there is none, the name it would get.
pub(super) fn find(place: &Place, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<(CString, Option<Look>)> {
    let plain = file_name(id);
    if let Some(look) = look_at(directory, &plain)? {
        return Ok((plain, Some(look)));
    }
    if let Some(hidden) = other_name(place, id)
        && let Some(look) = look_at(directory, &hidden)?
    {
        return Ok((hidden, Some(look)));
    }
    Ok((plain, None))
}

/// Returns the other name a task's file may have, where those are looked for.
pub(super) fn other_name(place: &Place, id: &TaskId) -> Option<CString> {
    hidden_name(id).filter(|_| place.sees_hidden).map(|name| c_name(&name))
}

/// Tells whether a task is there for others and not for the client, whose rules are ours.
pub(super) fn is_out_of_sight(place: &Place, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<bool> {
    match hidden_name(id).filter(|_| !place.sees_hidden) {
        Some(name) => Ok(look_at(directory, &c_name(&name))?.is_some()),
        None => Ok(false),
    }
}

/// Brings a task that may be hidden back under its plain name.
pub(super) fn unhide(place: &Place, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<()> {
    let Some(hidden) = other_name(place, id) else { return Ok(()) };
    let plain = file_name(id);
    match rename_to_new(directory, &*hidden, &*plain) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists) => Err(error),
        _ => Ok(()),
    }
}
