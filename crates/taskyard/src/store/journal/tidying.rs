//! Tidying a journal: thins old entries, packs what older releases wrote, and returns free space to the file system.
//!
//! A list that no process has used for long is archived and its directory removed, but only if no other process has the
//! journal open. This can be interrupted at any point: until the directory is renamed, the journal in it counts, and
//! after that the archive does.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use rustix::fs::{FlockOperation, flock};
use taskyard_core::{Revision, TaskId, Timestamp};

use super::damage::judge;
use super::layout::{DATABASE, FORMAT, changed, data_of, is_gone};
use super::opening::lock_alone;
use super::stamp::StampFile;
use super::thinning::{Thinned, Thinning};
use super::{Journal, archive};
use crate::failpoint::reach;
use crate::private;
use crate::private::prepare_database;
use crate::sqlite::beside;
use crate::store::StoreError;
use crate::store::journal::pace::Pace;
use crate::store::journal::thinning::TidyTerms;

/// How many of the newest revisions are never thinned because of the journal's size, so that recent changes can be
/// undone.
const NEVER_TOO_LARGE: u64 = 32;
/// A smaller database is rebuilt as a whole to free space. In a larger one, pages are moved, some at a time.
const SMALL: u64 = 1 << 20;
/// A larger database is not rebuilt, because writers would wait too long. New entries reuse the free space.
const TOO_LARGE: u64 = 512 << 20;
/// About how long work takes that cannot be split, unless the disk is slow.
const UNDIVIDED: Duration = Duration::from_millis(15);
/// How many pages to free in one transaction.
const PAGES_AT_ONCE: u32 = 128;
/// The suffix of the copy that is tidied instead of the journal for a dry run.
const TRIAL: &str = "trial";

/// The result of tidying a journal, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TidiedJournal {
    /// The size of the files in bytes, before and after.
    pub bytes: (u64, u64),
    /// How many entries were removed.
    pub entries: u64,
    /// The named tasks whose last state was removed.
    pub forgotten: Vec<TaskId>,
    /// Whether the list was idle for so long that it was archived.
    pub is_put_away: bool,
}

/// Tidies the journal in a sidecar. Returns `None` if there is none.
pub(in crate::store) fn tidy(
    sidecar: &Path,
    terms: &TidyTerms,
    named: &HashSet<TaskId>,
) -> Result<Option<TidiedJournal>, StoreError> {
    let Some(list) = list_of(sidecar)? else { return Ok(None) };
    remove_trial(sidecar);
    let before = size_of(sidecar, DATABASE);
    let journal = Journal::open(sidecar, &list)?;
    let thinned = journal.tidy(&list, terms, named)?;
    let is_idle = journal.is_long_idle(&list, terms)?;
    drop(journal);
    let is_put_away = is_idle && terms.pace.has_left(UNDIVIDED) && put_away(sidecar, &list, terms)?;
    Ok(Some(tidied(before, size_of(sidecar, DATABASE), thinned, is_put_away)))
}

/// Returns what tidying the journal in a sidecar would do. Tidies a temporary copy.
pub(in crate::store) fn try_tidy(
    sidecar: &Path,
    terms: &TidyTerms,
    named: &HashSet<TaskId>,
) -> Result<Option<TidiedJournal>, StoreError> {
    let Some(list) = list_of(sidecar)? else { return Ok(None) };
    remove_trial(sidecar);
    let name = format!("{DATABASE}.{TRIAL}");
    let result = try_copy(sidecar, &name, &list, terms, named);
    remove_trial(sidecar);
    let (thinned, after, is_idle) = result?;
    let after = if is_idle { 0 } else { after };
    Ok(Some(tidied(size_of(sidecar, DATABASE), after, thinned, is_idle)))
}

