//! Asking the journal.

use taskyard::core::{Entry, ListId, Op, Revision, TaskId, Timestamp};
use taskyard::store::kit::key_of;
use taskyard::store::{HistoryQuery, LastEntry, StoreError};
use tokio_postgres::Row;

use super::catching_up::must_be_here;
use super::changes::{COLUMNS, entry, revision};
use crate::connecting::{Failure, FailureKind, Statement};
use crate::database::Database;

/// Returns a part of the journal.
pub(crate) fn history_of(database: &Database, list: &ListId, query: &HistoryQuery) -> Result<Vec<Entry>, StoreError> {
    let doing = "read the journal";
    if let Some(entries) = database.number.take_journal(list.directory(), query) {
        return Ok(entries);
    }
    let moved = "SELECT moved FROM @.lists WHERE directory = $1 AND moved IS NOT NULL";
    let rows = database.read(doing, || {
        vec![question(database, list.directory(), query), database.statement(moved).text(list.directory())]
    })?;
    let Some([rows, moved]) = rows.as_deref() else { return Ok(Vec::new()) };
    let is_here = moved.first().map_or(Ok(()), |moved| must_be_here(moved, 0));
    let mut entries =
        is_here.and_then(|()| entries(rows)).map_err(|failure| failure.into_store_error(database.shown(), doing))?;
    // Two verbs may share a word.
    entries.retain(|entry| query.ops.is_empty() || query.ops.contains(&entry.op));
    Ok(entries)
}

/// Returns what asks for a part of the journal, oldest entry first.
pub(super) fn question(database: &Database, directory: &str, query: &HistoryQuery) -> Statement {
    let mut wanted = "c.list = (SELECT id FROM @.lists WHERE directory = $1) AND c.revision > $2
        AND ($3::bigint IS NULL OR c.revision <= $3)"
        .to_owned();
    let mut parameters = Vec::new();
    let mut parameter = |value: String| {
        parameters.push(value);
        parameters.len() + 3
    };
    if let Some(task) = &query.task {
        wanted = format!("{wanted} AND c.task = ${}", parameter(key_of(task).as_str().to_owned()));
    }
    if !query.ops.is_empty() {
        // Verbs are words of ours, without a quote in them.
        let ops: Vec<String> = query.ops.iter().map(|op| format!("'{}'", op.as_stored())).collect();
        wanted = format!("{wanted} AND c.op IN ({})", ops.join(", "));
        for op in Op::ALL {
            let Some(mark) = op.mark() else { continue };
            let is_plain = |other: &Op| other.as_stored() == op.as_stored() && other.mark().is_none();
            // Of two verbs with one word only one is wanted.
            if query.ops.contains(&op) != query.ops.iter().any(is_plain) {
                let (word, sign) = (op.as_stored(), if query.ops.contains(&op) { ">" } else { "=" });
                wanted = format!(
                    "{wanted} AND (c.op <> '{word}' OR strpos(coalesce(c.remark, ''), '\"{mark}\":true') {sign} 0)"
                );
            }
        }
    }
    if query.only_arrivals {
        wanted = format!(
            "{wanted} AND c.before IS NULL AND c.before_raw IS NULL AND (c.after IS NOT NULL OR c.after_raw IS NOT NULL)"
        );
    }
    if let Some(attempt) = query.attempt {
        let place = parameter(attempt.to_string());
        wanted = format!(
            "{wanted} AND c.revision = (SELECT a.revision FROM @.changes a
                WHERE a.list = (SELECT id FROM @.lists WHERE directory = $1) AND a.attempt = ${place})"
        );
    }
    let mut sql = format!("SELECT {COLUMNS} FROM @.changes c WHERE {wanted}");
    if query.newest.is_some() || query.oldest.is_some() {
        let mut revisions = format!("SELECT DISTINCT c.revision FROM @.changes c WHERE {wanted}");
        for (most, order) in [(query.newest, "DESC"), (query.oldest, "ASC")] {
            if let Some(most) = most {
                revisions = format!("SELECT revision FROM ({revisions}) r ORDER BY revision {order} LIMIT {most}");
            }
        }
        sql = format!("{sql} AND c.revision IN ({revisions})");
    }
    let statement = database.statement(&format!("{sql} ORDER BY c.revision, c.place"));
    let statement = statement.text(directory).number(bound(query.since)).some_number(query.until.map(bound));
    parameters.into_iter().fold(statement, |statement, value| statement.text(value))
}

/// Returns a revision as the database counts. Callers may name any number; the database counts no further than this.
pub(super) fn bound(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

/// Reads the answer.
pub(super) fn entries(rows: &[Row]) -> Result<Vec<Entry>, Failure> {
    rows.iter().map(entry).collect()
}

/// Returns what asks for the last entry about each task.
pub(super) fn question_for_last(database: &Database, directory: &str) -> Statement {
    let sql = "SELECT DISTINCT ON (task) task, revision, at, op, after IS NOT NULL OR after_raw IS NOT NULL
        FROM @.changes WHERE list = (SELECT id FROM @.lists WHERE directory = $1) ORDER BY task, revision DESC";
    database.statement(sql).text(directory)
}

/// Reads the answer, by task.
pub(super) fn last_entries(rows: &[Row]) -> Result<Vec<LastEntry>, Failure> {
    let unknown = |()| Failure::new(FailureKind::Wrong, "an entry of the journal has a verb that nobody knows");
    let last = |row: &Row| -> Result<LastEntry, Failure> {
        Ok(LastEntry {
            task: TaskId::stored(row.try_get::<_, &str>(0)?),
            revision: revision(row.try_get(1)?),
            at: Timestamp(row.try_get(2)?),
            op: row.try_get::<_, &str>(3)?.parse::<Op>().map_err(unknown)?,
            leaves_task: row.try_get(4)?,
        })
    };
    let mut all = rows.iter().map(last).collect::<Result<Vec<_>, _>>()?;
    all.sort_by(|one, other| one.task.cmp(&other.task));
    Ok(all)
}
