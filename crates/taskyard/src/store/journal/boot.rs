//! In which boot of the machine a list was last looked after. The stamp has room for it; a file of its own takes a block.

use std::fs;
use std::io;
use std::path::Path;

use super::stamp::{StampFile, is_lasting};
use crate::clock;
use crate::regular_file;
use crate::store::StoreError;

/// Where older releases kept it.
const OLD_FILE: &str = "boot";
/// The names of boots are shorter than this.
const LONGEST: u64 = 4 * 1024;

/// Tells whether the machine has been up since this was last asked and answered.
pub(in crate::store) fn is_same_boot(sidecar: &Path) -> Result<bool, StoreError> {
    let stamp = sidecar.join("stamp");
    let remembered = StampFile::open(sidecar).and_then(|stamp| stamp.map_or(Ok(None), |stamp| stamp.boot()));
    let remembered = match remembered {
        // What it is or whose it is keeps us from reading it, and it says nothing.
        Err(error) if is_lasting(&error) => None,
        remembered => remembered.map_err(StoreError::io("cannot read", stamp))?,
    };
    let remembered = remembered.or_else(|| regular_file::read(&sidecar.join(OLD_FILE), LONGEST).ok());
    Ok(remembered.is_some_and(|boot| boot == clock::boot_id().as_bytes()))
}

/// Remembers in which boot the list was last looked after.
pub(in crate::store) fn remember_boot(sidecar: &Path) -> Result<(), StoreError> {
    let stamp = StampFile::open(sidecar).and_then(|stamp| stamp.ok_or_else(|| io::ErrorKind::NotFound.into()));
    let written = stamp.and_then(|stamp| stamp.set_boot(clock::boot_id().as_bytes()));
    written.map_err(StoreError::io("cannot write", sidecar.join("stamp")))?;
    let _ = fs::remove_file(sidecar.join(OLD_FILE));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::stamp::StampFile;
    use super::{is_same_boot, remember_boot};
    use crate::clock;

    #[test]
    fn the_boot_is_remembered_in_the_stamp_and_known_from_files_of_older_releases() {
        let sidecar = tempfile::tempdir().unwrap();
        let stamp = StampFile::create(sidecar.path(), StampFile::blank()).unwrap();
        assert!(!is_same_boot(sidecar.path()).unwrap());
        fs::write(sidecar.path().join("boot"), clock::boot_id().as_bytes()).unwrap();
        assert!(is_same_boot(sidecar.path()).unwrap());
        remember_boot(sidecar.path()).unwrap();
        assert!(is_same_boot(sidecar.path()).unwrap() && !sidecar.path().join("boot").exists());
        let before = stamp.read().unwrap();
        stamp.set_boot(b"another and a longer one than before, say").unwrap();
        assert!(!is_same_boot(sidecar.path()).unwrap() && stamp.read().unwrap() == before);
    }
}
