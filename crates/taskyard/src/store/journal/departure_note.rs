//! The note beside the journal of a list that moves to another store: it says where the list goes, and is there first and goes last.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use crate::private::create_new;
use crate::regular_file;
use crate::store::{Departure, StoreError};

/// The name of the note.
const NOTE: &str = "moved";
/// A note is no longer than this.
const LONGEST: u64 = 1 << 20;

/// Returns where the list of a sidecar goes or has gone; `None` if it is here.
pub(in crate::store) fn departure_in(sidecar: &Path) -> Result<Option<Departure>, StoreError> {
    let path = sidecar.join(NOTE);
    let text = match regular_file::read(&path, LONGEST) {
        Ok(text) => text,
        Err(why) if why.is_missing() => return Ok(None),
        Err(why) => return Err(StoreError::io("cannot read", path)(why.into())),
    };
    let departure = std::str::from_utf8(&text).ok().and_then(Departure::parse);
    let unclear = || StoreError::io("cannot read", path)(io::ErrorKind::InvalidData.into());
    departure.map(Some).ok_or_else(unclear)
}

/// Tells whether the list of a sidecar goes elsewhere or has gone, without reading where.
pub(in crate::store) fn is_leaving(sidecar: &Path) -> bool {
    sidecar.join(NOTE).symlink_metadata().is_ok()
}

/// Writes the note, in the place of an earlier one.
pub(in crate::store) fn note_departure(sidecar: &Path, departure: &Departure) -> Result<(), StoreError> {
    let (path, new) = (sidecar.join(NOTE), sidecar.join(format!("{NOTE}.new")));
    let written = || -> io::Result<()> {
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = create_new(&new)?;
        file.write_all(departure.print().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(sidecar)?.sync_all()
    };
    written().map_err(StoreError::io("cannot write", &path))
}

/// Removes the note: the list stays.
pub(in crate::store) fn withdraw_departure(sidecar: &Path) -> Result<(), StoreError> {
    let path = sidecar.join(NOTE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("cannot remove", path)(error)),
        _ => {
            File::open(sidecar).and_then(|sidecar| sidecar.sync_all()).map_err(StoreError::io("cannot flush", sidecar))
        }
    }
}
