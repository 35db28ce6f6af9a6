//! Copying complete lists out of and into the database, and moving a list away.

use std::collections::BTreeMap;

use taskyard::core::dialect::native::next_number;
use taskyard::core::{Image, Lease, ListId, Revision, Status, TaskId, Token};
use taskyard::failpoint::reach;
use taskyard::store::kit::{ListState, number_of};
use taskyard::store::{
    ArrivingList, Closed, Departure, HistoryQuery, ListCopy, ListCopyTarget, PortableJournal, StoreError, new_token,
};
use tokio_postgres::Row;

use super::catching_up::{hidden, must_be_here};
use super::history::history_of;
use super::lease_rows;
use super::writer::{Waiting, making};
use crate::connecting::{ANSWER_TIME, Column, Failure, FailureKind, Held, Statement};
use crate::database::{Database, NotAsked};
use crate::store::change_rows;
use crate::store::change_rows::{ImageColumns, revision};
use crate::versions::Kind;

const COPYING: &str = "take in a list";

/// Revisions read at once.
const PAGE: u64 = 256;
/// Limits on the tasks written at once, by number and by bytes.
const TASKS: usize = 500;
const BYTES: usize = 1 << 20;
/// How far tokens skip ahead after a backup is restored: tokens issued since the backup was made must never pass for
/// those of new leases.
const TOKENS_ABOVE: u64 = 1_000_000;

/// Copies a list that was read completely. `thinned` returns up to which revision entries may be missing; it is
/// called after the entries were read.
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
    // A number that no entry mentions any more must not be reused either.
    let mark = if state.journaled > highest { state.mark.max(state.journaled) } else { state.mark };
    if mark > 0.0 {
        to.take_file(".highwatermark", next_number(mark - 1.0).as_bytes())?;
    }
    Ok(copy)
}

/// Imports a list in one transaction. Returns false if a list of that name exists.
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
            database.migrate(COPYING)?;
            database.begin(first)
        }
        begun => begun,
    };
    let (mut held, (rows, _)) = begun.map_err(|other| database.error(other, COPYING))?;
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

/// Imports a list whose row is locked.
fn take_in_locked(
    database: &Database,
    held: &mut Held,
    rows: &[Vec<Row>],
    journal: &PortableJournal,
    arriving: &ArrivingList<'_>,
    token: &str,
) -> Result<Taken, StoreError> {
    let failed = |failure: Failure| failure.into_store_error(database.shown(), COPYING);
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

/// The result of importing a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It was imported.
    Now,
    /// The same move had already imported it.
    Before,
    /// Another list of that name exists.
    NotAtAll,
}

/// The existing row of an imported list.
struct Standing {
    id: i64,
    revision: Revision,
    /// Whether a list that moved to another store left this row.
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

/// A list being imported.
struct Arrival<'a> {
    database: &'a Database,
    held: &'a mut Held,
    id: i64,
    /// The number of tasks in each status.
    counts: [i64; Status::ALL.len()],
}

impl Arrival<'_> {
    /// Writes everything after what the database already has of the list, and commits.
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
            self.write(vec![change_rows::insertion_of_several(self.database, self.id, &page)])?;
            (arriving.progress)(since);
            reach("move: a page is written");
        }
        self.write_tasks(journal)?;
        let leases: BTreeMap<_, _> =
            journal.leases()?.into_iter().map(|lease| (lease.task.clone(), Some(lease))).collect();
        if !leases.is_empty() {
            self.write(vec![lease_rows::writing(self.database, self.id, &leases)])?;
        }
        // A move closes the list first, so no token can have been issued since.
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

    /// Fails unless the history of a returning list contains everything it had when it left.
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
        let why = "the history differs from the one this list had when it left, and is not put in its place";
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
        failure.into_store_error(self.database.shown(), COPYING)
    }
}

/// A batch of tasks to write.
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

const MOVING: &str = "move a list";

/// Allows a copy to take longer while the list's row is locked.
const LONGEST_COPY: &str = "SET LOCAL idle_in_transaction_session_timeout = '10min'";

/// Returns the move that a list is in or has completed, or `None`.
pub(super) fn departure(database: &Database, list: &ListId) -> Result<Option<Departure>, StoreError> {
    let sql = "SELECT moved FROM @.lists WHERE directory = $1";
    let rows = database.read(MOVING, || vec![database.statement(sql).text(list.directory())])?;
    let row = rows.as_ref().and_then(|rows| rows[0].first());
    let noted = row.map_or(Ok(None), |row| noted(row, 0));
    noted.map_err(|failure| failure.into_store_error(database.shown(), MOVING))
}

/// Reads the note of a move from a column of a list's row.
pub(super) fn noted(row: &Row, place: usize) -> Result<Option<Departure>, Failure> {
    let unclear = || Failure::new(FailureKind::Wrong, "the list's new place is unknown");
    let text = row.try_get::<_, Option<&str>>(place)?;
    text.map(|text| Departure::parse(text).ok_or_else(unclear)).transpose()
}

/// Locks a list's row and closes the list, unless agents are working on its tasks.
pub(super) fn close(
    database: &Database,
    list: &ListId,
    departure: &Departure,
    copy: &mut dyn FnMut() -> Result<Revision, StoreError>,
) -> Result<Closed, StoreError> {
    let begun = database.begin(|| {
        let row = "SELECT id, revision, moved FROM @.lists WHERE directory = $1 FOR UPDATE";
        let leases = format!(
            "SELECT {} FROM {} WHERE list = (SELECT id FROM @.lists WHERE directory = $1) AND NOT has_ended",
            lease_rows::COLUMNS,
            lease_rows::TABLES
        );
        let asked = [row, &leases].map(|sql| database.statement(sql).text(list.directory()));
        std::iter::once(Statement::script(LONGEST_COPY)).chain(asked).collect()
    });
    let (mut held, (rows, _)) = begun.map_err(|other| database.error(other, MOVING))?;
    let closed = close_locked(database, &mut held, &rows, departure, copy);
    if !matches!(closed, Ok(Closed::At(_))) {
        database.roll_back(&mut held);
    }
    closed
}

