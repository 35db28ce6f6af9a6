//! Keeping what was found wrong with a journal, so that no process writes to it before it is mended.

use std::io;
use std::path::Path;

use super::schema::DATABASE;
use super::stamp::{Stamp, StampFile};
use super::verdict;
use crate::store::StoreError;
use crate::store::journal_damage::JournalDamage;

/// The stamp beside a journal and what it says; none where there is none.
pub(super) type Stamped = Option<(StampFile, Stamp)>;

/// Returns the stamp and what it says.
pub(super) fn look_at_stamp(sidecar: &Path) -> Result<Stamped, JournalDamage> {
    let unopenable = |error: io::Error| JournalDamage::Unopenable { file: "stamp", why: error.to_string() };
    let Some(file) = StampFile::open(sidecar).map_err(unopenable)? else { return Ok(None) };
    match file.read() {
        Some(stamp) => Ok(Some((file, stamp))),
        None => Err(JournalDamage::BadStamp),
    }
}

/// Says that a newer Taskyard has the journal in a sidecar.
pub(super) fn newer(sidecar: &Path, stamp: &Stamp) -> StoreError {
    StoreError::NewerJournal { path: sidecar.join(DATABASE), format: stamp.newer_format() }
}

/// Keeps what was found wrong with the journal in a sidecar, and returns it as an error. What a newer Taskyard writes makes no sense to an
/// older one, and is not damaged by that.
pub(super) fn damaged(sidecar: &Path, what: JournalDamage) -> StoreError {
    if let Ok(Some((_, stamp))) = look_at_stamp(sidecar)
        && stamp.is_newer()
    {
        return newer(sidecar, &stamp);
    }
    verdict::keep(sidecar, &what);
    StoreError::JournalDamaged { path: sidecar.join(DATABASE), what }
}
