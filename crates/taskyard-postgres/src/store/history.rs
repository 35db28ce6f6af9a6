//! The journal in the database: queries, verification and thinning.

use std::collections::{BTreeMap, HashSet};

use taskyard::core::rules::history::retention::{
    ClockDoubt, ClockTrust, Keep, Past, Side, Terms, is_plausible, old_before, thin,
};
use taskyard::core::rules::history::vanishing::Step;
use taskyard::core::{Entry, Image, ListId, Op, Revision, TaskId, Timestamp};
use taskyard::store::kit::key_of;
use taskyard::store::{
    HistoryQuery, LastEntry, MOST_FAULTS, SharedFault, StoreError, ThinOut, ThinnedList, ThinnedOut,
};
use tokio_postgres::Row;

use super::catching_up::must_be_here;
use crate::connecting::{Failure, FailureKind, Statement};
use crate::database::Database;
use crate::server_clock::NOW;
use crate::store::change_rows::{COLUMN_COUNT, COLUMNS, ImageColumns, entry, revision};

/// Returns the journal entries that match a query.
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
    // Two operations may share a stored name.
    entries.retain(|entry| query.ops.is_empty() || query.ops.contains(&entry.op));
    Ok(entries)
}

/// Returns the query for journal entries, oldest first.
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
        // Operation names are constants without quotes.
        let ops: Vec<String> = query.ops.iter().map(|op| format!("'{}'", op.as_stored())).collect();
        wanted = format!("{wanted} AND c.op IN ({})", ops.join(", "));
        for op in Op::ALL {
            let Some(mark) = op.mark() else { continue };
            let is_plain = |other: &Op| other.as_stored() == op.as_stored() && other.mark().is_none();
            // Of two operations that share a name, only one is wanted.
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

/// Returns a revision as a database integer, capped at the largest one. Callers may pass any number.
pub(super) fn bound(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

pub(super) fn entries(rows: &[Row]) -> Result<Vec<Entry>, Failure> {
    rows.iter().map(entry).collect()
}

/// Returns the query for the last entry about each task.
pub(super) fn question_for_last(database: &Database, directory: &str) -> Statement {
    let sql = "SELECT DISTINCT ON (task) task, revision, at, op, after IS NOT NULL OR after_raw IS NOT NULL
        FROM @.changes WHERE list = (SELECT id FROM @.lists WHERE directory = $1) ORDER BY task, revision DESC";
    database.statement(sql).text(directory)
}

/// Reads the result of [`question_for_last`].
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

const EXAMINING: &str = "look the journal over";

/// Only changes of epoch within this time are reported, in milliseconds: thirty days.
const RECENT: i64 = 30 * 24 * 60 * 60 * 1000;

/// SQL for the list: its newest revision, and the one up to which entries may be missing because of thinning.
const OF_LIST: &str = "WITH this AS (SELECT id, revision, thinned FROM @.lists WHERE directory = $1)";

/// Returns the faults in a list's journal, and the times at which the database was rolled back.
pub(super) fn examine(database: &Database, list: &ListId) -> Result<Vec<SharedFault>, StoreError> {
    let rows = database.read(EXAMINING, || questions(database, list.directory()))?;
    let faults = rows.map_or(Ok(Vec::new()), |rows| faults(&rows));
    faults.map_err(|failure| failure.into_store_error(database.shown(), EXAMINING))
}

fn questions(database: &Database, directory: &str) -> Vec<Statement> {
    // Append the revision after the newest, so that missing entries at the end are found, too.
    let gaps = format!(
        "{OF_LIST} SELECT previous, revision FROM (
            SELECT revision, lag(revision, 1, (SELECT thinned FROM this)) OVER (ORDER BY revision) AS previous FROM (
                SELECT DISTINCT c.revision FROM @.changes c, this WHERE c.list = this.id AND c.revision > this.thinned
                UNION SELECT this.revision + 1 FROM this) AS there) AS pairs
        WHERE revision > previous + 1 ORDER BY revision LIMIT {MOST_FAULTS}"
    );
    // Thinning rewrites the previous image of entries, up to `thinned`.
    let mismatches = format!(
        "{OF_LIST} SELECT revision, task FROM (
            SELECT c.revision, c.task, c.before, c.before_raw, lag(c.revision) OVER earlier AS previous,
                lag(c.after) OVER earlier AS after, lag(c.after_raw) OVER earlier AS after_raw
            FROM @.changes c, this WHERE c.list = this.id AND c.revision > this.thinned
            WINDOW earlier AS (PARTITION BY c.task ORDER BY c.revision, c.place)) AS entries
        WHERE previous IS NOT NULL AND (before IS DISTINCT FROM after OR before_raw IS DISTINCT FROM after_raw)
        ORDER BY revision LIMIT {MOST_FAULTS}"
    );
    let differing = format!(
        "{OF_LIST}, newest AS (
            SELECT DISTINCT ON (c.task) c.task, c.after, c.after_raw FROM @.changes c, this WHERE c.list = this.id
            ORDER BY c.task, c.revision DESC, c.place DESC),
        there AS (SELECT t.task, t.image, t.raw FROM @.tasks t, this WHERE t.list = this.id)
        SELECT task FROM newest FULL JOIN there USING (task)
        WHERE newest.after IS DISTINCT FROM there.image OR newest.after_raw IS DISTINCT FROM there.raw
        ORDER BY task LIMIT {MOST_FAULTS}"
    );
    // The first epoch began with the tables. One begun for a list that this role may not see is only in `yard`.
    let epochs = format!(
        "SELECT began, coalesce(l.name, e.list), known, found FROM (
            SELECT began, list, known, found FROM @.epochs WHERE began > (SELECT min(began) FROM @.epochs)
            UNION ALL SELECT epoch_began, NULL, NULL, NULL FROM @.yard y
                WHERE NOT EXISTS (SELECT FROM @.epochs there WHERE there.epoch = y.epoch)) AS e
        LEFT JOIN @.lists l ON l.directory = e.list
        WHERE began > {NOW} - {RECENT} ORDER BY began DESC LIMIT {MOST_FAULTS}"
    );
    let of_list = |sql: &str| database.statement(sql).text(directory);
    vec![of_list(&gaps), of_list(&mismatches), of_list(&differing), database.statement(&epochs)]
}

