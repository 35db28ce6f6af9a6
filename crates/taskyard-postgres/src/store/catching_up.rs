//! Catching up: bringing what this process knows of a list up to date with the database.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use taskyard::core::{AttemptId, Entry, Image, Revision, TaskId, Timestamp, Token};
use taskyard::store::kit::{Kept, ListState};
use tokio_postgres::Row;

use super::known_list::{Channels, Found, Known, KnownList};
use super::lease_rows;
use super::lease_rows::LeaseRow;
use crate::connecting::{Failure, FailureKind, Statement};
use crate::database::Database;
use crate::server_clock::{Epoch, Lost, Stamp};
use crate::store::change_rows;
use crate::store::change_rows::{image, revision};
use crate::store::known_list::read_tasks;
use crate::store::new_commits::{Extent, Proof};

/// A process that is behind by more entries than this reads the whole list again.
const MOST_CHANGES: i64 = 5_000;

/// The columns of a list's row, as [`Standing`] reads them.
pub(super) const STANDING: &str = "id, revision, last_token, mark, journaled, changed_at, thinned, head,
    (SELECT c.version FROM @.lease_clocks c WHERE c.list = lists.id), moved, channel,
    (SELECT w.channel FROM @.commit_channels w WHERE w.list = lists.id), has_ties";

/// What was known when the query was sent.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// Nothing: the whole list is read.
    Everything,
    /// The list at a revision: only newer changes are read.
    Newer(Basis),
}

/// What was known of a list when newer changes were asked for. The database must still contain all of it.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    id: i64,
    revision: Revision,
    head: Option<AttemptId>,
    lease_version: i64,
    epoch: Epoch,
    /// The extent including announced commits that were not read yet. The database must contain these, too.
    told: Extent,
}

/// The result of applying an answer.
#[derive(Debug)]
pub(super) enum Taken {
    /// The list is up to date.
    In(Found),
    /// Too much has changed since; the whole list must be read.
    TooMuch,
    /// The database has another history than the one known, so nothing known of the list is valid any more. Holds the
    /// proof if the database lost commits.
    OtherHistory(Option<Lost>),
}

impl Asked {
    /// Returns what to ask for, given what is known.
    pub(super) fn beyond(known: &Known) -> Self {
        // Without a commit there is nothing to verify the next one against.
        let found = known.found().filter(|found| found.state.revision.0 > 0);
        found.map_or(Self::Everything, |Found { id, epoch, .. }| {
            let Extent { revision, head, lease_version } = known.extent_read();
            Self::Newer(Basis { id, revision, head, lease_version, epoch, told: known.extent() })
        })
    }
}

/// Forgets a list that is not in the database. Returns proof of the loss if this process knew the list.
pub(super) fn forget(list: &KnownList, asked: &Asked) -> Option<Lost> {
    list.known().forget();
    match asked {
        Asked::Everything => None,
        Asked::Newer(basis) => Some(basis.lost(list, Revision(0))),
    }
}

/// Returns the queries for the contents of a list: its tasks or changes, then its leases.
pub(super) fn questions(database: &Database, directory: &str, asked: &Asked) -> [Statement; 2] {
    let of_list = "(SELECT id FROM @.lists WHERE directory = $1)";
    match asked {
        Asked::Everything => [
            format!("SELECT task, image, raw FROM @.tasks WHERE list = {of_list}"),
            format!(
                "SELECT {} FROM {} WHERE list = {of_list} AND NOT has_ended",
                lease_rows::COLUMNS,
                lease_rows::TABLES
            ),
        ]
        .map(|sql| database.statement(&sql).text(directory)),
        // Also reads the first entry of the newest known commit, to verify that it is still the same one.
        Asked::Newer(Basis { id, revision, lease_version, .. }) => [
            database
                .statement(&format!(
                    "SELECT {} FROM (
                        (SELECT * FROM @.changes WHERE list = $1 AND revision = $2 AND place = 0)
                        UNION ALL
                        (SELECT * FROM @.changes WHERE list = $1 AND revision > $2 ORDER BY revision, place LIMIT {})
                    ) c ORDER BY c.revision, c.place",
                    change_rows::COLUMNS_FOLLOWED,
                    MOST_CHANGES + 1
                ))
                .number(*id)
                .number(revision.0.cast_signed()),
            database
                .statement(&format!(
                    "SELECT {} FROM {} WHERE list = $1 AND version > $2",
                    lease_rows::COLUMNS,
                    lease_rows::TABLES
                ))
                .number(*id)
                .number(*lease_version),
        ],
    }
}

