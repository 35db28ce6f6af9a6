//! Bringing what a process knows of a list to what the database holds.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use taskyard::core::{AttemptId, Entry, Image, Revision, TaskId, Timestamp, Token};
use taskyard::store::kit::{Kept, ListState};
use tokio_postgres::Row;

use super::changes::{self, revision};
use super::images::image;
use super::known_list::{Channels, Found, Known, KnownList};
use super::lease_rows::{self, LeaseRow};
use super::ties::read_tasks;
use super::unconfirmed::{Extent, Proof};
use crate::connecting::{Failure, FailureKind, Statement};
use crate::database::Database;
use crate::epoch::{Epoch, Lost, Stamp};

/// A process that is further behind than so many entries reads the list anew.
const MOST_CHANGES: i64 = 5_000;

/// How a list stands: its row.
pub(super) const STANDING: &str = "id, revision, last_token, mark, journaled, changed_at, thinned, head,
    (SELECT c.version FROM @.lease_clocks c WHERE c.list = lists.id), moved, channel,
    (SELECT w.channel FROM @.commit_channels w WHERE w.list = lists.id), has_ties";

/// What was known when the questions were asked.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// Nothing: everything is read.
    Everything,
    /// A list at a revision: what is newer is read.
    Newer(Basis),
}

/// What was known of a list when what is newer was asked for. The database must still have all of it.
#[derive(Clone, Debug)]
pub(super) struct Basis {
    id: i64,
    revision: Revision,
    head: Option<AttemptId>,
    lease_version: i64,
    epoch: Epoch,
    /// How far it was known with what was heard, which the database must have, too.
    told: Extent,
}

/// What came of taking an answer in.
#[derive(Debug)]
pub(super) enum Taken {
    /// The list as it is now.
    In(Found),
    /// Too much has happened since: the list has to be read anew.
    TooMuch,
    /// The database is another than the one that was known, and nothing known of the list counts any more. If it has less than was known,
    /// that is told.
    OtherHistory(Option<Lost>),
}

impl Asked {
    /// Asks for what is not known.
    pub(super) fn beyond(known: &Known) -> Self {
        // A list without a commit has nothing that its next one could be held against.
        let found = known.found().filter(|found| found.state.revision.0 > 0);
        found.map_or(Self::Everything, |Found { id, epoch, .. }| {
            let Extent { revision, head, lease_version } = known.extent_read();
            Self::Newer(Basis { id, revision, head, lease_version, epoch, told: known.extent() })
        })
    }
}

/// Forgets a list that is not in the database; that may be because the database lost it.
pub(super) fn forget(list: &KnownList, asked: &Asked) -> Option<Lost> {
    list.known().forget();
    match asked {
        Asked::Everything => None,
        Asked::Newer(basis) => Some(basis.lost(list, Revision(0))),
    }
}

/// Returns what asks for the contents of a list: its tasks or changes, then its leases.
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
        // The first entry of the newest known commit is asked for, too: it must still be the one that is known.
        Asked::Newer(Basis { id, revision, lease_version, .. }) => [
            database
                .statement(&format!(
                    "SELECT {} FROM (
                        (SELECT * FROM @.changes WHERE list = $1 AND revision = $2 AND place = 0)
                        UNION ALL
                        (SELECT * FROM @.changes WHERE list = $1 AND revision > $2 ORDER BY revision, place LIMIT {})
                    ) c ORDER BY c.revision, c.place",
                    changes::COLUMNS_FOLLOWED,
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

/// Takes in the heartbeats that came with the answers: with the leases, and of processes of which they were overdue.
pub(super) fn learn_heartbeats(database: &Database, rows: &[Vec<Row>]) -> Result<(), Failure> {
    let now = database.clock.now_in_transaction();
    database.heartbeats.learn(&rows[2], lease_rows::HEARTBEAT, &now)?;
    rows.get(3).map_or(Ok(()), |overdue| database.heartbeats.learn(overdue, 0, &now))
}

/// Whether the row of the list is locked while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// It is: no other process moves the list on.
    HoldsRow,
    /// It is not.
    Looks,
}

/// Takes in what the database answered.
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
        // Another thread may have moved on meanwhile.
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
        // Another process has noticed before, or another server took over.
        known.distrust();
        return Ok(Taken::OtherHistory(None));
    }
    if !basis.is_in(&standing, &entries) {
        known.distrust();
        return Ok(Taken::OtherHistory(Some(basis.lost(list, standing.revision))));
    }
    // One of them is of the commit that was known.
    let is_whole = basis.revision >= standing.thinned && contents.len() <= MOST_CHANGES as usize + 1;
    // Another thread may have moved on meanwhile, or have read another history.
    let is_basis = known.id == Some(basis.id)
        && known.state.revision >= basis.revision
        && known.epoch.as_ref().is_some_and(|epoch| epoch.is(&basis.epoch));
    if !is_whole || !is_basis {
        return Ok(Taken::TooMuch);
    }
    let leases = leases.iter().map(lease_rows::lease).collect::<Result<Vec<_>, _>>()?;
    judge_heard(&mut known, basis, &standing, &entries, &leases, reader)?;
    move_on(&mut known, &standing, &entries, leases, list.is_followed())?;
    // It is another one after a role lost its right to read the list.
    known.channels = Some(standing.channels.clone());
    known.has_ties = standing.has_ties;
    // While the row is locked the database is not behind what is known; if it seems to be, what is known is not from there.
    let is_current = (known.state.revision, known.head) == (standing.revision, standing.head);
    if reader == Reader::HoldsRow && !is_current {
        let lost = Lost { known: known.state.revision, ..basis.lost(list, standing.revision) };
        known.distrust();
        return Ok(Taken::OtherHistory(Some(lost)));
    }
    Ok(known.found().map_or(Taken::TooMuch, Taken::In))
}