fn faults(rows: &[Vec<Row>]) -> Result<Vec<SharedFault>, Failure> {
    let mut faults = Vec::new();
    for row in &rows[0] {
        faults.push(SharedFault::Gap { after: revision(row.try_get(0)?), before: revision(row.try_get(1)?) });
    }
    for row in &rows[1] {
        let task = TaskId::stored(row.try_get::<_, &str>(1)?);
        faults.push(SharedFault::Mismatch { revision: revision(row.try_get(0)?), task });
    }
    for row in &rows[2] {
        faults.push(SharedFault::Differs { task: TaskId::stored(row.try_get::<_, &str>(0)?) });
    }
    for row in rows[3].iter().rev() {
        let lost: (Option<String>, Option<i64>, Option<i64>) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
        let lost = match lost {
            (Some(list), Some(known), Some(found)) => Some((list, revision(known), revision(found))),
            _ => None,
        };
        faults.push(SharedFault::WentBack { at: Timestamp(row.try_get(0)?), lost });
    }
    Ok(faults)
}

const THINNING: &str = "thin out the journal";
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Tasks per transaction when thinning. Writers wait for that long.
const AT_ONCE: usize = 50;

/// A list with old entries.
struct OldList {
    id: i64,
    list: ListId,
    /// Entries up to this revision are old, within this epoch of the database.
    horizon: Revision,
    epoch: String,
    tasks: Vec<String>,
}

/// An entry and its place within its commit.
struct Placed {
    place: i64,
    entry: Entry,
}

/// The decision about the entries of some tasks.
#[derive(Default)]
struct Decided {
    /// The entries to delete, by revision and place.
    going: (Vec<i64>, Vec<i64>),
    /// The entries to keep with other images.
    changed: (Vec<i64>, Vec<i64>),
    before: ImageColumns,
    after: ImageColumns,
    forgotten: Vec<TaskId>,
}