/// Records the heartbeats that came with the answers: those joined to the leases, and those of overdue processes.
pub(super) fn learn_heartbeats(database: &Database, rows: &[Vec<Row>]) -> Result<(), Failure> {
    let now = database.clock.now_in_transaction();
    database.heartbeats.learn(&rows[2], lease_rows::HEARTBEAT, &now)?;
    rows.get(3).map_or(Ok(()), |overdue| database.heartbeats.learn(overdue, 0, &now))
}

/// Whether the list's row is locked while the list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// Locked: no other process can commit to the list.
    HoldsRow,
    /// Not locked.
    Looks,
}

/// Applies an answer of the database.
pub(super) fn take_in(
    list: &KnownList,
    asked: &Asked,
    stamp: &Stamp,
    rows: [&[Row]; 3],
    reader: Reader,
) -> Result<Taken, Failure> {
    let [standing, contents, leases] = rows;
    let standing = standing.first().ok_or_else(hidden)?;
    let standing = Standing::read(standing, stamp).inspect_err(|failure| {
        if failure.kind() == FailureKind::Moved {
            list.known().forget();
        }
    })?;
    let Asked::Newer(basis) = asked else {
        let home = list.known().state.home.clone();
        let read = read_anew(ListState { home, ..ListState::default() }, &standing, stamp, contents, leases)?;
        let mut known = list.known();
        // Another thread may have advanced it in the meantime.
        let is_ahead = known.id == Some(read.id)
            && known.state.revision > read.state.revision
            && known.epoch.as_ref().is_some_and(|epoch| epoch.is(&read.epoch));
        if !is_ahead || reader == Reader::HoldsRow {
            *known = Known::read(read.clone());
        }
        return Ok(Taken::In(read));
    };
    let entries = contents.iter().map(Followed::read).collect::<Result<Vec<_>, _>>()?;
    let mut known = list.known();
    if !basis.epoch.is(&stamp.epoch) {
        // Another process detected this earlier, or another server took over.
        known.distrust();
        return Ok(Taken::OtherHistory(None));
    }
    if !basis.is_in(&standing, &entries) {
        known.distrust();
        return Ok(Taken::OtherHistory(Some(basis.lost(list, standing.revision))));
    }
    // One of the entries belongs to the known commit.
    let is_whole = basis.revision >= standing.thinned && contents.len() <= MOST_CHANGES as usize + 1;
    // In the meantime, another thread may have advanced it or read another history.
    let is_basis = known.id == Some(basis.id)
        && known.state.revision >= basis.revision
        && known.epoch.as_ref().is_some_and(|epoch| epoch.is(&basis.epoch));
    if !is_whole || !is_basis {
        return Ok(Taken::TooMuch);
    }
    let leases = leases.iter().map(lease_rows::lease).collect::<Result<Vec<_>, _>>()?;
    judge_heard(&mut known, basis, &standing, &entries, &leases, reader)?;
    move_on(&mut known, &standing, &entries, leases, list.is_followed())?;
    // The channel changes after a role loses its right to read the list.
    known.channels = Some(standing.channels.clone());
    known.has_ties = standing.has_ties;
    // While the row is locked, the database cannot be behind what is known. If it appears to be, what is known did
    // not come from it.
    let is_current = (known.state.revision, known.head) == (standing.revision, standing.head);
    if reader == Reader::HoldsRow && !is_current {
        let lost = Lost { known: known.state.revision, ..basis.lost(list, standing.revision) };
        known.distrust();
        return Ok(Taken::OtherHistory(Some(lost)));
    }
    Ok(known.found().map_or(Taken::TooMuch, Taken::In))
}

