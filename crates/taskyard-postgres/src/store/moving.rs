//! Moving a list away from the database: its row says where it goes, and every look at the list reads that row.

use taskyard::core::{Lease, ListId, Revision};
use taskyard::failpoint::reach;
use taskyard::store::{Closed, Departure, StoreError};
use tokio_postgres::Row;

use super::catching_up::must_be_here;
use super::changes::revision;
use super::lease_rows;
use super::writer::{Waiting, making};
use crate::connecting::{ANSWER_TIME, Failure, FailureKind, Held, Statement};
use crate::database::Database;
use crate::versions::Kind;

const DOING: &str = "move a list";

/// Copying a list may take so long while its row is locked.
const LONGEST_COPY: &str = "SET LOCAL idle_in_transaction_session_timeout = '10min'";

/// Returns where a list goes or has gone.
pub(super) fn departure(database: &Database, list: &ListId) -> Result<Option<Departure>, StoreError> {
    let sql = "SELECT moved FROM @.lists WHERE directory = $1";
    let rows = database.read(DOING, || vec![database.statement(sql).text(list.directory())])?;
    let row = rows.as_ref().and_then(|rows| rows[0].first());
    let noted = row.map_or(Ok(None), |row| noted(row, 0));
    noted.map_err(|failure| failure.into_store_error(database.shown(), DOING))
}

/// Reads the note in a column of a list's row.
pub(super) fn noted(row: &Row, place: usize) -> Result<Option<Departure>, Failure> {
    let unclear = || Failure::new(FailureKind::Wrong, "nobody can tell where the list has moved to");
    let text = row.try_get::<_, Option<&str>>(place)?;
    text.map(|text| Departure::parse(text).ok_or_else(unclear)).transpose()
}

/// Closes a list with its row locked, unless agents work on its tasks.
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
    let (mut held, (rows, _)) = begun.map_err(|other| database.error(other, DOING))?;
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
    let failed = |failure: Failure| failure.into_store_error(database.shown(), DOING);
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

/// Opens a list again, if this move closed it and it has not left.
pub(super) fn reopen(database: &Database, list: &ListId, token: &str) -> Result<(), StoreError> {
    change_note(database, list, |id, departure| {
        let is_ours = departure.token == token && !departure.has_left;
        let sql = "UPDATE @.lists SET moved = NULL WHERE id = $1";
        Ok(if is_ours { vec![database.statement(sql).number(id)] } else { Vec::new() })
    })
}

/// Notes that a list has arrived elsewhere, and removes its tasks.
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

/// Tells those who follow a list, or which lists there are, to look.
pub(super) fn tell_followers(database: &Database, list: &ListId) {
    let sql = "SELECT l.channel, w.channel FROM @.lists l LEFT JOIN @.commit_channels w ON w.list = l.id WHERE l.directory = $1";
    let asked = database.read(DOING, || vec![database.statement(sql).text(list.directory())]);
    let row = match &asked {
        Ok(rows) => rows.as_ref().and_then(|rows| rows[0].first()),
        Err(error) => return tracing::debug!(%error, "nobody is told; they look by themselves"),
    };
    let channels = row.into_iter().flat_map(|row| [0, 1].map(|place| row.try_get::<_, String>(place).ok())).flatten();
    for channel in channels.chain([database.schema.channel("names", "")]) {
        database.tell_of(Kind::Names, &channel);
    }
}

/// Changes the note of a list that has one, with its row locked.
fn change_note(
    database: &Database,
    list: &ListId,
    change: impl Fn(i64, Departure) -> Result<Vec<Statement>, Failure>,
) -> Result<(), StoreError> {
    let sql = "SELECT id, moved FROM @.lists WHERE directory = $1 FOR UPDATE";
    let first = || vec![database.statement(sql).text(list.directory())];
    database.transact(DOING, first, |rows| {
        let Some(row) = rows[0].first() else { return Ok((Vec::new(), ())) };
        match noted(row, 1)? {
            Some(departure) => Ok((change(row.try_get(0)?, departure)?, ())),
            None => Ok((Vec::new(), ())),
        }
    })
}

/// Tells whether a list came here with the move of this token. A transaction that is about to bring it has ended then.
pub(super) fn has_arrived(database: &Database, list: &ListId, token: &str) -> Result<bool, StoreError> {
    let sql = "SELECT came_by FROM @.lists WHERE directory = $1 FOR UPDATE";
    let first = || {
        // A row that another transaction has made and not committed is waited for only by a second one that makes it.
        let mut all = making(database, list, Waiting::Wait);
        all.push(database.statement(sql).text(list.directory()));
        all
    };
    database.transact(DOING, first, |rows| {
        let row = rows.last().and_then(|rows| rows.first());
        let came_by = row.map_or(Ok(None), |row| row.try_get::<_, Option<String>>(0))?;
        Ok((Vec::new(), came_by.as_deref() == Some(token)))
    })
}