/// Thins the journals of all lists, and deletes messages and notices acknowledged long ago.
pub(super) fn thin_out(database: &Database, terms: &ThinOut) -> Result<ThinnedOut, StoreError> {
    if database.clock.now().is_none() {
        database.ask_time(THINNING)?;
    }
    let mut thinned = ThinnedOut::default();
    let before = match judge_clock(database, terms)? {
        Judged::OldBefore(before) => before,
        Judged::Doubted(doubt) => return Ok(ThinnedOut { doubt: Some(doubt), ..thinned }),
    };
    let named = terms.named.as_ref().map_or("", |(list, _)| list.directory());
    let sql = "SELECT l.id, l.name, l.thinned_all FROM @.lists l WHERE l.directory = $2 OR
        (SELECT c.at FROM @.changes c WHERE c.list = l.id AND c.revision > l.thinned_all ORDER BY c.revision, c.place LIMIT 1) < $1
        ORDER BY l.directory";
    let ask = || vec![database.statement(sql).number(before).text(named)];
    let Some((rows, stamp)) = database.read_stamped(THINNING, ask)? else { return Ok(thinned) };
    for row in &rows[0] {
        let Some(old) = old_list(database, row, stamp.epoch.id(), before, terms)? else { continue };
        let mut of_list = ThinnedList { list: old.list.clone(), entries: 0, forgotten: Vec::new() };
        for tasks in old.tasks.chunks(AT_ONCE) {
            let decided = thin_some(database, &old, tasks, terms)?;
            of_list.entries += decided.going.0.len() as u64;
            of_list.forgotten.extend(decided.forgotten);
        }
        if !terms.is_dry {
            let sql = "UPDATE @.lists SET thinned_all = greatest(thinned_all, $2)
                WHERE id = $1 AND $3 = (SELECT epoch FROM @.yard)";
            let done = || {
                let done = database.statement(sql).number(old.id).number(old.horizon.0.cast_signed());
                vec![done.text(old.epoch.as_str())]
            };
            database.change(THINNING, done)?;
        }
        if of_list.entries > 0 || !of_list.forgotten.is_empty() {
            thinned.lists.push(of_list);
        }
    }
    [thinned.messages, thinned.notices] = forget_heard(database, before, terms.is_dry)?;
    Ok(thinned)
}

/// The verdict on the server's clock.
enum Judged {
    /// The clock is trusted; entries before this time are old.
    OldBefore(i64),
    /// The clock may be wrong.
    Doubted(ClockDoubt),
}

/// Judges the server's clock by the times of changes in all lists (see `taskyard::core::rules::history::retention`).
fn judge_clock(database: &Database, terms: &ThinOut) -> Result<Judged, StoreError> {
    let now = database.clock.now_in_transaction().wall;
    // One time per day is enough to show that time has passed.
    let sql = format!("SELECT max(at) FROM @.changes GROUP BY at / {DAY} ORDER BY 1 DESC");
    let rows = database.read(THINNING, || vec![database.statement(&sql)])?.map(|mut rows| rows.remove(0));
    let moments: Result<Vec<i64>, Failure> = rows.iter().flatten().map(|row| Ok(row.try_get(0)?)).collect();
    let moments = moments.map_err(|failure| failed(database, failure))?;
    let ahead = moments.partition_point(|at| *at >= now.0.saturating_add(DAY));
    let happened: Vec<Timestamp> = moments[ahead..].iter().copied().map(Timestamp).collect();
    // If all times are in the future, the clock is behind the earliest of them.
    let last = happened.first().copied().or(moments.last().copied().map(Timestamp));
    if let Some(last) = last.filter(|last| !terms.is_confirmed && !is_plausible(*last, now)) {
        return Ok(Judged::Doubted(ClockDoubt { last, now }));
    }
    let trust = if terms.is_confirmed { ClockTrust::Vouched } else { ClockTrust::Plausible };
    let before = old_before(now, terms.keep, &happened, trust);
    Ok(Judged::OldBefore(before.map_or(i64::MIN, |before| before.0)))
}

