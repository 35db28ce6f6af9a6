//! The programs of PostgreSQL, and whose their files are.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use crate::process::{NOBODY, is_root};

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

/// Gives a directory to the user that the programs run as: PostgreSQL refuses to serve root.
pub(super) fn give_away(directory: &Path) {
    if is_root() {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}
