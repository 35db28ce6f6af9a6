//! Closing to other users what an older version left open.

use std::fs;
use std::path::Path;

use rustix::fs::{FileType, Mode, Stat, chmod, lstat};

use super::directory::close;
use super::file::FILE;
use super::owner::{is_open, is_to_be_closed, kind, rights};

/// The names of ours in a data directory, or what they begin with.
const DIRECTORIES: [&str; 7] = ["lists", "jobs", "inboxes", "set-aside", "alive", "hook-turns", "edits"];
const FILES: [&str; 8] =
    ["machine.", "teams.sqlite", "archive.sqlite", "tidied", "elapsed", TOKEN, ".serve-token.", "serve-open-"];
/// A secret that other users could have written is not made ours by closing it: its readers refuse it.
const TOKEN: &str = "serve-token";

/// Tells whether there is nothing in a data directory but what is ours.
pub(super) fn holds_only_ours(data: &Path) -> bool {
    names(data).all(|name| is_ours(&name))
}

/// Tells whether anything of ours in a data directory is open to other users and can be closed. What is further below was left open
/// together with it.
pub(super) fn holds_open(data: &Path) -> bool {
    let is_open = |name: String| lstat(data.join(name)).is_ok_and(|found| is_to_be_closed(&found));
    names(data).filter(|name| is_ours(name)).any(is_open)
}

/// Closes everything of ours in a data directory, whichever release had left it open. What cannot be closed stays as it is.
pub(super) fn tighten_below(data: &Path) {
    tracing::info!(data = %data.display(), "what other users could read is closed to them");
    for name in names(data).filter(|name| is_ours(name)) {
        tighten(&data.join(name));
    }
}

fn is_ours(name: &str) -> bool {
    DIRECTORIES.contains(&name) || FILES.iter().any(|start| name.starts_with(start))
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}

fn tighten(path: &Path) {
    let Ok(found) = lstat(path) else { return };
    match kind(&found) {
        FileType::Directory => {
            // The directory first: from then on no other user can exchange what is in it.
            if is_open(&found) {
                close(path, rights(&found));
            }
            names(path).for_each(|name| tighten(&path.join(name)));
        }
        FileType::RegularFile if is_open(&found) && !is_doubtful_secret(path, &found) => {
            if let Err(error) = chmod(path, Mode::from_raw_mode(rights(&found) & FILE)) {
                tracing::debug!(path = %path.display(), %error, "a file stays open to others");
            }
        }
        _ => {}
    }
}

fn is_doubtful_secret(path: &Path, found: &Stat) -> bool {
    path.file_name().is_some_and(|name| name == TOKEN) && rights(found) & 0o022 != 0
}
