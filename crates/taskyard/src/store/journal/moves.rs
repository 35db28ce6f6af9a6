//! Notes about moves between two lists, and journals as single files.
//!
//! A note lets either list detect a crash between the commits to the two journals.
//!
//! A portable journal is a single file in the format of a journal (`docs/formats/journal.md`), without a log, a stamp
//! or a queue. It carries history into backups and from one store to another. A store that keeps its history elsewhere
//! reads and writes it a page at a time. It is only installed for a list that has no journal, or that comes back
//! after it moved away: first completely in a directory beside its place, then by one rename.
//!
//! The journal of a list that moves to another store is closed by giving it a format that no process accepts; every
//! transaction checks the format.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rusqlite::{Row, ToSql};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};
use taskyard_core::{AgentName, Entry, Image, Lease, Op, Revision, TaskId, Timestamp, Token};

use super::Journal;
use super::damage::{begun_from, judge};
use super::entries::Standing;
use super::known::{KNOWN_COLUMNS, Known, known};
use super::layout::{
    BEGUN, CAME_BY, DATABASE, FORMAT, JOURNAL, MOVED, THINNED, TOKEN, departure_in, withdraw_departure,
};
use super::opening::{lock_alone, sync_directories};
use super::stamp::{StampFile, Standstill, remember_boot};
use crate::failpoint::reach;
use crate::fingerprint::Fingerprint;
use crate::private::{create_new, make_directory};
use crate::sqlite::Database;
use crate::store::journal::rows;
use crate::store::kit::first_token;
use crate::store::{ArrivingList, HistoryQuery, Signature, StoreError};
use crate::system;

/// The peer column of a move in the destination's journal, which says that it happened.
const HAPPENED: &str = "";
const STRUCK_OFF: &str = "-";

/// The prefix of the facts in which the destination records the source of a move until the source has followed.
const ARRIVED: &str = "arrived ";

/// How many revisions of a history to copy at a time.
const PAGE: usize = 256;

/// The other list of a move, as recorded until both lists have followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store) struct MovePeer {
    pub(in crate::store) list: String,
    /// The path of its tasks.
    pub(in crate::store) place: PathBuf,
    /// Our directory for it.
    pub(in crate::store) sidecar: PathBuf,
}

/// The effect of a move on the source list. It is valid once the destination's journal has its token.
#[derive(Clone, Debug)]
pub(in crate::store) struct Move {
    pub(in crate::store) token: String,
    /// The destination.
    pub(in crate::store) peer: MovePeer,
    pub(in crate::store) signature: Signature,
    /// The new contents of each task, or `None` if it is removed.
    pub(in crate::store) changes: Vec<(TaskId, Option<Image>)>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    actor: String,
    /// The verb. Older releases did not write it.
    #[serde(default)]
    op: String,
    changes: Vec<(String, Option<String>)>,
    /// The destination. Older releases did not write it.
    #[serde(default)]
    list: String,
    #[serde(default)]
    place: PathBuf,
}

impl Journal {
    /// Records a move that is about to happen.
    pub(in crate::store) fn note_move(&self, coming: &Move) -> Result<(), StoreError> {
        let text = |image: &Image| String::from_utf8_lossy(image.bytes()).into_owned();
        let wire = Wire {
            actor: coming.signature.actor.as_str().to_owned(),
            op: coming.signature.op.as_str().to_owned(),
            changes: coming.changes.iter().map(|(id, image)| (id.to_string(), image.as_ref().map(text))).collect(),
            list: coming.peer.list.clone(),
            place: coming.peer.place.clone(),
        };
        let payload = serde_json::to_string(&wire).unwrap_or_default();
        let columns: [&dyn ToSql; 3] = [&coming.token, &coming.peer.sidecar.to_string_lossy(), &payload];
        self.write("INSERT INTO moves (token, peer, payload, sum) VALUES (?1, ?2, ?3, ?4)", &columns).map(drop)
    }

