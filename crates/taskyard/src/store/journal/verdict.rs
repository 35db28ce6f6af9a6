//! What was found wrong with a journal, kept beside it until `doctor --fix` has mended it: the file `damaged`.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use taskyard_core::Timestamp;

use super::stamp::{StampFile, Standstill};
use crate::store::journal_damage::JournalDamage;
use crate::{clock, private};

const FILE: &str = "damaged";

#[derive(Serialize, Deserialize)]
struct Wire {
    /// When it was found, in milliseconds.
    at: i64,
    /// What was found, in words.
    found: String,
}

/// Keeps what was found, and lets no process write to the journal any more. What was found first stays.
pub(super) fn keep(sidecar: &Path, what: &JournalDamage) {
    if !what.is_kept() {
        return;
    }
    keep_as(sidecar, what, Standstill::Damaged);
}

/// Keeps what was found, with what it means for writers; returns whether that is noted.
pub(super) fn keep_as(sidecar: &Path, what: &JournalDamage, standstill: Standstill) -> bool {
    let path = sidecar.join(FILE);
    if !path.exists() {
        let wire = Wire { at: clock::now().0, found: what.to_string() };
        let text = serde_json::to_string(&wire).unwrap_or_default();
        if let Err(error) = private::create(&path).and_then(|mut file| file.write_all(text.as_bytes())) {
            tracing::debug!(%error, "the verdict on a damaged journal is not kept");
        }
    }
    let stamp = StampFile::open(sidecar).ok().flatten();
    stamp.is_some_and(|stamp| stamp.change(|stamp| stamp.standstill = standstill))
}

/// Returns what was kept.
pub(super) fn read(sidecar: &Path) -> JournalDamage {
    let text = fs::read(sidecar.join(FILE)).unwrap_or_default();
    match serde_json::from_slice::<Wire>(&text) {
        Ok(wire) => JournalDamage::Found { at: Some(Timestamp(wire.at)), what: wire.found },
        // That there is one is what counts.
        Err(_) => JournalDamage::Found { at: None, what: "what was found cannot be read any more".to_owned() },
    }
}

/// Forgets what was found: the journal is whole.
pub(super) fn clear(sidecar: &Path) {
    let _ = fs::remove_file(sidecar.join(FILE));
}
