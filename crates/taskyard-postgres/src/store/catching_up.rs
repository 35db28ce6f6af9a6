//! Bringing what a process knows of a list to what the database holds.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard::core::{AttemptId, Revision, TaskId, Timestamp, Token};
use taskyard::store::kit::{Kept, ListState};
use tokio_postgres::Row;

use super::changes::{self, revision};
use super::images::image;
use super::known_list::{Found, Known, KnownList};
use super::lease_rows;
use crate::connecting::{Failure, Statement};
use crate::database::Database;

/// A process that is further behind than so many entries reads the list anew.
const MOST_CHANGES: i64 = 5_000;

/// How a list stands: its row.
pub(super) const STANDING: &str = "id, revision, last_token, mark, journaled, changed_at, thinned";

/// What was known when the questions were asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nothing: everything is read.
    Everything,
    /// The list of this number at a revision and a count of lease changes: what is newer is read.
    Newer { id: i64, revision: Revision, lease_version: i64 },
}

impl Asked {
    /// Asks for what is not known.
    pub(super) fn beyond(known: &Known) -> Self {
        // A list without a commit has nothing that its next one could be held against.
        match known.id.filter(|_| known.state.revision.0 > 0) {
            Some(id) => Self::Newer { id, revision: known.state.revision, lease_version: known.lease_version },
            None => Self::Everything,
        }
    }
}

/// Returns what asks for the contents of a list: its tasks or changes, then its leases.
pub(super) fn questions(database: &Database, directory: &str, asked: Asked) -> [Statement; 2] {
    let of_list = "(SELECT id FROM @.lists WHERE directory = $1)";
    match asked {
        Asked::Everything => [
            format!("SELECT task, image, raw FROM @.tasks WHERE list = {of_list}"),
            format!("SELECT {} FROM @.leases l WHERE list = {of_list} AND NOT has_ended", lease_rows::COLUMNS),
        ]
        .map(|sql| database.statement(&sql).text(directory)),
        // The newest known commit is asked for, too: it must still be the one that is known.
        Asked::Newer { id, revision, lease_version } => [
            database
                .statement(&format!(
                    "SELECT {} FROM @.changes c WHERE list = $1 AND revision >= $2
                    ORDER BY revision, place LIMIT {}",
                    changes::COLUMNS_FOLLOWED,
                    MOST_CHANGES + 1
                ))
                .number(id)
                .number(revision.0.cast_signed()),
            database
                .statement(&format!("SELECT {} FROM @.leases l WHERE list = $1 AND version > $2", lease_rows::COLUMNS))
                .number(id)
                .number(lease_version),
        ],
    }
}

/// Takes in what the database answered, and returns the list as it is now; none where it has to be read anew.
pub(super) fn take_in(
    list: &KnownList,
    asked: Asked,
    standing: &Row,
    contents: &[Row],
    leases: &[Row],
) -> Result<Option<Found>, Failure> {
    let standing = Standing::read(standing)?;
    match asked {
        Asked::Everything => {
            let home = list.known().state.home.clone();
            let read = read_anew(ListState { home, ..ListState::default() }, &standing, contents, leases)?;
            let mut known = list.known();
            let is_newer = known.id != Some(read.id) || known.state.revision <= read.state.revision;
            if is_newer {
                *known = Known::read(read.clone());
            }
            Ok(Some(read))
        }
        Asked::Newer { id, revision, .. } => {
            let mut known = list.known();
            // Another thread may have moved on meanwhile, though not back.
            let is_same = [known.id, Some(id)] == [Some(standing.id); 2];
            let is_whole = standing.revision >= revision && revision >= standing.thinned;
            if !is_same || !is_whole || known.state.revision < revision || contents.len() > MOST_CHANGES as usize {
                return Ok(None);
            }
            let is_known = move_on(&mut known, revision, &standing, contents, leases)?;
            Ok(known.found().filter(|_| is_known))
        }
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
}

impl Standing {
    fn read(row: &Row) -> Result<Self, Failure> {
        Ok(Self {
            id: row.try_get(0)?,
            revision: revision(row.try_get(1)?),
            last_token: Token(row.try_get::<_, i64>(2)?.cast_unsigned()),
            mark: row.try_get(3)?,
            journaled: row.try_get(4)?,
            changed: row.try_get::<_, Option<i64>>(5)?.map(Timestamp),
            thinned: revision(row.try_get(6)?),
        })
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

fn read_anew(mut state: ListState, standing: &Standing, tasks: &[Row], leases: &[Row]) -> Result<Found, Failure> {
    for row in tasks {
        let id = TaskId::stored(row.try_get::<_, &str>(0)?);
        if let Some(image) = image(row, 1)? {
            state.tasks.insert(id.clone(), Kept::new(id, image));
        }
    }
    let lease_version = apply_leases(&mut state, leases, 0)?;
    standing.put_into(&mut state);
    Ok(Found { id: standing.id, state: Arc::new(state), lease_version })
}

/// Applies what is newer. Returns whether the newest known commit is still the one that is known.
fn move_on(
    known: &mut Known,
    since: Revision,
    standing: &Standing,
    changes: &[Row],
    leases: &[Row],
) -> Result<bool, Failure> {
    let entries = changes.iter().map(Followed::read).collect::<Result<Vec<_>, _>>()?;
    // A database that was restored from a copy has other commits under the same numbers.
    let head = entries.iter().find(|entry| entry.revision == since).map(|entry| entry.attempt);
    let is_known =
        |head: Option<AttemptId>| known.head.is_none() || known.state.revision != since || known.head == head;
    if !head.is_some_and(is_known) {
        return Ok(false);
    }
    // Of a task that changed several times only the last time counts.
    let mut newer = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.revision > known.state.revision) {
        newer.insert(&entry.task, entry.row);
    }
    let newer = newer
        .into_iter()
        .map(|(task, row)| Ok((task, image(row, 3)?.map(|image| Kept::new(task.clone(), image)))))
        .collect::<Result<Vec<_>, Failure>>()?;
    if newer.is_empty() && leases.is_empty() && standing.last_token <= known.state.last_token {
        // Only the end of what was known before may have been learnt.
        if known.state.revision == since {
            known.head = known.head.or(head.flatten());
        }
        return Ok(true);
    }
    let lease_version = known.lease_version;
    known.lease_version = known.change(newer.iter().map(|(task, _)| *task), |state| {
        for (task, after) in &newer {
            match after {
                Some(kept) => drop(state.tasks.insert((*task).clone(), Arc::clone(kept))),
                None => drop(state.tasks.remove(*task)),
            }
        }
        if standing.revision >= state.revision {
            standing.put_into(state);
        }
        apply_leases(state, leases, lease_version)
    })?;
    let newest = entries.iter().rfind(|entry| entry.attempt.is_some() && entry.revision == known.state.revision);
    known.head = newest.and_then(|entry| entry.attempt).or(known.head.filter(|_| newer.is_empty()));
    Ok(true)
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

/// Applies what became of leases beyond a count, and returns the newest count.
fn apply_leases(state: &mut ListState, rows: &[Row], known: i64) -> Result<i64, Failure> {
    let mut newest = known;
    for row in rows {
        let row = lease_rows::lease(row)?;
        if row.version > known {
            newest = newest.max(row.version);
            match row.lease {
                Some(lease) => drop(state.leases.insert(row.task, lease)),
                None => drop(state.leases.remove(&row.task)),
            }
        }
    }
    Ok(newest)
}