    /// Records in the destination's journal that a move happens, as part of the commit. Returns whether it still may:
    /// not after the source list has given it up.
    pub(in crate::store) fn confirm_move(&self, token: &str, origin: &MovePeer) -> Result<bool, StoreError> {
        let origin = serde_json::to_string(origin).unwrap_or_default();
        self.set_fact(&format!("{ARRIVED}{token}"), origin)?;
        self.set_fate(token, HAPPENED)
    }

    /// Returns the moves to this list whose source may not have followed yet, with their tokens.
    pub(in crate::store) fn arrivals(&self) -> Result<Vec<(String, MovePeer)>, StoreError> {
        let columns = |row: &Row<'_>| {
            rows::check(row, "facts")?;
            Ok((row.get(0)?, row.get(1)?))
        };
        let sql = "SELECT key, value, sum FROM facts WHERE key >= 'arrived ' AND key < 'arrived!'";
        let rows: Vec<(String, String)> = self.rows(sql, [], columns)?;
        let arrival = |(key, origin): (String, String)| {
            Some((key.strip_prefix(ARRIVED)?.to_owned(), serde_json::from_str(&origin).ok()?))
        };
        Ok(rows.into_iter().filter_map(arrival).collect())
    }

    /// Removes the record of a move's source, because that list has followed.
    pub(in crate::store) fn forget_arrival(&self, token: &str) -> Result<(), StoreError> {
        self.remove("DELETE FROM facts WHERE key = ?1", [format!("{ARRIVED}{token}")])
    }

    /// Returns whether there are moves to or from this list that may not have been carried out on both lists.
    pub(in crate::store) fn has_pending_moves(&self) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM moves WHERE payload IS NOT NULL)
            OR EXISTS (SELECT 1 FROM facts WHERE key >= 'arrived ' AND key < 'arrived!')";
        self.one(sql, [], |row| row.get(0))
    }

    /// Decides in the destination's journal whether a move happened. If it has not, it never will.
    fn decide_move(&self, token: &str) -> Result<bool, StoreError> {
        let transaction = self.begin()?;
        let happened = !self.set_fate(token, STRUCK_OFF)? && self.fate(token)? == HAPPENED;
        self.end(transaction)?;
        Ok(happened)
    }

    /// Decides, in the journal of the destination with this sidecar, whether a move happened. If it did, it is on disk
    /// when this returns. If the destination has no record of the move, it is ruled out for good, because its writer
    /// may only be suspended.
    pub(in crate::store) fn decide_move_at(peer: &Path, token: &str) -> Result<bool, StoreError> {
        let database = peer.join(DATABASE);
        if !database.try_exists().map_err(StoreError::io("cannot look at", &database))? {
            return Ok(false);
        }
        if departure_in(peer)?.is_some_and(|departure| departure.has_left) {
            // The destination has moved to another store since. Its journal is no longer written.
            return Self::open_closed(peer)?.has_happened(token);
        }
        let mut peer = Self::open(peer, peer)?;
        let has_happened = peer.decide_move(token)?;
        if has_happened {
            peer.sync()?;
        }
        Ok(has_happened)
    }

    /// Returns whether a move to this list is recorded as having happened.
    fn has_happened(&self, token: &str) -> Result<bool, StoreError> {
        let peer = |row: &Row<'_>| rows::check(row, "moves").and_then(|()| row.get::<_, String>(1));
        let fate = self.row("SELECT token, peer, payload, sum FROM moves WHERE token = ?1", [token], peer)?;
        Ok(fate.is_some_and(|fate| fate == HAPPENED))
    }

    /// Sets the outcome of a move unless it is already decided. Returns whether it was set.
    fn set_fate(&self, token: &str, fate: &str) -> Result<bool, StoreError> {
        let columns: [&dyn ToSql; 3] = [&token, &fate, &None::<String>];
        Ok(self.write("INSERT OR IGNORE INTO moves (token, peer, payload, sum) VALUES (?1, ?2, ?3, ?4)", &columns)? > 0)
    }

    fn fate(&self, token: &str) -> Result<String, StoreError> {
        let peer = |row: &Row<'_>| rows::check(row, "moves").and_then(|()| row.get(1));
        self.one("SELECT token, peer, payload, sum FROM moves WHERE token = ?1", [token], peer)
    }

    /// Copies the history of a list that is being renamed to this one, as far as this journal does not have it, as part
    /// of the commit. Returns the newest revision, which the commit continues from.
    pub(in crate::store) fn go_on_from(&self, former: &Self) -> Result<Revision, StoreError> {
        let mut since = self.newest()?;
        loop {
            let page = former.select(&HistoryQuery { since, oldest: Some(PAGE), ..HistoryQuery::default() })?;
            let Some(last) = page.last() else { break };
            since = last.revision;
            self.append_as_they_are(&page)?;
        }
        let thinned = former.thinned()?.max(Revision(former.begun.revision));
        if thinned > self.thinned()? {
            self.set_fact(THINNED, thinned.0.cast_signed())?;
        }
        if let Some(token) = former.fact::<i64>(TOKEN)?
            && self.fact::<i64>(TOKEN)?.is_none_or(|own| own < token)
        {
            self.set_fact(TOKEN, token)?;
        }
        self.newest()
    }

    /// Removes the note of a move.
    pub(in crate::store) fn forget_move(&self, token: &str) -> Result<(), StoreError> {
        self.remove("DELETE FROM moves WHERE token = ?1", [token])
    }

    /// Returns the moves away from this list that were noted but not carried out here.
    pub(in crate::store) fn noted_moves(&self) -> Result<Vec<Move>, StoreError> {
        let columns = |row: &Row<'_>| {
            rows::check(row, "moves")?;
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        };
        let rows: Vec<(String, String, String)> =
            self.rows("SELECT token, peer, payload, sum FROM moves WHERE payload IS NOT NULL", [], columns)?;
        Ok(rows.into_iter().filter_map(|(token, peer, payload)| noted(token, peer, &payload)).collect())
    }
}