fn close_locked(
    database: &Database,
    held: &mut Held,
    rows: &[Vec<Row>],
    departure: &Departure,
    copy: &mut dyn FnMut() -> Result<Revision, StoreError>,
) -> Result<Closed, StoreError> {
    let failed = |failure: Failure| failure.into_store_error(database.shown(), MOVING);
    let missing = || failed(Failure::new(FailureKind::Wrong, "the list is not there"));
    let row = rows[1].first().ok_or_else(missing)?;
    must_be_here(row, 2).map_err(failed)?;
    let leases: Result<Vec<Option<Lease>>, Failure> =
        rows[2].iter().map(|row| lease_rows::lease(row).map(|row| row.lease)).collect();
    let leases: Vec<Lease> = leases.map_err(failed)?.into_iter().flatten().collect();
    if !leases.is_empty() {
        return Ok(Closed::Leased(leases));
    }
    let id: i64 = row.try_get(0).map_err(Failure::from).map_err(failed)?;
    let newest = revision(row.try_get(1).map_err(Failure::from).map_err(failed)?);
    if copy()? != newest {
        return Ok(Closed::Changed);
    }
    let note = "UPDATE @.lists SET moved = $2 WHERE id = $1";
    let note = database.statement(note).number(id).text(departure.print());
    held.ask(&[note, Statement::script("COMMIT")], ANSWER_TIME).map_err(failed)?;
    reach("move: closed");
    Ok(Closed::At(newest))
}

/// Reopens a list if this move closed it and has not been completed.
pub(super) fn reopen(database: &Database, list: &ListId, token: &str) -> Result<(), StoreError> {
    change_note(database, list, |id, departure| {
        let is_ours = departure.token == token && !departure.has_left;
        let sql = "UPDATE @.lists SET moved = NULL WHERE id = $1";
        Ok(if is_ours { vec![database.statement(sql).number(id)] } else { Vec::new() })
    })
}

/// Records that a list has arrived in another store, and removes its tasks.
pub(super) fn leave(database: &Database, list: &ListId, token: &str) -> Result<(), StoreError> {
    change_note(database, list, |id, departure| {
        if departure.token != token {
            return Err(Failure::new(FailureKind::Wrong, "it was not this move that closed the list"));
        }
        let note = Departure { has_left: true, ..departure }.print();
        let gone = "UPDATE @.lists SET moved = $2, pending = 0, in_progress = 0, completed = 0 WHERE id = $1";
        let of_list = |sql: &str| database.statement(sql).number(id);
        let [tasks, ties] = ["DELETE FROM @.tasks WHERE list = $1", "DELETE FROM @.ties WHERE list = $1"].map(of_list);
        Ok(vec![of_list(gone).text(note), tasks, ties, database.raise(Kind::Names)])
    })?;
    reach("move: noted as gone");
    tell_followers(database, list);
    Ok(())
}

/// Notifies the followers of a list and of the names of lists.
pub(super) fn tell_followers(database: &Database, list: &ListId) {
    let sql = "SELECT l.channel, w.channel FROM @.lists l LEFT JOIN @.commit_channels w ON w.list = l.id WHERE l.directory = $1";
    let asked = database.read(MOVING, || vec![database.statement(sql).text(list.directory())]);
    let row = match &asked {
        Ok(rows) => rows.as_ref().and_then(|rows| rows[0].first()),
        Err(error) => return tracing::debug!(%error, "nobody is told; they look by themselves"),
    };
    let channels = row.into_iter().flat_map(|row| [0, 1].map(|place| row.try_get::<_, String>(place).ok())).flatten();
    for channel in channels.chain([database.schema.channel("names", "")]) {
        database.tell_of(Kind::Names, &channel);
    }
}

/// Changes the move's note of a list, with its row locked.
fn change_note(
    database: &Database,
    list: &ListId,
    change: impl Fn(i64, Departure) -> Result<Vec<Statement>, Failure>,
) -> Result<(), StoreError> {
    let sql = "SELECT id, moved FROM @.lists WHERE directory = $1 FOR UPDATE";
    let first = || vec![database.statement(sql).text(list.directory())];
    database.transact(MOVING, first, |rows| {
        let Some(row) = rows[0].first() else { return Ok((Vec::new(), ())) };
        match noted(row, 1)? {
            Some(departure) => Ok((change(row.try_get(0)?, departure)?, ())),
            None => Ok((Vec::new(), ())),
        }
    })
}

/// Returns whether the move with this token brought the list here. Waits for a transaction that is about to do so.
pub(super) fn has_arrived(database: &Database, list: &ListId, token: &str) -> Result<bool, StoreError> {
    let sql = "SELECT came_by FROM @.lists WHERE directory = $1 FOR UPDATE";
    let first = || {
        // Only another insert of the same row waits for one that is not committed yet.
        let mut all = making(database, list, Waiting::Wait);
        all.push(database.statement(sql).text(list.directory()));
        all
    };
    database.transact(MOVING, first, |rows| {
        let row = rows.last().and_then(|rows| rows.first());
        let came_by = row.map_or(Ok(None), |row| row.try_get::<_, Option<String>>(0))?;
        Ok((Vec::new(), came_by.as_deref() == Some(token)))
    })
}
