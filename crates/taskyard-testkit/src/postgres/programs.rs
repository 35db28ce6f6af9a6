//! The programs of PostgreSQL, and whom they run as.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The user `nobody` and its group, on every Debian.
const NOBODY: u32 = 65_534;

/// Returns a program of PostgreSQL: Debian keeps them apart from other programs, by version.
pub fn postgres_program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| Some((version.file_name().to_str()?.parse().ok()?, version.path())))
        .map(|(version, folder)| (version, folder.join("bin").join(name)))
        .filter(|(_, program)| program.exists())
        .collect();
    found.sort();
    found.pop().map_or_else(|| name.into(), |(_, program)| program)
}

/// Has a program run as somebody without rights where we are root, whom PostgreSQL refuses to serve.
pub fn unprivileged(command: &mut Command) -> &mut Command {
    match rustix::process::getuid().is_root() {
        true => command.uid(NOBODY).gid(NOBODY),
        false => command,
    }
}

/// Gives a directory to whoever the programs run as.
pub(super) fn give_away(directory: &Path) {
    if rustix::process::getuid().is_root() {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}
