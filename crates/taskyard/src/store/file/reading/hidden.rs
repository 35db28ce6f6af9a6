//! Tasks that other tools hide from the client under a dot name, `.7.json`, or `..7.json` where they did so twice.
//!
//! Such a file is the task's own where there is none under the plain name; where there is, the plain one counts. A task stays hidden while
//! we write to it, until it is open again. In the client's rules it is not seen.

use std::ffi::CString;
use std::io;
use std::os::fd::BorrowedFd;

use taskyard_core::TaskId;
use taskyard_core::dialect::macf::hidden_names;

use crate::store::locks::fingerprint::{Look, look_at};
use crate::store::locks::list_paths::{ListPaths, c_name, file_name};
use crate::store::new_name::rename_to_new;

/// Returns the name a task's file has, and what it looks like; where there is none, the name it would get.
pub(in crate::store) fn find(
    place: &ListPaths,
    directory: BorrowedFd<'_>,
    id: &TaskId,
) -> io::Result<(CString, Option<Look>)> {
    let plain = file_name(id);
    if let Some(look) = look_at(directory, &plain)? {
        return Ok((plain, Some(look)));
    }
    for hidden in other_names(place, id) {
        if let Some(look) = look_at(directory, &hidden)? {
            return Ok((hidden, Some(look)));
        }
    }
    Ok((plain, None))
}

/// Returns the other names a task's file may have, where those are looked for, the one that counts first.
pub(in crate::store) fn other_names(place: &ListPaths, id: &TaskId) -> impl Iterator<Item = CString> {
    let sees_hidden = place.sees_hidden;
    hidden_names(id).filter(move |_| sees_hidden).map(|name| c_name(&name))
}

/// Tells whether a task is there for other programs and not for the client, whose rules are ours.
pub(in crate::store) fn is_out_of_sight(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<bool> {
    for name in hidden_names(id).filter(|_| !place.sees_hidden) {
        if look_at(directory, &c_name(&name))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Brings a task that may be hidden back under its plain name.
pub(in crate::store) fn unhide(place: &ListPaths, directory: BorrowedFd<'_>, id: &TaskId) -> io::Result<()> {
    let plain = file_name(id);
    for hidden in other_names(place, id) {
        match rename_to_new(directory, &*hidden, &*plain) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => return Ok(()),
        }
    }
    Ok(())
}
