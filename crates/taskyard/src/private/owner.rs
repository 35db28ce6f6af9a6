//! Whose files we use.

use std::path::Path;

use rustix::fd::AsFd;
use rustix::fs::{FileType, Stat, chownat, fchown, stat};
use rustix::process::{Gid, Uid, geteuid};

use super::NotPrivate;

/// Tells whether a file is our own or root's, who can change everything anyway.
pub fn is_ours_or_roots(owner: u32) -> bool {
    owner == geteuid().as_raw() || owner == 0
}

/// Fails where another user owns it. Root uses every user's: it could not be kept from it, and helps users with theirs.
pub(super) fn must_be_ours(path: &Path, found: &Stat) -> Result<(), NotPrivate> {
    if is_ours_or_roots(found.st_uid) || geteuid().is_root() {
        return Ok(());
    }
    Err(NotPrivate::foreign(path, found.st_uid))
}

/// Returns the rights on what was found.
#[allow(clippy::useless_conversion, reason = "a mode is narrower on other systems")]
pub(super) fn rights(found: &Stat) -> u32 {
    u32::from(found.st_mode) & 0o7777
}

/// Tells whether another user than the owner has any right on it.
pub(super) fn is_open(found: &Stat) -> bool {
    rights(found) & 0o077 != 0
}

/// Tells whether other users have rights on it and we could take them away.
pub(super) fn is_to_be_closed(found: &Stat) -> bool {
    is_open(found) && (geteuid().is_root() || found.st_uid == geteuid().as_raw())
}

/// Returns what kind of file was found.
pub(super) fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Gives a file that root has just made to the user in whose directory it is, who could not use it otherwise.
pub(super) fn give_file(file: impl AsFd, path: &Path) {
    if let Some((owner, group)) = owner_above(path) {
        let _ = fchown(file, Some(owner), Some(group));
    }
}

/// Does the same with a directory.
pub(super) fn give_directory(path: &Path) {
    if let Some((owner, group)) = owner_above(path) {
        let _ = chownat(rustix::fs::CWD, path, Some(owner), Some(group), rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    }
}

fn owner_above(path: &Path) -> Option<(Uid, Gid)> {
    if !geteuid().is_root() {
        return None;
    }
    let above = stat(path.parent()?).ok()?;
    // Where every user may put files, the owner of the directory owns no more than that.
    (above.st_uid != 0 && rights(&above) & 0o002 == 0)
        .then(|| (Uid::from_raw(above.st_uid), Gid::from_raw(above.st_gid)))
}