fn try_copy(
    sidecar: &Path,
    name: &str,
    list: &Path,
    terms: &TidyTerms,
    named: &HashSet<TaskId>,
) -> Result<(Thinned, u64, bool), StoreError> {
    let path = sidecar.join(name);
    prepare_database(data_of(sidecar), &path).map_err(StoreError::io("cannot write", &path))?;
    if let Some(journal) = Journal::open_to_read(sidecar)? {
        // Executed directly, because VACUUM cannot run in the transaction that our helpers would begin.
        let copied = journal.database.connection.execute("VACUUM INTO ?1", [path.to_string_lossy()]);
        copied.map_err(|error| judge(journal.database.failed("read")(error)))?;
    }
    let mut copy = Journal::connect(path)?;
    if copy.database.known_format("open").map_err(judge)? < FORMAT {
        let alone = lock_alone(sidecar)?;
        copy.end(copy.database.begin_upgrade(&alone).map_err(judge)?)?;
    }
    copy.know_where_it_began()?;
    if !copy.has_forms()? {
        // Real tidying first makes sure that the files are durable.
        copy.set_fact("flushed", copy.newest()?.0.cast_signed())?;
    }
    let thinned = copy.tidy(list, terms, named)?;
    let is_idle = copy.is_long_idle(list, terms)?;
    drop(copy);
    Ok((thinned, size_of(sidecar, name), is_idle))
}

fn tidied(before: u64, after: u64, Thinned { entries, forgotten }: Thinned, is_put_away: bool) -> TidiedJournal {
    TidiedJournal { bytes: (before, after), entries, forgotten, is_put_away }
}

/// Returns the path of the list that a sidecar belongs to, or `None` if there is no journal in it.
pub(in crate::store) fn list_of(sidecar: &Path) -> Result<Option<PathBuf>, StoreError> {
    let Some(journal) = Journal::open_to_read(sidecar)? else { return Ok(None) };
    Ok(journal.fact::<String>("path")?.map(PathBuf::from))
}

/// Returns the time of the newest entry in a sidecar, or `None` if there is none.
pub(in crate::store) fn newest_time(sidecar: &Path) -> Result<Option<Timestamp>, StoreError> {
    let Some(journal) = Journal::open_to_read(sidecar)? else { return Ok(None) };
    let newest = journal.row("SELECT at FROM entries ORDER BY id DESC LIMIT 1", [], |row| row.get(0))?;
    Ok(newest.map(Timestamp))
}

/// Returns the size in bytes of a database and its log.
pub(in crate::store) fn size_of(sidecar: &Path, name: &str) -> u64 {
    let path = sidecar.join(name);
    [path.clone(), beside(&path, "-wal")].iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
}

fn remove_trial(sidecar: &Path) {
    let path = sidecar.join(format!("{DATABASE}.{TRIAL}"));
    for ending in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(beside(&path, ending));
    }
}

impl Journal {
    /// Tidies the journal of the list at a path.
    pub(super) fn tidy(&self, list: &Path, terms: &TidyTerms, named: &HashSet<TaskId>) -> Result<Thinned, StoreError> {
        let (pace, list_is_gone) = (&terms.pace, is_gone(list));
        self.record_age(terms)?;
        let gone_until = self.old_until(terms)?;
        let limit = self.settled_until(list_is_gone)?;
        let horizon = gone_until.min(limit);
        let mut thinning = Thinning { horizon, gone_until, list_is_gone, named };
        let mut thinned = self.thin_out(&thinning, pace)?;
        self.pack_old(limit, pace)?;
        while !pace.is_over()
            && let Some(horizon) = self.horizon_of_size(terms.max_size, thinning.horizon, limit)?
        {
            thinning.horizon = horizon;
            let more = self.thin_out(&thinning, pace)?;
            thinned.entries += more.entries;
            thinned.forgotten.extend(more.forgotten);
        }
        self.give_back_room(pace)?;
        Ok(thinned)
    }