fn noted(token: String, peer: String, payload: &str) -> Option<Move> {
    let wire: Wire = serde_json::from_str(payload).ok()?;
    let image = |text: String| Image::new(text.into_bytes());
    Some(Move {
        token,
        peer: MovePeer { list: wire.list, place: wire.place, sidecar: peer.into() },
        signature: Signature::new(AgentName::new(wire.actor).ok()?, wire.op.parse().unwrap_or(Op::Merge)),
        changes: wire.changes.into_iter().map(|(id, text)| (TaskId::stored(id), text.map(image))).collect(),
    })
}

/// The maximum number of revisions to read at a time.
const PORTABLE_PAGE: usize = 256;

/// The marks of a portable journal, apart from entries and tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortableMarks {
    /// The newest revision.
    pub revision: Revision,
    /// The last token issued.
    pub token: Token,
    /// The revision up to which entries may be missing because they were old.
    pub thinned: Revision,
    /// The highest number in any entry.
    pub number: u64,
}

/// A journal as a single file.
#[derive(Debug)]
pub struct PortableJournal {
    journal: Journal,
    /// The directory it is created in and its final path, or `None` if it was opened for reading.
    making: Option<(PathBuf, PathBuf)>,
}

impl PortableJournal {
    /// Creates a portable journal. The file appears when [`Self::finish`] returns. It must not exist yet.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".making");
        let folder = path.with_file_name(name);
        make_directory(&folder).map_err(StoreError::io("cannot create", &folder))?;
        let database = folder.join(DATABASE);
        create_new(&database).map_err(StoreError::io("cannot create", &database))?;
        let alone = lock_alone(&folder)?;
        let journal = Journal::connect(database)?;
        journal.end(journal.database.begin_upgrade(&alone).map_err(judge)?)?;
        Ok(Self { journal, making: Some((folder, path.to_owned())) })
    }

    /// Appends entries: whole revisions, oldest first.
    pub fn append(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let transaction = self.journal.begin()?;
        self.journal.append_as_they_are(entries)?;
        self.journal.end(transaction)?;
        self.journal.copy_log();
        Ok(())
    }

    /// Adds tasks as they are at the newest revision.
    pub fn add_tasks<'a>(&self, tasks: impl Iterator<Item = (&'a TaskId, &'a Image)>) -> Result<(), StoreError> {
        let transaction = self.journal.begin()?;
        for (task, image) in tasks {
            // No file has this fingerprint, so its contents are compared when it is first checked.
            let print = Fingerprint { inode: 0, mtime: 0, size: image.bytes().len() as u64 };
            self.journal.set_known(task, &Known { print, seen: 0, image: image.clone(), mode: None })?;
        }
        self.journal.end(transaction)
    }

    /// Adds leases in one transaction.
    pub fn add_leases<'a>(&self, leases: impl Iterator<Item = &'a Lease>) -> Result<(), StoreError> {
        let transaction = self.journal.begin()?;
        for lease in leases {
            self.journal.write_lease(lease)?;
        }
        self.journal.end(transaction)
    }

    /// Completes the journal with the last token issued and the revision up to which entries may be missing. The file
    /// exists once this returns.
    pub fn finish(self, token: Token, thinned: Revision) -> Result<(), StoreError> {
        let Self { journal, making } = self;
        let transaction = journal.begin()?;
        if token.0 > 0 {
            journal.set_fact(TOKEN, token.0.cast_signed())?;
        }
        if thinned.0 > 0 {
            journal.set_fact(THINNED, thinned.0.cast_signed())?;
        }
        journal.end(transaction)?;
        journal.copy_whole_log()?;
        journal.database.batch("write", "PRAGMA journal_mode = DELETE").map_err(judge)?;
        drop(journal);
        let Some((folder, path)) = making else { return Ok(()) };
        fs::rename(folder.join(DATABASE), &path).map_err(StoreError::io("cannot write", &path))?;
        fs::remove_dir_all(&folder).map_err(StoreError::io("cannot remove", &folder))
    }

    /// Opens a portable journal for reading. Creates no files beside it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let database = Database::connect_unchanging(path.to_owned(), &JOURNAL).map_err(judge)?;
        let format = database.known_format("open").map_err(judge)?;
        let mut journal = Journal::over(database)?;
        refuse_what_acts(&journal)?;
        if (1..FORMAT).contains(&format) {
            journal.database.read_as_of_today(format).map_err(judge)?;
        }
        journal.know_where_it_began()?;
        Ok(Self { journal, making: None })
    }

    /// Returns the journal's marks.
    pub fn marks(&self) -> Result<PortableMarks, StoreError> {
        let marks = self.journal.marks()?;
        let thinned = self.journal.thinned()?.max(Revision(self.journal.begun.revision));
        Ok(PortableMarks {
            revision: Revision(marks.revision),
            token: Token(marks.token),
            thinned,
            number: marks.number,
        })
    }

    /// Returns when a revision happened, or `None` if none of its entries are left.
    pub fn time_of(&self, revision: Revision) -> Result<Option<Timestamp>, StoreError> {
        let only = HistoryQuery { since: Revision(revision.0.saturating_sub(1)), until: Some(revision), ..page() };
        Ok(self.journal.select(&only)?.first().map(|entry| entry.at))
    }

    /// Returns the next entries after a revision, oldest first. Always whole revisions; empty at the end.
    pub fn entries_after(&self, since: Revision) -> Result<Vec<Entry>, StoreError> {
        self.journal.select(&HistoryQuery { since, ..page() })
    }

    /// Calls `each` with every task as it is at the newest revision, one at a time.
    pub fn each_task(&self, mut each: impl FnMut(&TaskId, Image) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.journal.each_known(|task, known| each(task, known.image))
    }

    /// Returns every lease of the journal.
    pub fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.journal.leases()
    }
}