/// Compares what was heard with what the database has, and takes it back if it is something else.
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
    // If the lock was waited for, the count is from before, and the leases from after.
    there.lease_version = leases.iter().map(|row| row.version).fold(there.lease_version, i64::max);
    // A commit is told after it was made, so the database has what was heard before the question was asked. While the row is locked,
    // there is nothing beyond it.
    let is_within = |told: Extent| told.revision <= there.revision && told.lease_version <= there.lease_version;
    let has_all = is_within(told);
    let is_there = if reader == Reader::HoldsRow { has_all } else { is_within(basis.told) };
    let mut tasks = BTreeMap::new();
    let heard_of = |entry: &&Followed<'_>| entry.revision > heard.read.revision && entry.revision <= told.revision;
    for entry in entries.iter().filter(heard_of) {
        tasks.insert(&entry.task, image(entry.row, 3)?);
    }
    // The newest that was heard, if it is not beyond what the database has.
    let is_head = |entry: &Followed<'_>| entry.revision == told.revision && entry.attempt == told.head;
    let is_same_head = !has_all || told.revision == heard.read.revision || entries.iter().any(is_head);
    if !is_there || !is_same_head || !heard.is_proven(&known.state, told, &Proof { there, tasks, leases }) {
        known.unhear();
    } else if has_all {
        known.note_heard_is_read();
    }
    Ok(())
}

/// Returns the failure of a list that is neither found nor can be made.
pub(super) fn hidden() -> Failure {
    let said = "a list of that name belongs to others, or this role may only read it; `taskyard grant LIST ROLE work`, run by the owner \
        of the tables, lets a role work on it";
    Failure::new(FailureKind::Wrong, said)
}

impl Basis {
    /// Tells whether the database still has what was known. Entries begin with the revision that was known, unless it was thinned out.
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

/// Fails if the note in a column of a list's row says that the list has moved to another store, or is on its way.
pub(super) fn must_be_here(row: &Row, place: usize) -> Result<(), Failure> {
    match row.try_get::<_, Option<String>>(place)? {
        Some(note) => Err(Failure::new(FailureKind::Moved, note)),
        None => Ok(()),
    }
}

/// The row of a list.
struct Standing {
    id: i64,
    revision: Revision,
    last_token: Token,
    mark: f64,
    journaled: f64,
    changed: Option<Timestamp>,
    /// Up to here, entries may be missing.
    thinned: Revision,
    /// The newest commit; `None` before the first.
    head: Option<AttemptId>,
    /// How many changes of leases there were at least.
    lease_version: i64,
    channels: Channels,
    has_ties: bool,
}

impl Standing {
    /// Reads the row; fails if the list has moved to another store.
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

/// Returns a list, or the part of it that was read, as the database has it. It is not kept.
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
    // The count was read before the leases, so all changes up to it are among them.
    let leases = leases.iter().map(lease_rows::lease).collect::<Result<_, Failure>>()?;
    let lease_version = apply_leases(&mut state, leases).max(standing.lease_version);
    standing.put_into(&mut state);
    let (state, epoch) = (Arc::new(state), stamp.epoch.clone());
    let Standing { id, head, has_ties, .. } = *standing;
    Ok(Found { id, state, head, lease_version, epoch, has_ties, channels: standing.channels.clone() })
}

/// Applies what is newer.
fn move_on(
    known: &mut Known,
    standing: &Standing,
    entries: &[Followed<'_>],
    mut leases: Vec<LeaseRow>,
    is_followed: bool,
) -> Result<(), Failure> {
    let commits = if is_followed { commits(known, entries)? } else { Vec::new() };
    // Of a task that changed several times only the last time counts.
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

/// Reads the commits that are newer, for followers.
fn commits(known: &Known, entries: &[Followed<'_>]) -> Result<Vec<Vec<Entry>>, Failure> {
    let mut changed: HashMap<&TaskId, Option<Image>> = HashMap::new();
    let mut commits: Vec<Vec<Entry>> = Vec::new();
    for followed in entries.iter().filter(|entry| entry.revision > known.state.revision) {
        let known = || known.state.tasks.get(&followed.task).map(|kept| kept.image.clone());
        let before = changed.get(&followed.task).cloned().unwrap_or_else(known);
        let entry = changes::followed_entry(followed.row, before)?;
        changed.insert(&followed.task, entry.after.clone());
        match commits.last_mut().filter(|commit| commit.last().is_some_and(|last| last.revision == entry.revision)) {
            Some(commit) => commit.push(entry),
            None => commits.push(vec![entry]),
        }
    }
    Ok(commits)
}

/// An entry of the journal, as far as a follower of the list has to know it.
struct Followed<'a> {
    revision: Revision,
    task: TaskId,
    attempt: Option<AttemptId>,
    /// What holds the task as it was then, which is read where no later entry is about the same one.
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

/// Applies what became of leases, and returns the newest count.
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
