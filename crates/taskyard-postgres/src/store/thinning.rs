//! Thinning out what is old: of each task its making and its state at the end of that time stay, of one that is not there its last state
//! for as long as that is promised (`taskyard::core::rules::history::retention`).
//!
//! Two columns of a list's row say how far that went. `thinned` is raised in the transaction that takes the first entries away: a process
//! that knows the list only up to an earlier revision reads it anew. `thinned_all` is raised when all tasks were looked at.

use std::collections::{BTreeMap, HashSet};

use taskyard::core::rules::history::elapsed::{ClockDoubt, ClockTrust, is_plausible, old_before};
use taskyard::core::rules::history::presence::Step;
use taskyard::core::rules::history::retention::{Keep, Past, Side, Terms, thin};
use taskyard::core::{Entry, Image, ListId, Revision, TaskId, Timestamp};
use taskyard::store::{StoreError, ThinOut, ThinnedList, ThinnedOut};
use tokio_postgres::Row;

use super::changes::{COLUMN_COUNT, COLUMNS, entry, revision};
use super::images::ImageColumns;
use crate::connecting::{Failure, FailureKind, Statement};
use crate::database::Database;

const DOING: &str = "thin out the journal";
/// A day, in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// So many tasks are looked at in one transaction, which keeps writers waiting.
const AT_ONCE: usize = 50;

/// A list of which something is old.
struct OldList {
    id: i64,
    list: ListId,
    /// Entries up to this revision are old, in this epoch of the database.
    horizon: Revision,
    epoch: String,
    tasks: Vec<String>,
}

/// An entry and where it stands in its commit.
struct Placed {
    place: i64,
    entry: Entry,
}

/// What becomes of the entries about some tasks.
#[derive(Default)]
struct Decided {
    /// The entries that go, by revision and place.
    going: (Vec<i64>, Vec<i64>),
    /// The entries that stay with other images.
    changed: (Vec<i64>, Vec<i64>),
    before: ImageColumns,
    after: ImageColumns,
    forgotten: Vec<TaskId>,
}

/// Thins out the journals of all lists, and forgets what was heard long ago.
pub(super) fn thin_out(database: &Database, terms: &ThinOut) -> Result<ThinnedOut, StoreError> {
    if database.clock.now().is_none() {
        database.ask_time(DOING)?;
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
    let Some((rows, stamp)) = database.read_stamped(DOING, ask)? else { return Ok(thinned) };
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
            database.change(DOING, done)?;
        }
        if of_list.entries > 0 || !of_list.forgotten.is_empty() {
            thinned.lists.push(of_list);
        }
    }
    [thinned.messages, thinned.notices] = forget_heard(database, before, terms.is_dry)?;
    Ok(thinned)
}

/// What the server's clock says.
enum Judged {
    /// Everything before this moment is old.
    OldBefore(i64),
    /// The clock is in doubt.
    Doubted(ClockDoubt),
}

/// Judges the server's clock by the times at which something happened in any list (`taskyard::core::rules::history::elapsed`).
fn judge_clock(database: &Database, terms: &ThinOut) -> Result<Judged, StoreError> {
    let now = database.clock.now_in_transaction().wall;
    // One moment for each day is enough to see that time has passed.
    let sql = format!("SELECT max(at) FROM @.changes GROUP BY at / {DAY} ORDER BY 1 DESC");
    let rows = database.read(DOING, || vec![database.statement(&sql)])?.map(|mut rows| rows.remove(0));
    let moments: Result<Vec<i64>, Failure> = rows.iter().flatten().map(|row| Ok(row.try_get(0)?)).collect();
    let moments = moments.map_err(|failure| failed(database, failure))?;
    let ahead = moments.partition_point(|at| *at >= now.0.saturating_add(DAY));
    let happened: Vec<Timestamp> = moments[ahead..].iter().copied().map(Timestamp).collect();
    // If everything is in the future, the clock is behind the first of it.
    let last = happened.first().copied().or(moments.last().copied().map(Timestamp));
    if let Some(last) = last.filter(|last| !terms.is_confirmed && !is_plausible(*last, now)) {
        return Ok(Judged::Doubted(ClockDoubt { last, now }));
    }
    let trust = if terms.is_confirmed { ClockTrust::Vouched } else { ClockTrust::Plausible };
    let before = old_before(now, terms.keep, &happened, trust);
    Ok(Judged::OldBefore(before.map_or(i64::MIN, |before| before.0)))
}

