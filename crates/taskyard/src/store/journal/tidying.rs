//! Tidying one journal: what is old is thinned out, what older releases wrote is packed, and the room goes back to the file system.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use taskyard_core::{Revision, TaskId, Timestamp};

use super::Journal;
use super::aging::TidyTerms;
use super::damage::judge;
use super::naming::{data_of, is_gone};
use super::opening::lock_alone;
use super::pace::Pace;
use super::putting_away::put_away;
use super::schema::{DATABASE, FORMAT};
use super::thinning::{Thinned, Thinning};
use crate::failpoint::reach;
use crate::private::prepare_database;
use crate::sqlite::beside;
use crate::store::StoreError;

/// So many of the newest revisions are never thinned out because of their size, so that what was just done can be undone.
const NEVER_TOO_LARGE: u64 = 32;
/// A database with less than this is made anew as a whole to give room back; in a larger one pages are moved, some at a time.
const SMALL: u64 = 1 << 20;
/// A database with more than this is not made anew: writers would wait for too long. New entries use the room.
const TOO_LARGE: u64 = 512 << 20;
/// What cannot be done in part takes about this long, on a disk that is not slow.
const UNDIVIDED: Duration = Duration::from_millis(15);
/// So many pages are given back in one transaction.
const PAGES_AT_ONCE: u32 = 128;
/// The name of the copy that is tidied in the place of the journal, to see what that would give.
const TRIAL: &str = "trial";

/// What tidying a journal did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TidiedJournal {
    /// How many bytes the files had, and have now.
    pub bytes: (u64, u64),
    /// How many entries were thinned out.
    pub entries: u64,
    /// The tasks that were named, and whose last state went.
    pub forgotten: Vec<TaskId>,
    /// Whether the list was idle for so long that what is left went to the archive.
    pub is_put_away: bool,
}

/// Tidies the journal in a sidecar; none where there is none.
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

/// Returns what tidying the journal in a sidecar would do: a copy of it is tidied, and thrown away.
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
        // Not by way of what wraps everything else in a transaction.
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
        // Tidying in earnest has the files reach the disk first.
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

/// Returns the path of the list that a sidecar is of; none where there is no journal in it.
pub(in crate::store) fn list_of(sidecar: &Path) -> Result<Option<PathBuf>, StoreError> {
    let Some(journal) = Journal::open_to_read(sidecar)? else { return Ok(None) };
    Ok(journal.fact::<String>("path")?.map(PathBuf::from))
}

/// Returns when the newest entry in a sidecar says that it was written; none where there is none.
pub(in crate::store) fn newest_time(sidecar: &Path) -> Result<Option<Timestamp>, StoreError> {
    let Some(journal) = Journal::open_to_read(sidecar)? else { return Ok(None) };
    let newest = journal.row("SELECT at FROM entries ORDER BY id DESC LIMIT 1", [], |row| row.get(0))?;
    Ok(newest.map(Timestamp))
}

/// Returns how many bytes a database and its log have.
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

    /// Returns the revision up to which nothing has to be written out to the files any more, whatever happens to the machine.
    pub(super) fn settled_until(&self, list_is_gone: bool) -> Result<Revision, StoreError> {
        if list_is_gone {
            // What may have to be written out is the last state of each task, and that stays.
            return self.newest();
        }
        let fact = if self.has_forms()? { "applied" } else { "flushed" };
        Ok(Revision(self.fact::<i64>(fact)?.unwrap_or(0).unsigned_abs()))
    }

    /// Returns a later revision up to which entries have to be thinned out, where the journal is larger than it may be.
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
        let span = [super::entries::first_id(horizon.next()), super::entries::first_id(last.next())];
        self.rows(sql, span, |row| {
            if sum < excess {
                sum += row.get::<_, i64>(1)?.unsigned_abs();
                found = Some(Revision(row.get::<_, i64>(0)?.unsigned_abs()));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Gives room that nothing uses back to the file system, and copies the log into the database.
    fn give_back_room(&self, pace: &Pace) -> Result<(), StoreError> {
        let Room { used, free } = self.room()?;
        if free * 4 >= used + free && free > 0 && pace.has_left(UNDIVIDED) {
            let is_incremental = self.one("PRAGMA auto_vacuum", [], |row| row.get::<_, i64>(0))? == 2;
            if is_incremental {
                self.move_pages(pace)?;
            } else if used < SMALL || (!pace.is_short() && used < TOO_LARGE) {
                if used >= SMALL {
                    // The next time pages are moved.
                    self.database.batch("write", "PRAGMA auto_vacuum = INCREMENTAL").map_err(judge)?;
                }
                self.make_anew(pace)?;
            }
            reach("gc: gave room back");
        }
        if pace.has_left(UNDIVIDED) {
            let copy =
                |database: &rusqlite::Connection| database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            // We do not wait for a reader; the next process copies it.
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

    /// Makes the database anew as a whole; where time is short, only if no process is at it.
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

/// How many bytes of a database are in use, and how many are not.
struct Room {
    used: u64,
    free: u64,
}
