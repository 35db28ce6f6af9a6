//! Whole lists out of the database and into it, with their history, a page at a time. On the way a list is what a backup holds: the client's
//! files, and a journal of its own.

use std::collections::BTreeMap;

use taskyard::core::dialect::native::next_number;
use taskyard::core::{Image, ListId, Revision, Status, TaskId, Token};
use taskyard::failpoint::reach;
use taskyard::store::kit::{ListState, number_of};
use taskyard::store::{ArrivingList, HistoryQuery, ListCopy, ListCopyTarget, PortableJournal, StoreError, new_token};
use tokio_postgres::Row;

use super::catching_up::hidden;
use super::changes;
use super::changes::revision;
use super::history::history_of;
use super::images::ImageColumns;
use super::lease_rows;
use super::moving::{has_arrived, noted, tell_followers};
use super::writer::{Waiting, making};
use crate::connecting::{ANSWER_TIME, Column, Failure, FailureKind, Held, Statement};
use crate::database::{Database, NotAsked};
use crate::versions::Kind;

const DOING: &str = "take in a list";

/// So many revisions are read at once.
const PAGE: u64 = 256;
/// So many tasks, or bytes of them, are written at once.
const TASKS: usize = 500;
const BYTES: usize = 1 << 20;
/// Tokens go on so far above those of a backup: what was given out since it was made must never prove a new lease.
const TOKENS_ABOVE: u64 = 1_000_000;

/// Copies a list that was read whole. `thinned` tells up to which revision entries may be missing; it is asked after they were read.
pub(super) fn copy_out(
    database: &Database,
    list: &ListId,
    state: &ListState,
    thinned: impl Fn() -> Result<Revision, StoreError>,
    to: &mut dyn ListCopyTarget,
) -> Result<ListCopy, StoreError> {
    let mut copy = ListCopy { revision: state.revision, exists: state.exists, ..ListCopy::default() };
    if !state.exists {
        return Ok(copy);
    }
    let mut highest = 0.0_f64;
    to.take_journal(&mut |path| {
        let journal = PortableJournal::create(path)?;
        let mut since = Revision(0);
        while since < state.revision {
            let until = Revision(since.0 + PAGE).min(state.revision);
            let page =
                history_of(database, list, &HistoryQuery { since, until: Some(until), ..HistoryQuery::default() })?;
            highest = page.iter().map(|entry| number_of(&entry.task)).fold(highest, f64::max);
            journal.append(&page)?;
            since = until;
        }
        journal.add_tasks(state.tasks.iter().map(|(id, kept)| (id, &kept.image)))?;
        journal.add_leases(state.leases.values())?;
        journal.finish(state.last_token, thinned()?)
    })?;
    copy.has_journal = true;
    for (id, kept) in &state.tasks {
        to.take_file(&format!("{}.json", id.file_stem()), kept.image.bytes())?;
    }
    // A number of which no entry is left is not given out again, either.
    let mark = if state.journaled > highest { state.mark.max(state.journaled) } else { state.mark };
    if mark > 0.0 {
        to.take_file(".highwatermark", next_number(mark - 1.0).as_bytes())?;
    }
    Ok(copy)
}

/// Takes a list in, in one transaction. Returns false if there is one of that name.
pub(super) fn take_in(database: &Database, list: &ListId, arriving: &ArrivingList<'_>) -> Result<bool, StoreError> {
    let journal = PortableJournal::open(arriving.journal)?;
    let token = arriving.token.map_or_else(new_token, str::to_owned);
    let first = || {
        let mut all = making(database, list, Waiting::Wait);
        let row = "SELECT id, revision, moved, came_by FROM @.lists WHERE directory = $1 FOR UPDATE";
        all.push(database.statement(row).text(list.directory()));
        all
    };
    let begun = match database.begin(first) {
        Err(NotAsked::NoYard | NotAsked::Older) => {
            database.migrate(DOING)?;
            database.begin(first)
        }
        begun => begun,
    };
    let (mut held, (rows, _)) = begun.map_err(|other| database.error(other, DOING))?;
    let taken_in = take_in_locked(database, &mut held, &rows, &journal, arriving, &token);
    match taken_in {
        Ok(Taken::Now) => {
            reach("move: committed to the database");
            drop(held);
            tell_followers(database, list);
            Ok(true)
        }
        Ok(before) => {
            database.roll_back(&mut held);
            Ok(before == Taken::Before)
        }
        Err(error @ StoreError::Unavailable { .. }) => {
            held.discard();
            tracing::warn!(%error, "the answer to the arrival of a list was lost");
            if has_arrived(database, list, &token)? { Ok(true) } else { Err(error) }
        }
        Err(error) => {
            database.roll_back(&mut held);
            Err(error)
        }
    }
}