fn page() -> HistoryQuery {
    HistoryQuery { oldest: Some(PORTABLE_PAGE), ..HistoryQuery::default() }
}

/// Fails if a copied database has anything but tables and indexes: triggers or views cannot come from us, and could run
/// when we write.
pub(super) fn refuse_what_acts(journal: &Journal) -> Result<(), StoreError> {
    let acting = "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')";
    match journal.one(acting, [], |row| row.get::<_, i64>(0))? {
        0 => Ok(()),
        _ => {
            let why = io::Error::new(io::ErrorKind::InvalidData, "it holds triggers or views, which no journal has");
            Err(StoreError::io("cannot use", &journal.database.path)(why))
        }
    }
}

impl Journal {
    /// Copies the database into a new private file, as of the current transaction.
    pub(in crate::store) fn copy_to(&self, copy: &Path) -> Result<(), StoreError> {
        self.database.copy_to(copy).map_err(judge)
    }

    /// Calls `each` with the last known state of every file, one at a time.
    pub(in crate::store) fn each_known(
        &self,
        mut each: impl FnMut(&TaskId, Known) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut failed = None;
        self.rows(KNOWN_COLUMNS, [], |row| {
            let (id, known) = known(row)?;
            if failed.is_none() {
                failed = each(&id, known).err();
            }
            Ok(())
        })?;
        failed.map_or(Ok(()), Err)
    }
}