    /// Returns the revision up to which nothing has to be written out to the files again, even after a power loss.
    pub(super) fn settled_until(&self, list_is_gone: bool) -> Result<Revision, StoreError> {
        if list_is_gone {
            // Only the last state of each task may have to be written out, and that is kept.
            return self.newest();
        }
        let fact = if self.has_forms()? { "applied" } else { "flushed" };
        Ok(Revision(self.fact::<i64>(fact)?.unwrap_or(0).unsigned_abs()))
    }

    /// Returns a later horizon for thinning, or `None` if the journal is not larger than `max_size`.
    fn horizon_of_size(
        &self,
        max_size: u64,
        horizon: Revision,
        limit: Revision,
    ) -> Result<Option<Revision>, StoreError> {
        let Room { used, .. } = self.room()?;
        let Some(excess) = used.checked_sub(max_size).filter(|excess| *excess > 0) else { return Ok(None) };
        let last = limit.min(Revision(self.newest()?.0.saturating_sub(NEVER_TOO_LARGE)));
        let sql = "SELECT id >> 24, 64 + coalesce(length(before), 0) + coalesce(length(after), 0)
                + coalesce(length(packed), 0) + coalesce(length(remark), 0)
            FROM entries WHERE id >= ?1 AND id < ?2 ORDER BY id";
        let (mut sum, mut found) = (0, None);
        let span =
            [crate::store::journal::rows::first_id(horizon.next()), crate::store::journal::rows::first_id(last.next())];
        self.rows(sql, span, |row| {
            if sum < excess {
                sum += row.get::<_, i64>(1)?.unsigned_abs();
                found = Some(Revision(row.get::<_, i64>(0)?.unsigned_abs()));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns free space to the file system, and checkpoints the log.
    fn give_back_room(&self, pace: &Pace) -> Result<(), StoreError> {
        let Room { used, free } = self.room()?;
        if free * 4 >= used + free && free > 0 && pace.has_left(UNDIVIDED) {
            let is_incremental = self.one("PRAGMA auto_vacuum", [], |row| row.get::<_, i64>(0))? == 2;
            if is_incremental {
                self.move_pages(pace)?;
            } else if used < SMALL || (!pace.is_short() && used < TOO_LARGE) {
                if used >= SMALL {
                    // So that pages can be moved from the next time on.
                    self.database.batch("write", "PRAGMA auto_vacuum = INCREMENTAL").map_err(judge)?;
                }
                self.make_anew(pace)?;
            }
            reach("gc: gave room back");
        }
        if pace.has_left(UNDIVIDED) {
            let copy =
                |database: &rusqlite::Connection| database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            // Do not wait for readers; the next process copies the log.
            let _ = self.database.without_waiting(copy);
            reach("gc: copied the log");
        }
        Ok(())
    }

    fn move_pages(&self, pace: &Pace) -> Result<(), StoreError> {
        while !pace.is_over() && self.room()?.free > 0 {
            pace.begin_step();
            self.rows(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})"), [], |_| Ok(()))?;
            pace.rest();
        }
        Ok(())
    }

    /// Rebuilds the database as a whole. If time is short, only if no process is using it.
    fn make_anew(&self, pace: &Pace) -> Result<(), StoreError> {
        match pace.is_short() {
            true => {
                let _ = self.database.without_waiting(|database| database.execute_batch("VACUUM"));
                Ok(())
            }
            false => self.database.batch("write", "VACUUM").map_err(judge),
        }
    }

    fn room(&self) -> Result<Room, StoreError> {
        let number =
            |pragma: &str| self.one(&format!("PRAGMA {pragma}"), [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
        let (size, pages, free) = (number("page_size")?, number("page_count")?, number("freelist_count")?);
        Ok(Room { used: pages.saturating_sub(free) * size, free: free * size })
    }
}

/// The bytes of a database that are in use, and those that are free.
struct Room {
    used: u64,
    free: u64,
}

/// The name prefix of directories that are about to be removed.
pub(in crate::store) const LEAVING: &str = ".leaving-";

/// Archives a list if nothing has happened to it for the retention period and no process is using it. Returns whether
/// it was archived.
pub(super) fn put_away(sidecar: &Path, list: &Path, terms: &TidyTerms) -> Result<bool, StoreError> {
    let alone = lock_alone(sidecar)?;
    if !alone.is_at(sidecar) {
        return Ok(false);
    }
    let Some(queue) = head_of_queue(sidecar) else { return Ok(false) };
    let Some(journal) = open_exclusively(sidecar)? else { return Ok(false) };
    if !journal.is_long_idle(list, terms)? {
        return Ok(false);
    }
    archive::keep(sidecar, list, &journal)?;
    reach("gc: archived");
    // Invalidates connections that other processes keep open.
    if let Some(stamp) = StampFile::open(sidecar).ok().flatten() {
        stamp.change(|stamp| stamp.generation += 1);
    }
    reach("gc: about to put away");
    // Tells a process waiting in the queue that the file is no longer the queue.
    remove(&sidecar.join("queue"))?;
    let Some((parent, name)) = sidecar.parent().zip(sidecar.file_name()) else { return Ok(false) };
    let leaving = parent.join(format!("{LEAVING}{}", name.to_string_lossy()));
    let _ = fs::remove_dir_all(&leaving);
    fs::rename(sidecar, &leaving).map_err(StoreError::io("cannot rename", sidecar))?;
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(StoreError::io("cannot flush", parent))?;
    reach("gc: put away");
    drop((journal, queue, alone));
    fs::remove_dir_all(&leaving).map_err(StoreError::io("cannot remove", &leaving))?;
    Ok(true)
}

/// Removes directories of archived lists that a process left when it died.
pub(in crate::store) fn remove_what_is_leaving(data: &Path) {
    for entry in fs::read_dir(data.join("lists")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(LEAVING) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Takes the head of the queue. Returns `None` if a writer has it or a turn was left unfinished.
fn head_of_queue(sidecar: &Path) -> Option<File> {
    let mut file = private::open(&sidecar.join("queue")).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let mut bytes = [0; 80];
    let is_at_rest = match file.read_exact(&mut bytes) {
        // Lists in other dialects and lists that were only read have no record there.
        Err(error) => error.kind() == io::ErrorKind::UnexpectedEof,
        Ok(()) => {
            let word = |place: usize| u64::from(bytes[place * 8]);
            word(1) % 2 == 0 && !matches!(word(9), 1 | 2)
        }
    };
    is_at_rest.then_some(file)
}

/// Opens the journal if no other process has it open. Processes that open it from now on wait.
fn open_exclusively(sidecar: &Path) -> Result<Option<Journal>, StoreError> {
    let mut journal = Journal::connect(sidecar.join(DATABASE))?;
    let alone = "PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;";
    if journal.database.batch("write", alone).is_err() {
        return Ok(None);
    }
    if journal.database.known_format("open").map_err(judge)? != FORMAT {
        return Ok(None);
    }
    journal.know_where_it_began()?;
    let is_damaged = sidecar.join("damaged").exists();
    Ok((!is_damaged).then_some(journal))
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("cannot remove", path)(error)),
        _ => Ok(()),
    }
}

impl Journal {
    /// Returns whether nothing has happened to the list for the retention period, and nothing is in progress.
    pub(super) fn is_long_idle(&self, list: &Path, terms: &TidyTerms) -> Result<bool, StoreError> {
        let since = terms.old_before();
        let looked = self.last_look()?.unwrap_or_default();
        let is_idle = self.newest()? <= self.old_until(terms)? && looked < since;
        let is_busy = "SELECT EXISTS (SELECT 1 FROM leases) OR EXISTS (SELECT 1 FROM moves)";
        if !is_idle || self.one(is_busy, [], |row| row.get(0))? {
            return Ok(false);
        }
        if is_gone(list) {
            return Ok(true);
        }
        let is_settled = self.settled_until(false)? >= self.newest()?;
        Ok(is_settled && !self.has_forms()? && changed(list).is_some_and(|changed| changed < since))
    }
}
