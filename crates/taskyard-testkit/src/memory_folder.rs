//! A folder that no disk holds.

use std::path::Path;

use rustix::fs::statvfs;
use tempfile::TempDir;

/// A place in memory with less room than this, as containers have it, is left alone.
const ROOM: u64 = 512 * 1024 * 1024;

/// Makes a temporary folder in memory, where the system has a place for that: for what is tested often, or measured, and must not wait for
/// what else the disk is busy with.
pub fn folder_in_memory() -> TempDir {
    let memory = Some(Path::new("/dev/shm")).filter(|memory| has_room(memory));
    let place = memory.map_or_else(std::env::temp_dir, Path::to_owned);
    tempfile::Builder::new().prefix("taskyard-").tempdir_in(place).expect("a temporary directory can be made")
}

fn has_room(folder: &Path) -> bool {
    statvfs(folder).is_ok_and(|found| found.f_bavail * found.f_frsize >= ROOM)
}