/// Determines which entries of a list are old; returns `None` if none are.
fn old_list(
    database: &Database,
    row: &Row,
    epoch: &str,
    before: i64,
    terms: &ThinOut,
) -> Result<Option<OldList>, StoreError> {
    let read = || -> Result<(i64, ListId, i64), Failure> {
        let list = ListId::new(row.try_get::<_, &str>(1)?);
        let list = list.map_err(|error| Failure::new(FailureKind::Wrong, error.to_string()))?;
        Ok((row.try_get(0)?, list, row.try_get(2)?))
    };
    let (id, list, done) = read().map_err(|failure| failed(database, failure))?;
    // All revisions up to the horizon precede the first one that is not old.
    let horizon =
        "SELECT coalesce((SELECT c.revision - 1 FROM @.changes c WHERE c.list = $1 AND c.revision > $2 AND c.at >= $3
        ORDER BY c.revision LIMIT 1), (SELECT revision FROM @.lists WHERE id = $1))";
    let ask = || vec![database.statement(horizon).number(id).number(done).number(before)];
    let horizon: i64 = one(database, ask)?;
    let sql = "SELECT DISTINCT task FROM @.changes WHERE list = $1 AND revision > $2 AND revision <= $3";
    let ask = || vec![database.statement(sql).number(id).number(done).number(horizon)];
    let rows = database.read(THINNING, ask)?.map(|mut rows| rows.remove(0)).unwrap_or_default();
    let tasks: Result<Vec<String>, Failure> = rows.iter().map(|row| Ok(row.try_get(0)?)).collect();
    let mut tasks: HashSet<String> = tasks.map_err(|failure| failed(database, failure))?.into_iter().collect();
    if let Some((_, named)) = terms.named.as_ref().filter(|(of, _)| *of == list) {
        tasks.extend(named.iter().map(|task| task.as_str().to_owned()));
    }
    let mut tasks: Vec<String> = tasks.into_iter().collect();
    tasks.sort();
    let epoch = epoch.to_owned();
    Ok((!tasks.is_empty()).then(|| OldList { id, list, horizon: revision(horizon), epoch, tasks }))
}

/// Thins the entries of some tasks, with the list locked against other writers.
fn thin_some(database: &Database, old: &OldList, tasks: &[String], terms: &ThinOut) -> Result<Decided, StoreError> {
    let first = || {
        let lock = database.statement("SELECT revision FROM @.lists WHERE id = $1 FOR UPDATE").number(old.id);
        let sql = format!(
            "SELECT {COLUMNS}, c.place FROM @.changes c WHERE c.list = $1 AND c.task = ANY($2) ORDER BY c.revision, c.place"
        );
        let told = database.statement(&sql).number(old.id).texts(tasks.to_vec());
        vec![lock, told, database.statement("SELECT epoch FROM @.yard")]
    };
    database.transact(THINNING, first, |rows| {
        let epoch: Option<&str> = rows[2].first().map(|row| row.try_get(0)).transpose()?;
        if epoch != Some(old.epoch.as_str()) {
            let said = "the database went back in time, or another server took over; run the command again";
            return Err(Failure::new(FailureKind::Wrong, said));
        }
        let newest = revision(rows[0].first().map_or(Ok(0), |row| row.try_get(0))?);
        let mut told: BTreeMap<TaskId, Vec<Placed>> = BTreeMap::new();
        for row in &rows[1] {
            let placed = Placed { place: row.try_get(COLUMN_COUNT)?, entry: entry(row)? };
            told.entry(placed.entry.task.clone()).or_default().push(placed);
        }
        let named = terms.named.as_ref().filter(|(of, _)| *of == old.list).map(|(_, named)| named);
        let mut decided = Decided::default();
        for (task, told) in &told {
            let is_named = named.is_some_and(|named| named.contains(task));
            decide(
                &mut decided,
                told,
                &Terms {
                    horizon: old.horizon,
                    gone_until: old.horizon,
                    list_is_gone: false,
                    is_named,
                    is_mark: told.last().is_some_and(|last| last.entry.revision == newest),
                },
            );
        }
        let statements = if terms.is_dry { Vec::new() } else { decided.statements(database, old) };
        Ok((statements, decided))
    })
}