/// The prefix of the directory in which a journal is prepared.
const STAGING: &str = ".restoring-";
/// How far tokens continue above those of the copy: a token issued after the copy was made must never be valid for a
/// new lease.
const TOKENS_ABOVE: i64 = 1_000_000;

/// Installs a copy of a journal for a list. Returns false without changing anything if the list has a journal. A list
/// that moved away from here and comes back replaces what it left behind.
///
/// The caller must hold the lock of the data directory, so that only one process does this at a time.
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
        // Another process has created a journal in the meantime, which takes precedence.
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

/// Returns whether a list has a journal, in whatever state.
pub(in crate::store) fn has_memory(sidecar: &Path) -> bool {
    [DATABASE, "stamp"].iter().any(|name| sidecar.join(name).symlink_metadata().is_ok())
}

/// Upgrades a copied database to the current format and assigns it to the list.
fn make_ready(staging: &Path, list: &Path, token_of_move: Option<&str>) -> Result<(), StoreError> {
    let alone = lock_alone(staging)?;
    let mut journal = Journal::connect(staging.join(DATABASE))?;
    journal.database.known_format("open").map_err(judge)?;
    refuse_what_acts(&journal)?;
    let transaction = journal.database.begin_upgrade(&alone).map_err(judge)?;
    journal.begun = journal.fact::<String>(BEGUN)?.map(|text| begun_from(&text)).unwrap_or_default();
    journal.set_fact("path", list.to_string_lossy())?;
    let token = journal.fact::<i64>(TOKEN)?.unwrap_or(0);
    let token = token.saturating_add(TOKENS_ABOVE).max(first_token(system::now()).0.cast_signed());
    journal.set_fact(TOKEN, token)?;
    match token_of_move {
        Some(token) => journal.set_fact(CAME_BY, token)?,
        None => journal.remove("DELETE FROM facts WHERE key = ?1", [CAME_BY])?,
    }
    // The files of a returning list are flushed before they get their names.
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

/// Removes what a process left that died in the middle.
fn remove(staging: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(staging) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io("cannot remove", staging)(error)),
        _ => Ok(()),
    }
}

/// Reopens the journal of a closed list, and removes the note.
pub(in crate::store) fn reopen(sidecar: &Path) -> Result<(), StoreError> {
    let mut journal = Journal::connect(sidecar.join(DATABASE))?;
    if journal.database.format("open").map_err(judge)? == MOVED {
        journal.database.batch("write", &format!("PRAGMA user_version = {FORMAT}")).map_err(judge)?;
        journal.sync()?;
    }
    reach("move: the journal is open again");
    withdraw_departure(sidecar)
}

/// Returns the token of the move that brought the list of a sidecar here.
pub(in crate::store) fn arrived_by(sidecar: &Path) -> Result<Option<String>, StoreError> {
    match Journal::open_as_it_is(sidecar)? {
        Some(journal) => journal.fact(CAME_BY),
        None => Ok(None),
    }
}

