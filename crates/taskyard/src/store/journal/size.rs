//! How much room our memory of a list takes up.

use std::fs;
use std::path::Path;

use super::schema::DATABASE;

/// Returns how many bytes the journal in a sidecar takes up, with its log.
pub(in crate::store) fn journal_size(sidecar: &Path) -> u64 {
    let size = |ending: &str| fs::metadata(sidecar.join(format!("{DATABASE}{ending}"))).map_or(0, |found| found.len());
    size("") + size("-wal")
}

/// Returns how many bytes everything in a sidecar takes up.
pub(in crate::store) fn memory_size(sidecar: &Path) -> u64 {
    let entries = fs::read_dir(sidecar).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(fs::Metadata::is_file).map(|found| found.len()).sum()
}