/// Decides about the entries of one task, given oldest first.
fn decide(decided: &mut Decided, told: &[Placed], terms: &Terms) {
    if told.iter().any(|placed| placed.entry.op.is_elsewhere()) {
        // Changes by other programs were copied from a file-based yard, and are kept.
        return;
    }
    let past: Vec<Past> = told.iter().map(|placed| Past { step: Step::from(&placed.entry), replaced: None }).collect();
    let kept = thin(&past, terms, &mut |place, side| {
        let entry = &told[place].entry;
        let image = if side == Side::Before { &entry.before } else { &entry.after };
        Some(image.as_ref()?.task(&entry.task).ok()?.status.is_open())
    });
    let mut earlier: Option<&Entry> = None;
    for (place, (placed, keep)) in told.iter().zip(&kept).enumerate() {
        let at = (placed.entry.revision.0.cast_signed(), placed.place);
        match keep {
            Keep::No => {
                decided.going.0.push(at.0);
                decided.going.1.push(at.1);
                continue;
            }
            Keep::Bare => decided.change(at, None, None),
            // Its previous image becomes the state after the last entry that is kept.
            Keep::Whole if place > 0 && kept[place - 1] != Keep::Whole && earlier.is_some() => {
                decided.change(at, earlier.and_then(|entry| entry.after.as_ref()), placed.entry.after.as_ref());
            }
            Keep::Whole => {}
        }
        earlier = Some(&placed.entry);
    }
    if terms.is_named && kept.contains(&Keep::No) && !kept.contains(&Keep::Whole) {
        decided.forgotten.extend(told.first().map(|placed| placed.entry.task.clone()));
    }
}

impl Decided {
    fn change(&mut self, (revision, place): (i64, i64), before: Option<&Image>, after: Option<&Image>) {
        self.changed.0.push(revision);
        self.changed.1.push(place);
        self.before.push(before);
        self.after.push(after);
    }

    /// Returns the statements that apply the decision; empty if nothing is to be deleted or changed.
    fn statements(&self, database: &Database, old: &OldList) -> Vec<Statement> {
        let mut all = Vec::new();
        if self.going.0.is_empty() && self.changed.0.is_empty() {
            return all;
        }
        let sql = "UPDATE @.lists SET thinned = greatest(thinned, $2) WHERE id = $1";
        all.push(database.statement(sql).number(old.id).number(old.horizon.0.cast_signed()));
        let sql = "UPDATE @.changes c SET before = new.before, before_raw = new.before_raw, after = new.after, after_raw = new.after_raw
            FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::text[], $7::bytea[])
                AS new (revision, place, before, before_raw, after, after_raw)
            WHERE c.list = $1 AND c.revision = new.revision AND c.place = new.place";
        let update =
            database.statement(sql).number(old.id).numbers(self.changed.0.clone()).numbers(self.changed.1.clone());
        let update = update.some_texts(self.before.texts.clone()).some_bytes(self.before.bytes.clone());
        all.push(update.some_texts(self.after.texts.clone()).some_bytes(self.after.bytes.clone()));
        let sql = "DELETE FROM @.changes c USING unnest($2::bigint[], $3::bigint[]) AS going (revision, place)
            WHERE c.list = $1 AND c.revision = going.revision AND c.place = going.place";
        all.push(database.statement(sql).number(old.id).numbers(self.going.0.clone()).numbers(self.going.1.clone()));
        all
    }
}

/// Deletes messages and notices acknowledged before a time, or only counts them.
fn forget_heard(database: &Database, before: i64, is_dry: bool) -> Result<[usize; 2], StoreError> {
    let mut heard = [0; 2];
    for (count, table) in heard.iter_mut().zip(["messages", "notices"]) {
        let sql = format!("SELECT count(*) FROM @.{table} WHERE acknowledged_at < $1");
        let counted = one(database, || vec![database.statement(&sql).number(before)])?;
        *count = usize::try_from(counted).unwrap_or(0);
    }
    if !is_dry && heard != [0; 2] {
        // The record that the sender can look up is deleted with the message.
        let letters = "letters WHERE at < $1 AND NOT EXISTS (
            SELECT FROM @.messages m WHERE m.delivery = letters.delivery AND m.acknowledged_at IS NULL)";
        let all = [letters, "messages WHERE acknowledged_at < $1", "notices WHERE acknowledged_at < $1"];
        let forget = |what: &&str| database.statement(&format!("DELETE FROM @.{what}")).number(before);
        database.change(THINNING, || all.iter().map(forget).collect())?;
    }
    Ok(heard)
}

/// Queries one number.
fn one(database: &Database, ask: impl Fn() -> Vec<Statement>) -> Result<i64, StoreError> {
    let rows = database.read(THINNING, ask)?;
    let row = rows.as_ref().and_then(|rows| rows[0].first());
    row.map_or(Ok(0), |row| row.try_get(0)).map_err(|error| failed(database, Failure::from(error)))
}

fn failed(database: &Database, failure: Failure) -> StoreError {
    failure.into_store_error(database.shown(), THINNING)
}
