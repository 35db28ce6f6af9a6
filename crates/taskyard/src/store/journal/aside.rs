//! Keeping a damaged database: it gets another name, is never deleted, and never takes the place of another.

use std::fs;
use std::io;
use std::path::Path;

use super::schema::DATABASE;
use crate::clock;
use crate::store::StoreError;

/// The files of a database, by what follows its name.
const PARTS: [&str; 2] = ["-wal", ""];

/// Gives the database and its log other names, and removes the index of the log.
pub(super) fn keep(sidecar: &Path) -> Result<(), StoreError> {
    keep_parts(sidecar, &PARTS)
}

/// Gives a log other than that of a database another name.
pub(super) fn keep_log(sidecar: &Path) -> Result<(), StoreError> {
    keep_parts(sidecar, &["-wal"])
}

/// Tells whether there is a log in which something was written.
pub(super) fn has_log(sidecar: &Path) -> bool {
    fs::metadata(sidecar.join(format!("{DATABASE}-wal"))).is_ok_and(|log| log.len() > 0)
}

fn keep_parts(sidecar: &Path, parts: &[&str]) -> Result<(), StoreError> {
    // It is made anew from the log whenever it is missing.
    let index = sidecar.join(format!("{DATABASE}-shm"));
    let _ = fs::remove_file(&index).or_else(|_| fs::remove_dir(&index));
    let name = free_name(sidecar);
    for part in parts {
        let from = sidecar.join(format!("{DATABASE}{part}"));
        match fs::rename(&from, sidecar.join(format!("{name}{part}"))) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("cannot rename", from)(error)),
        }
    }
    Ok(())
}

/// Returns a name under which nothing lies yet, with the moment in it.
fn free_name(sidecar: &Path) -> String {
    let is_free = |name: &String| PARTS.iter().all(|part| !sidecar.join(format!("{name}{part}")).exists());
    let moment = clock::now().0;
    (0..)
        .map(|offset| format!("{DATABASE}.damaged-{}", moment + offset))
        .find(is_free)
        .expect("there is no end of names")
}
