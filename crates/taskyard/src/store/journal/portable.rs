//! The journal of a list as a file of its own: the form in which history goes into backups and from one store to another.
//!
//! It is a journal like that in a sidecar (`docs/formats/journal.md`), without a log, a stamp or a queue beside it. A store that keeps its
//! history elsewhere writes and reads one of these, a page at a time. It is installed where a list has no memory: beside its place first,
//! whole, and then by one rename.
//!
//! The journal of a list that moves to another store gets a format that lets no process in: every transaction looks at the format.

use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use taskyard_core::{Entry, Image, Lease, Revision, TaskId, Timestamp, Token};

use super::Journal;
use super::damage::{begun_from, judge};
use super::entries::Standing;
use super::fingerprint::Fingerprint;
use super::known::{KNOWN_COLUMNS, Known, known};
use super::layout::{
    BEGUN, CAME_BY, DATABASE, FORMAT, JOURNAL, MOVED, THINNED, TOKEN, departure_in, withdraw_departure,
};
use super::opening::{lock_alone, sync_directories};
use super::stamp::{StampFile, Standstill, remember_boot};
use crate::clock;
use crate::failpoint::reach;
use crate::private::{create_new, make_directory};
use crate::sqlite::Database;
use crate::store::kit::first_token;
use crate::store::{ArrivingList, HistoryQuery, StoreError};

/// So many revisions are read at once, at most.
const PAGE: usize = 256;

/// What a journal says of its list besides entries and tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortableMarks {
    /// The newest revision.
    pub revision: Revision,
    /// The last token that was given out.
    pub token: Token,
    /// The revision up to which entries may be missing because they were old.
    pub thinned: Revision,
    /// The highest number that any entry is about.
    pub number: u64,
}

/// A journal as a file of its own.
#[derive(Debug)]
pub struct PortableJournal {
    journal: Journal,
    /// Where it is made ready, and where it comes when it is whole.
    making: Option<(PathBuf, PathBuf)>,
}

impl PortableJournal {
    /// Begins a new one. The file is there when [`Self::finish`] has returned; its place must be free.
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

    /// Adds entries behind those that are there: whole revisions, oldest first.
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
            // No file looks like this: the first look at one compares the contents.
            let print = Fingerprint { inode: 0, mtime: 0, size: image.bytes().len() as u64 };
            self.journal.set_known(task, &Known { print, seen: 0, image: image.clone(), mode: None })?;
        }
        self.journal.end(transaction)
    }

    /// Adds leases.
    pub fn add_leases<'a>(&self, leases: impl Iterator<Item = &'a Lease>) -> Result<(), StoreError> {
        let transaction = self.journal.begin()?;
        for lease in leases {
            self.journal.write_lease(lease)?;
        }
        self.journal.end(transaction)
    }

    /// Ends the journal, with the last token that was given out and how far entries may be missing: from here on the file is there.
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

    /// Opens one to read it. Nothing is made beside it.
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

    /// Returns what it says besides entries and tasks.
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

    /// Returns when a revision happened; `None` if nothing is left of it.
    pub fn time_of(&self, revision: Revision) -> Result<Option<Timestamp>, StoreError> {
        let only = HistoryQuery { since: Revision(revision.0.saturating_sub(1)), until: Some(revision), ..page() };
        Ok(self.journal.select(&only)?.first().map(|entry| entry.at))
    }

    /// Returns the next entries after a revision, oldest first: whole revisions, and none at the end.
    pub fn entries_after(&self, since: Revision) -> Result<Vec<Entry>, StoreError> {
        self.journal.select(&HistoryQuery { since, ..page() })
    }

    /// Hands on every task as it is at the newest revision, one at a time.
    pub fn each_task(&self, mut each: impl FnMut(&TaskId, Image) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.journal.each_known(|task, known| each(task, known.image))
    }

    /// Returns the leases.
    pub fn leases(&self) -> Result<Vec<Lease>, StoreError> {
        self.journal.leases()
    }
}

fn page() -> HistoryQuery {
    HistoryQuery { oldest: Some(PAGE), ..HistoryQuery::default() }
}

/// Fails where a copy holds more than data: what would do something whenever we write is none of our making.
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
    /// Copies the database into a new private file, as it is in the transaction under way.
    pub(in crate::store) fn copy_to(&self, copy: &Path) -> Result<(), StoreError> {
        self.database.copy_to(copy).map_err(judge)
    }

    /// Hands on the last known state of every file, one at a time.
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

/// Lets processes have the journal of a closed list again, and removes the note.
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

/// Fails unless a list that comes back has everything in its history that it had when it left.
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
            let why = "another history than this list had when it left is not put in its place";
            Err(StoreError::Failed { doing: format!("take in `{}`", sidecar.display()), source: why.into() })
        }
    }
}

impl Journal {
    /// Keeps every process from the journal, if it stands as it did then. Returns whether it does.
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

    /// Opens the journal of a closed list, to see what the files were.
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