/// Takes a list in whose row is locked.
fn take_in_locked(
    database: &Database,
    held: &mut Held,
    rows: &[Vec<Row>],
    journal: &PortableJournal,
    arriving: &ArrivingList<'_>,
    token: &str,
) -> Result<Taken, StoreError> {
    let failed = |failure: Failure| failure.into_store_error(database.shown(), DOING);
    let row = rows.last().and_then(|rows| rows.first()).ok_or_else(|| failed(hidden()))?;
    let standing = Standing::read(row).map_err(failed)?;
    if standing.came_by.as_deref() == Some(token) {
        return Ok(Taken::Before);
    }
    if standing.revision.0 > 0 && !(standing.has_left && arriving.token.is_some()) {
        return Ok(Taken::NotAtAll);
    }
    let mut arrival = Arrival { database, held, id: standing.id, counts: [0; Status::ALL.len()] };
    arrival.take_in(journal, standing.revision, arriving, token)
}

/// What came of taking a list in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It is there.
    Now,
    /// This very move had brought it already.
    Before,
    /// There is another one of that name.
    NotAtAll,
}

/// The row that a list comes to.
struct Standing {
    id: i64,
    revision: Revision,
    /// Whether there was a list that has moved to another store.
    has_left: bool,
    came_by: Option<String>,
}

impl Standing {
    fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            id: row.try_get(0)?,
            revision: revision(row.try_get(1)?),
            has_left: noted(row, 2)?.is_some_and(|departure| departure.has_left),
            came_by: row.try_get(3)?,
        })
    }
}

/// A list on its way into the database.
struct Arrival<'a> {
    database: &'a Database,
    held: &'a mut Held,
    /// The list's number.
    id: i64,
    /// How many tasks there are in each state.
    counts: [i64; Status::ALL.len()],
}

