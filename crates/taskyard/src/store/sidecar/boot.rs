//! In which boot of the machine a list was last looked after.

use std::io::Write as _;
use std::path::Path;

use crate::regular_file;
use crate::store::StoreError;
use crate::{clock, private};

const BOOT_FILE: &str = "boot";
/// The names of boots are shorter than this.
const LONGEST: u64 = 4 * 1024;

/// Tells whether the machine has been up since this was last asked and answered.
pub(in crate::store) fn is_same_boot(sidecar: &Path) -> bool {
    regular_file::read(&sidecar.join(BOOT_FILE), LONGEST).is_ok_and(|boot| boot == clock::boot_id().as_bytes())
}

/// Remembers in which boot the list was last looked after.
pub(in crate::store) fn remember_boot(sidecar: &Path) -> Result<(), StoreError> {
    let path = sidecar.join(BOOT_FILE);
    let written = private::create(&path).and_then(|mut file| file.write_all(clock::boot_id().as_bytes()));
    written.map_err(StoreError::io("cannot write", path))
}