/// Compares announced changes with the database and takes back those that differ.
fn judge_heard(
    known: &mut Known,
    basis: &Basis,
    standing: &Standing,
    entries: &[Followed<'_>],
    leases: &[LeaseRow],
    reader: Reader,
) -> Result<(), Failure> {
    let Some(heard) = known.heard() else { return Ok(()) };
    let (told, mut there) = (known.extent(), standing.extent());
    // If the query waited for the lock, the count was read before and the leases after the wait.
    there.lease_version = leases.iter().map(|row| row.version).fold(there.lease_version, i64::max);
    // A commit is announced after it was made, so the database contains all that was announced before the query was
    // sent. While the row is locked, it contains nothing beyond that.
    let is_within = |told: Extent| told.revision <= there.revision && told.lease_version <= there.lease_version;
    let has_all = is_within(told);
    let is_there = if reader == Reader::HoldsRow { has_all } else { is_within(basis.told) };
    let mut tasks = BTreeMap::new();
    let heard_of = |entry: &&Followed<'_>| entry.revision > heard.read.revision && entry.revision <= told.revision;
    for entry in entries.iter().filter(heard_of) {
        tasks.insert(&entry.task, image(entry.row, 3)?);
    }
    // The newest announced commit, if the database is that far.
    let is_head = |entry: &Followed<'_>| entry.revision == told.revision && entry.attempt == told.head;
    let is_same_head = !has_all || told.revision == heard.read.revision || entries.iter().any(is_head);
    if !is_there || !is_same_head || !heard.is_proven(&known.state, told, &Proof { there, tasks, leases }) {
        known.unhear();
    } else if has_all {
        known.note_heard_is_read();
    }
    Ok(())
}

/// The failure if a list is not visible and cannot be created either.
pub(super) fn hidden() -> Failure {
    let said = "a list of that name belongs to others, or this role may only read it; `taskyard grant LIST ROLE work`, run by the owner \
        of the tables, lets a role work on it";
    Failure::new(FailureKind::Wrong, said)
}

impl Basis {
    /// Returns whether the database still contains what was known. `entries` begins with the known revision, unless
    /// that was thinned out.
    fn is_in(&self, standing: &Standing, entries: &[Followed<'_>]) -> bool {
        let is_there = || match standing.revision == self.revision {
            true => standing.head == self.head,
            false if self.revision <= standing.thinned => true,
            false => entries.first().is_some_and(|entry| (entry.revision, entry.attempt) == (self.revision, self.head)),
        };
        let has_all = standing.revision >= self.revision && standing.lease_version >= self.lease_version;
        standing.id == self.id && has_all && is_there()
    }

    fn lost(&self, list: &KnownList, found: Revision) -> Lost {
        Lost { list: list.list.directory().to_owned(), known: self.revision, found }
    }
}

/// Fails if a column of a list's row notes that the list has moved to another store, or is moving.
pub(super) fn must_be_here(row: &Row, place: usize) -> Result<(), Failure> {
    match row.try_get::<_, Option<String>>(place)? {
        Some(note) => Err(Failure::new(FailureKind::Moved, note)),
        None => Ok(()),
    }
}

struct Standing {
    id: i64,
    revision: Revision,
    last_token: Token,
    mark: f64,
    journaled: f64,
    changed: Option<Timestamp>,
    /// Up to this revision, entries may be missing.
    thinned: Revision,
    /// The newest commit; `None` before the first.
    head: Option<AttemptId>,
    /// A lower bound of the number of lease changes.
    lease_version: i64,
    channels: Channels,
    has_ties: bool,
}

impl Standing {
    /// Reads the row. Fails if the list has moved to another store.
    fn read(row: &Row, stamp: &Stamp) -> Result<Self, Failure> {
        must_be_here(row, 9)?;
        Ok(Self {
            id: row.try_get(0)?,
            revision: revision(row.try_get(1)?),
            last_token: stamp.last_token(Token(row.try_get::<_, i64>(2)?.cast_unsigned())),
            mark: row.try_get(3)?,
            journaled: row.try_get(4)?,
            changed: row.try_get::<_, Option<i64>>(5)?.map(Timestamp),
            thinned: revision(row.try_get(6)?),
            head: row.try_get::<_, Option<&str>>(7)?.and_then(|attempt| attempt.parse().ok()),
            lease_version: row.try_get::<_, Option<i64>>(8)?.unwrap_or(0),
            channels: Channels { readers: row.try_get(10)?, writers: row.try_get(11)? },
            has_ties: row.try_get(12)?,
        })
    }

    fn extent(&self) -> Extent {
        Extent { revision: self.revision, head: self.head, lease_version: self.lease_version }
    }

    fn put_into(&self, state: &mut ListState) {
        state.exists = self.revision.0 > 0;
        state.revision = self.revision;
        state.last_token = self.last_token;
        state.mark = self.mark;
        state.journaled = self.journaled;
        state.changed = self.changed;
    }
}

/// Returns a list, or the part of it that was read. The result is not cached.
pub(super) fn read_part(list: &KnownList, stamp: &Stamp, rows: [&[Row]; 3]) -> Result<Found, Failure> {
    let [standing, tasks, leases] = rows;
    let standing = Standing::read(standing.first().ok_or_else(hidden)?, stamp)?;
    let state = ListState { home: list.known().state.home.clone(), ..ListState::default() };
    read_anew(state, &standing, stamp, tasks, leases)
}

fn read_anew(
    mut state: ListState,
    standing: &Standing,
    stamp: &Stamp,
    tasks: &[Row],
    leases: &[Row],
) -> Result<Found, Failure> {
    state.tasks.extend(read_tasks(tasks)?.into_iter().map(|kept| (kept.id.clone(), kept)));
    // The count was read before the leases, so they include all changes up to it.
    let leases = leases.iter().map(lease_rows::lease).collect::<Result<_, Failure>>()?;
    let lease_version = apply_leases(&mut state, leases).max(standing.lease_version);
    standing.put_into(&mut state);
    let (state, epoch) = (Arc::new(state), stamp.epoch.clone());
    let Standing { id, head, has_ties, .. } = *standing;
    Ok(Found { id, state, head, lease_version, epoch, has_ties, channels: standing.channels.clone() })
}

/// Applies newer changes.
fn move_on(
    known: &mut Known,
    standing: &Standing,
    entries: &[Followed<'_>],
    mut leases: Vec<LeaseRow>,
    is_followed: bool,
) -> Result<(), Failure> {
    let commits = if is_followed { commits(known, entries)? } else { Vec::new() };
    // If a task changed several times, only the last change counts.
    let mut newer = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.revision > known.state.revision) {
        newer.insert(&entry.task, entry.row);
    }
    let newer = newer
        .into_iter()
        .map(|(task, row)| Ok((task, image(row, 3)?.map(|image| Kept::new(task.clone(), image)))))
        .collect::<Result<Vec<_>, Failure>>()?;
    let lease_version = known.lease_version;
    leases.retain(|row| row.version > lease_version);
    if newer.is_empty() && leases.is_empty() && standing.last_token <= known.state.last_token {
        known.lease_version = known.lease_version.max(standing.lease_version);
        return Ok(());
    }
    let is_ahead = known.state.revision > standing.revision;
    known.lease_version = known.change(newer.iter().map(|(task, _)| *task), |state| {
        for (task, after) in &newer {
            match after {
                Some(kept) => drop(state.tasks.insert((*task).clone(), Arc::clone(kept))),
                None => drop(state.tasks.remove(*task)),
            }
        }
        if !is_ahead {
            standing.put_into(state);
        }
        apply_leases(state, leases).max(lease_version).max(standing.lease_version)
    });
    if !is_ahead {
        known.head = standing.head;
        known.recent.catch_up(commits, (known.state.revision, known.head));
    }
    Ok(())
}

/// Reads the newer commits, for followers.
fn commits(known: &Known, entries: &[Followed<'_>]) -> Result<Vec<Vec<Entry>>, Failure> {
    let mut changed: HashMap<&TaskId, Option<Image>> = HashMap::new();
    let mut commits: Vec<Vec<Entry>> = Vec::new();
    for followed in entries.iter().filter(|entry| entry.revision > known.state.revision) {
        let known = || known.state.tasks.get(&followed.task).map(|kept| kept.image.clone());
        let before = changed.get(&followed.task).cloned().unwrap_or_else(known);
        let entry = change_rows::followed_entry(followed.row, before)?;
        changed.insert(&followed.task, entry.after.clone());
        match commits.last_mut().filter(|commit| commit.last().is_some_and(|last| last.revision == entry.revision)) {
            Some(commit) => commit.push(entry),
            None => commits.push(vec![entry]),
        }
    }
    Ok(commits)
}

/// The part of a journal entry that followers need.
struct Followed<'a> {
    revision: Revision,
    task: TaskId,
    attempt: Option<AttemptId>,
    /// Contains the task after the change. Parsed only if no later entry is about the same task.
    row: &'a Row,
}

impl<'a> Followed<'a> {
    fn read(row: &'a Row) -> Result<Self, Failure> {
        Ok(Self {
            revision: revision(row.try_get(0)?),
            task: TaskId::stored(row.try_get::<_, &str>(1)?),
            attempt: row.try_get::<_, Option<&str>>(2)?.and_then(|attempt| attempt.parse().ok()),
            row,
        })
    }
}

/// Applies lease changes and returns the newest count.
fn apply_leases(state: &mut ListState, rows: Vec<LeaseRow>) -> i64 {
    let newest = rows.iter().map(|row| row.version).max().unwrap_or(0);
    for row in rows {
        match row.lease {
            Some(lease) => drop(state.leases.insert(row.task, lease)),
            None => drop(state.leases.remove(&row.task)),
        }
    }
    newest
}