impl Arrival<'_> {
    /// Writes everything behind what the database has of the list, and commits.
    fn take_in(
        &mut self,
        journal: &PortableJournal,
        known: Revision,
        arriving: &ArrivingList<'_>,
        token: &str,
    ) -> Result<Taken, StoreError> {
        let marks = journal.marks()?;
        if known.0 > 0 {
            self.must_go_on(journal, known, marks.thinned)?;
        }
        let mut since = known;
        loop {
            let page = journal.entries_after(since)?;
            let Some(last) = page.last() else { break };
            since = last.revision;
            self.write(vec![changes::insertion_of_several(self.database, self.id, &page)])?;
            (arriving.progress)(since);
            reach("move: a page is written");
        }
        self.write_tasks(journal)?;
        let leases: BTreeMap<_, _> =
            journal.leases()?.into_iter().map(|lease| (lease.task.clone(), Some(lease))).collect();
        if !leases.is_empty() {
            self.write(vec![lease_rows::writing(self.database, self.id, &leases)])?;
        }
        // A move closes the list first, so no token was given out since.
        let last_token = match arriving.token {
            Some(_) => marks.token,
            None => Token(marks.token.0.saturating_add(TOKENS_ABOVE)),
        };
        let sql = "UPDATE @.lists SET revision = $2, last_token = greatest(last_token, $3), mark = $4, journaled = $5,
                changed_at = $6, thinned = $7, thinned_all = 0, pending = $8, in_progress = $9, completed = $10,
                moved = NULL, came_by = $11, has_ties = false,
                head = (SELECT attempt FROM @.changes WHERE list = $1 AND revision = $2 AND place = 0)
            WHERE id = $1";
        let [pending, in_progress, completed] = self.counts;
        let row = self
            .database
            .statement(sql)
            .number(self.id)
            .number(marks.revision.0.cast_signed())
            .number(last_token.0.cast_signed())
            .float(arriving.mark)
            .float(marks.number as f64)
            .some_number(journal.time_of(marks.revision)?.map(|at| at.0))
            .number(marks.thinned.0.cast_signed());
        let row = row.number(pending).number(in_progress).number(completed).text(token);
        reach("move: about to be committed to the database");
        self.write(vec![row, self.database.raise(Kind::Names), Statement::script("COMMIT")])?;
        Ok(Taken::Now)
    }

    /// Fails unless a list that comes back has everything in its history that it had when it left.
    fn must_go_on(&mut self, journal: &PortableJournal, known: Revision, thinned: Revision) -> Result<(), StoreError> {
        let sql = "SELECT at FROM @.changes WHERE list = $1 AND revision = $2 ORDER BY place LIMIT 1";
        let question = self.database.statement(sql).number(self.id).number(known.0.cast_signed());
        let rows = self.ask(&[question])?;
        let was = rows[0].first().map(|row| row.try_get::<_, i64>(0)).transpose();
        let was = was.map_err(|error| self.failed(error.into()))?;
        let goes_on = match journal.time_of(known)? {
            Some(at) => was.is_none_or(|was| was == at.0),
            None => known <= thinned,
        };
        let why = "another history than this list had when it left is not put in its place";
        if goes_on { Ok(()) } else { Err(self.failed(Failure::new(FailureKind::Wrong, why))) }
    }

    fn write_tasks(&mut self, journal: &PortableJournal) -> Result<(), StoreError> {
        let mut ready = ReadyTasks::default();
        journal.each_task(|id, image| {
            if let Some(task) = image.task(id).ok().filter(|task| !task.is_internal()) {
                self.counts[task.status as usize] += 1;
            }
            ready.push(id, &image);
            if ready.is_full() { self.write_ready(std::mem::take(&mut ready)) } else { Ok(()) }
        })?;
        if ready.names.is_empty() { Ok(()) } else { self.write_ready(ready) }
    }

    fn write_ready(&mut self, ready: ReadyTasks) -> Result<(), StoreError> {
        let sql = "INSERT INTO @.tasks (list, task, image, raw) SELECT $1, new.* FROM ROWS AS new
            ON CONFLICT (list, task) DO UPDATE SET image = excluded.image, raw = excluded.raw";
        let columns = vec![
            Column::Texts(ready.names),
            Column::SomeTexts(ready.images.texts),
            Column::SomeBytes(ready.images.bytes),
        ];
        self.write(vec![self.database.statement(sql).number(self.id).rows(columns)])
    }

    fn write(&mut self, statements: Vec<Statement>) -> Result<(), StoreError> {
        self.ask(&statements).map(drop)
    }

    fn ask(&mut self, statements: &[Statement]) -> Result<Vec<Vec<Row>>, StoreError> {
        self.held.ask(statements, ANSWER_TIME).map_err(|failure| self.failed(failure))
    }

    fn failed(&self, failure: Failure) -> StoreError {
        failure.into_store_error(self.database.shown(), DOING)
    }
}

/// Tasks that are written together.
#[derive(Default)]
struct ReadyTasks {
    names: Vec<String>,
    images: ImageColumns,
    bytes: usize,
}

impl ReadyTasks {
    fn push(&mut self, id: &TaskId, image: &Image) {
        self.names.push(id.as_str().to_owned());
        self.images.push(Some(image));
        self.bytes += image.bytes().len();
    }

    fn is_full(&self) -> bool {
        self.names.len() >= TASKS || self.bytes >= BYTES
    }
}
