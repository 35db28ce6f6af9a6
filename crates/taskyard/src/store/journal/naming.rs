//! Where our memory of a list is kept.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns our own directory for the list at a canonical path.
pub(in crate::store) fn sidecar_of(data: &Path, list: &Path) -> PathBuf {
    data.join("lists").join(sidecar_name(list))
}

/// Returns the data directory that our own directory for a list is in.
pub(super) fn data_of(sidecar: &Path) -> &Path {
    sidecar.ancestors().nth(2).unwrap_or(sidecar)
}

/// Returns a path with its links resolved, as far as it exists: the client locks beside the real file, and two paths to one
/// list are one list.
pub(in crate::store) fn canonical(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in path.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), path.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path
}

/// Returns a readable directory name for our data about a list, one for each canonical path.
pub(in crate::store) fn sidecar_name(directory: &Path) -> String {
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name: String = name.chars().take(80).collect();
    format!("{name}-{:016x}", fnv1a(directory.as_os_str().as_encoded_bytes()))
}

/// The 64-bit FNV-1a hash: stable for ever, which the standard library's hashes do not promise.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Tells whether nothing is at a path any more. What cannot be looked at may be there.
pub(in crate::store) fn is_gone(path: &Path) -> bool {
    matches!(fs::symlink_metadata(path), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::fnv1a;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(fnv1a(b"foobar"), 0x85944171f73967e8);
    }
}