/// Finds what is old of a list; none where nothing is.
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
    // Every revision up to the horizon is older than the first one that is not old.
    let horizon =
        "SELECT coalesce((SELECT c.revision - 1 FROM @.changes c WHERE c.list = $1 AND c.revision > $2 AND c.at >= $3
        ORDER BY c.revision LIMIT 1), (SELECT revision FROM @.lists WHERE id = $1))";
    let ask = || vec![database.statement(horizon).number(id).number(done).number(before)];
    let horizon: i64 = one(database, ask)?;
    let sql = "SELECT DISTINCT task FROM @.changes WHERE list = $1 AND revision > $2 AND revision <= $3";
    let ask = || vec![database.statement(sql).number(id).number(done).number(horizon)];
    let rows = database.read(DOING, ask)?.map(|mut rows| rows.remove(0)).unwrap_or_default();
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

/// Thins out what is told of some tasks, while no other writer is at the list.
fn thin_some(database: &Database, old: &OldList, tasks: &[String], terms: &ThinOut) -> Result<Decided, StoreError> {
    let first = || {
        let lock = database.statement("SELECT revision FROM @.lists WHERE id = $1 FOR UPDATE").number(old.id);
        let sql = format!(
            "SELECT {COLUMNS}, c.place FROM @.changes c WHERE c.list = $1 AND c.task = ANY($2) ORDER BY c.revision, c.place"
        );
        let told = database.statement(&sql).number(old.id).texts(tasks.to_vec());
        vec![lock, told, database.statement("SELECT epoch FROM @.yard")]
    };
    database.transact(DOING, first, |rows| {
        let epoch: Option<&str> = rows[2].first().map(|row| row.try_get(0)).transpose()?;
        if epoch != Some(old.epoch.as_str()) {
            let said = "the database went back in time, or another server took over; run it again";
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

/// Decides what becomes of the entries about one task, oldest first.
fn decide(decided: &mut Decided, told: &[Placed], terms: &Terms) {
    if told.iter().any(|placed| placed.entry.op.is_elsewhere()) {
        // What another program did to a task comes from a yard in files, and stays.
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
            // The change that it tells of begins where the last one that stays ended.
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

    /// Returns what makes it so; nothing where nothing goes.
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

/// Forgets messages that were acknowledged and notices that were heard before a moment, or counts them.
fn forget_heard(database: &Database, before: i64, is_dry: bool) -> Result<[usize; 2], StoreError> {
    let mut heard = [0; 2];
    for (count, table) in heard.iter_mut().zip(["messages", "notices"]) {
        let sql = format!("SELECT count(*) FROM @.{table} WHERE acknowledged_at < $1");
        let counted = one(database, || vec![database.statement(&sql).number(before)])?;
        *count = usize::try_from(counted).unwrap_or(0);
    }
    if !is_dry && heard != [0; 2] {
        // What a sender can look up goes with the message.
        let letters = "letters WHERE at < $1 AND NOT EXISTS (
            SELECT FROM @.messages m WHERE m.delivery = letters.delivery AND m.acknowledged_at IS NULL)";
        let all = [letters, "messages WHERE acknowledged_at < $1", "notices WHERE acknowledged_at < $1"];
        let forget = |what: &&str| database.statement(&format!("DELETE FROM @.{what}")).number(before);
        database.change(DOING, || all.iter().map(forget).collect())?;
    }
    Ok(heard)
}

/// Asks for one number.
fn one(database: &Database, ask: impl Fn() -> Vec<Statement>) -> Result<i64, StoreError> {
    let rows = database.read(DOING, ask)?;
    let row = rows.as_ref().and_then(|rows| rows[0].first());
    row.map_or(Ok(0), |row| row.try_get(0)).map_err(|error| failed(database, Failure::from(error)))
}

fn failed(database: &Database, failure: Failure) -> StoreError {
    failure.into_store_error(database.shown(), DOING)
}
