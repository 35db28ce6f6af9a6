//! Putting a copy of a journal where a list has no memory: beside its place first, whole, and then by one rename.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::Journal;
use super::boot::remember_boot;
use super::damage::judge;
use super::departing::must_go_on_from;
use super::departure_note::departure_in;
use super::opening::{lock_alone, sync_directories};
use super::portable::refuse_what_acts;
use super::schema::{BEGUN, CAME_BY, DATABASE, TOKEN};
use super::stamp::{StampFile, Standstill};
use super::verifying::begun_from;
use crate::clock;
use crate::failpoint::reach;
use crate::private::{create_new, make_directory};
use crate::store::kit::first_token;
use crate::store::{ArrivingList, StoreError};

/// What the place begins with in which a journal is made ready.
const STAGING: &str = ".restoring-";
/// Tokens go on so far above those of the copy: what was given out since it was made must never prove a new lease.
const TOKENS_ABOVE: i64 = 1_000_000;

/// Puts a copy of a journal in the place of a list's memory. Returns false, and does nothing, where there is a memory already. A list that
/// moved away from here and comes back takes the place of what it left.
///
/// One process at a time does this in a data directory: the caller has its lock.
pub(in crate::store) fn install(sidecar: &Path, list: &Path, arriving: &ArrivingList<'_>) -> Result<bool, StoreError> {
    let staging = staging_of(sidecar);
    remove(&staging)?;
    let has_left = departure_in(sidecar)?.is_some_and(|departure| departure.has_left);
    let comes_back = arriving.token.is_some() && has_left;
    if comes_back {
        must_go_on_from(sidecar, arriving.journal)?;
    } else if has_memory(sidecar) {
        return Ok(false);
    }
    let ready = make_directory(&staging).map_err(StoreError::io("cannot create", &staging)).and_then(|()| {
        let database = staging.join(DATABASE);
        copy_file(arriving.journal, &database).map_err(StoreError::io("cannot write", &database))?;
        reach("restore: the journal is copied");
        make_ready(&staging, list, arriving.token)
    });
    if let Err(error) = ready {
        remove(&staging)?;
        return Err(error);
    }
    reach("restore: the journal is ready");
    if comes_back {
        renameat_with(CWD, &staging, CWD, sidecar, RenameFlags::EXCHANGE)
            .map_err(|error| StoreError::io("cannot write", sidecar)(error.into()))?;
        sync_directories(sidecar);
        reach("restore: the journal is in its place");
        remove(&staging)?;
        return Ok(true);
    }
    match fs::rename(&staging, sidecar) {
        Ok(()) => {}
        // Another process has begun one meanwhile, and that one counts.
        Err(error) if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => {
            remove(&staging)?;
            return Ok(false);
        }
        Err(error) => return Err(StoreError::io("cannot write", sidecar)(error)),
    }
    sync_directories(sidecar);
    reach("restore: the journal is in its place");
    Ok(true)
}

/// Tells whether there is a memory of a list, whatever its state.
pub(in crate::store) fn has_memory(sidecar: &Path) -> bool {
    [DATABASE, "stamp"].iter().any(|name| sidecar.join(name).symlink_metadata().is_ok())
}

/// Makes a copied database one of today's that is of this list.
fn make_ready(staging: &Path, list: &Path, token_of_move: Option<&str>) -> Result<(), StoreError> {
    let alone = lock_alone(staging)?;
    let mut journal = Journal::connect(staging.join(DATABASE))?;
    journal.database.known_format("open").map_err(judge)?;
    refuse_what_acts(&journal)?;
    let transaction = journal.database.begin_upgrade(&alone).map_err(judge)?;
    journal.begun = journal.fact::<String>(BEGUN)?.map(|text| begun_from(&text)).unwrap_or_default();
    journal.set_fact("path", list.to_string_lossy())?;
    let token = journal.fact::<i64>(TOKEN)?.unwrap_or(0);
    let token = token.saturating_add(TOKENS_ABOVE).max(first_token(clock::now()).0.cast_signed());
    journal.set_fact(TOKEN, token)?;
    match token_of_move {
        Some(token) => journal.set_fact(CAME_BY, token)?,
        None => journal.remove("DELETE FROM facts WHERE key = ?1", [CAME_BY])?,
    }
    // What the files of a list that comes back hold is on the disk before they have their names.
    journal.set_fact("flushed", journal.newest()?.0.cast_signed())?;
    journal.end(transaction)?;
    journal.copy_whole_log()?;
    let marks = journal.marks()?;
    let stamp = StampFile::blank().of_next_database(marks, Standstill::None);
    StampFile::create(staging, stamp).map_err(StoreError::io("cannot write", staging.join("stamp")))?;
    remember_boot(staging)?;
    drop(journal);
    let database = fs::File::open(staging.join(DATABASE)).and_then(|database| database.sync_all());
    database.map_err(StoreError::io("cannot flush", staging))?;
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = create_new(to)?;
    io::copy(&mut fs::File::open(from)?, &mut copy)?;
    Ok(())
}

fn staging_of(sidecar: &Path) -> PathBuf {
    let name = sidecar.file_name().unwrap_or_default().to_string_lossy();
    sidecar.with_file_name(format!("{STAGING}{name}"))
}

/// Removes what a process left that died on the way.
fn remove(staging: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(staging) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("cannot remove", staging)(error)),
        _ => Ok(()),
    }
}