/// Fails unless the history of a returning list includes everything it had when it left.
pub(super) fn must_go_on_from(sidecar: &Path, copy: &Path) -> Result<(), StoreError> {
    let mut left = Journal::open_closed(sidecar)?;
    left.know_where_it_began()?;
    let (newest, coming) = (left.newest()?, PortableJournal::open(copy)?);
    let was = left.moment_of(newest)?.map(Timestamp);
    let goes_on = match coming.time_of(newest)? {
        Some(at) => Some(at) == was,
        None => newest <= coming.marks()?.thinned,
    };
    match goes_on || newest.0 == 0 {
        true => Ok(()),
        false => {
            let why = "the history differs from the one this list had when it left, and is not put in its place";
            Err(StoreError::Failed { doing: format!("take in `{}`", sidecar.display()), source: why.into() })
        }
    }
}

impl Journal {
    /// Closes the journal to all processes if it is in the given state. Returns whether it is.
    pub(in crate::store) fn close(&mut self, then: &Standing) -> Result<bool, StoreError> {
        let transaction = self.begin()?;
        if !self.stands_as(then)? {
            return Ok(false);
        }
        self.database.batch("write", &format!("PRAGMA user_version = {MOVED}")).map_err(judge)?;
        self.end(transaction)?;
        self.sync()?;
        Ok(true)
    }

    /// Opens the journal of a closed list, to read what its files were.
    pub(in crate::store) fn open_closed(sidecar: &Path) -> Result<Self, StoreError> {
        Self::connect(sidecar.join(DATABASE))
    }
}

#[cfg(test)]
mod tests {
    use taskyard_core::{AgentName, AttemptId, Entry, Image, Op, Remark, Revision, TaskId, Timestamp, Token};

    use super::{PortableJournal, PortableMarks};

    fn entry(revision: u64, task: u64, before: Option<&str>, after: Option<&str>) -> Entry {
        let image = |text: &str| Image::new(text.as_bytes());
        Entry {
            revision: Revision(revision),
            at: Timestamp(1_000 + i64::try_from(revision).unwrap()),
            actor: AgentName::new("ana").unwrap(),
            op: Op::Update,
            task: TaskId::number(task),
            before: before.map(image),
            after: after.map(image),
            undoes: if revision == 3 { vec![Revision(1), Revision(2)] } else { Vec::new() },
            remark: Remark { notice: (revision == 2).then(|| "done".to_owned()), ..Remark::default() },
            attempt: (revision != 1).then_some(AttemptId(u128::from(revision))),
            db_user: None,
        }
    }

    #[test]
    fn journal_of_its_own_holds_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.sqlite");
        let entries = [
            entry(1, 1, None, Some("{}")),
            entry(2, 1, Some("{}"), Some("{\"a\":1}")),
            Entry { attempt: None, remark: Remark::default(), ..entry(2, 2, None, Some("\u{0}")) },
            entry(3, 2, Some("\u{0}"), None),
        ];
        let journal = PortableJournal::create(&path).unwrap();
        for page in entries.chunk_by(|one, other| one.revision == other.revision) {
            journal.append(page).unwrap();
        }
        let (task, image) = (TaskId::number(1), Image::new("{\"a\":1}".as_bytes()));
        journal.add_tasks([(&task, &image)].into_iter()).unwrap();
        assert!(!path.exists(), "it is there when it is whole");
        journal.finish(Token(7), Revision(0)).unwrap();
        let names: Vec<_> = folder.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["journal.sqlite"]);
        let journal = PortableJournal::open(&path).unwrap();
        let marks = PortableMarks { revision: Revision(3), token: Token(7), thinned: Revision(0), number: 2 };
        assert_eq!(journal.marks().unwrap(), marks);
        assert_eq!(journal.entries_after(Revision(0)).unwrap(), entries);
        assert_eq!(journal.entries_after(Revision(2)).unwrap(), entries[3..]);
        assert_eq!(journal.time_of(Revision(2)).unwrap(), Some(Timestamp(1_002)));
        assert_eq!(journal.time_of(Revision(4)).unwrap(), None);
        let mut tasks = Vec::new();
        journal
            .each_task(|task, image| {
                tasks.push((task.clone(), image));
                Ok(())
            })
            .unwrap();
        assert_eq!(tasks, [(task, image)]);
    }
}
