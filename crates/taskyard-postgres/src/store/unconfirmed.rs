//! Commits that this process was told of and has not read, and how to take them back.
//!
//! NOTIFY proves nothing: whoever knows the channel can tell of a commit that never happened, or tell something else of one that did. So
//! what was heard is shown to followers and no more. The next question about the list asks for everything since the last commit that was
//! read; if what was heard is not what the database has, it is taken back before anything is decided by it.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard::core::{AttemptId, Image, Lease, Revision, TaskId, Timestamp, Token};
use taskyard::store::kit::{Commit, Kept, ListState};

use super::lease_rows::LeaseRow;

/// After this many entries that were heard, the next commit is read.
const MOST_ENTRIES: usize = 1_000;

/// How far a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The newest commit, and its attempt.
    pub(super) revision: Revision,
    pub(super) head: Option<AttemptId>,
    /// How many changes of leases there were.
    pub(super) lease_version: i64,
}

/// What was heard since the list was last read.
#[derive(Debug)]
pub(super) struct UnconfirmedChanges {
    /// How far the list was read.
    pub(super) read: Extent,
    last_token: Token,
    mark: f64,
    journaled: f64,
    changed: Option<Timestamp>,
    /// The tasks that were heard of: what each was when it was read, and the last commit that was said to change it.
    tasks: BTreeMap<TaskId, (Option<Arc<Kept>>, Revision)>,
    /// The same for leases, with the count of changes.
    leases: BTreeMap<TaskId, (Option<Lease>, i64)>,
    entries: usize,
}

/// What the database has, as far as it must confirm what was heard.
pub(super) struct Proof<'a> {
    /// How far the list is in the database.
    pub(super) there: Extent,
    /// What each task became that changed since it was read, in commits up to the newest that was heard.
    pub(super) tasks: BTreeMap<&'a TaskId, Option<Image>>,
    /// The leases that changed since.
    pub(super) leases: &'a [LeaseRow],
}

impl UnconfirmedChanges {
    /// Begins with a list that was read so far.
    pub(super) fn after(read: Extent, state: &ListState) -> Self {
        let ListState { last_token, mark, journaled, changed, .. } = *state;
        let (tasks, leases) = (BTreeMap::new(), BTreeMap::new());
        Self { read, last_token, mark, journaled, changed, tasks, leases, entries: 0 }
    }

    /// Tells whether a commit of this many entries may be heard before the list is read again.
    pub(super) fn has_room_for(&self, entries: usize) -> bool {
        self.entries + entries <= MOST_ENTRIES
    }

    /// Keeps what a commit is about to change.
    pub(super) fn note(&mut self, commit: &Commit, lease_version: i64, state: &ListState) {
        self.entries += commit.entries.len();
        for entry in &commit.entries {
            let was = || (state.tasks.get(&entry.task).cloned(), entry.revision);
            self.tasks.entry(entry.task.clone()).or_insert_with(was).1 = entry.revision;
        }
        for task in commit.leases.keys() {
            let was = || (state.leases.get(task).cloned(), lease_version);
            self.leases.entry(task.clone()).or_insert_with(was).1 = lease_version;
        }
    }

    /// Tells whether the database has what was heard, up to `told`, as far as the database is that far. What was heard since the question
    /// was asked is left for the next one.
    pub(super) fn is_proven(&self, state: &ListState, told: Extent, proof: &Proof<'_>) -> bool {
        let Extent { revision, lease_version, .. } = proof.there;
        let is_there = |(task, (_, changed)): (&TaskId, &(Option<Arc<Kept>>, Revision))| {
            let now = || state.tasks.get(task).map(|kept| &kept.image);
            *changed > revision || proof.tasks.get(task).is_some_and(|after| after.as_ref() == now())
        };
        let was_heard = |task: &&TaskId| self.tasks.contains_key(*task);
        let is_leased = |(task, (_, changed)): (&TaskId, &(Option<Lease>, i64))| {
            *changed > lease_version || proof.leases.iter().any(|row| row.task == *task)
        };
        // A lease that changed once more since is read.
        let is_same_lease = |row: &LeaseRow| {
            row.version <= self.read.lease_version
                || row.version > told.lease_version
                || self.leases.get(&row.task).is_some_and(|(_, heard)| *heard == row.version)
                    && state.leases.get(&row.task) == row.lease.as_ref()
        };
        self.tasks.iter().all(is_there)
            && proof.tasks.keys().all(was_heard)
            && self.leases.iter().all(is_leased)
            && proof.leases.iter().all(is_same_lease)
    }

    /// Returns the tasks that were heard of.
    pub(super) fn tasks(&self) -> Vec<TaskId> {
        self.tasks.keys().cloned().collect()
    }

    /// Makes the list what it was when it was read.
    pub(super) fn take_back(self, state: &mut ListState) {
        for (task, (was, _)) in self.tasks {
            match was {
                Some(kept) => drop(state.tasks.insert(task, kept)),
                None => drop(state.tasks.remove(&task)),
            }
        }
        for (task, (was, _)) in self.leases {
            match was {
                Some(lease) => drop(state.leases.insert(task, lease)),
                None => drop(state.leases.remove(&task)),
            }
        }
        state.revision = self.read.revision;
        (state.last_token, state.mark) = (self.last_token, self.mark);
        (state.journaled, state.changed) = (self.journaled, self.changed);
    }
}
