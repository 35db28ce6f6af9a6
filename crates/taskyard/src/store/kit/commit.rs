//! A commit: what a journal keeps of it, and what it does to a state.

use std::collections::BTreeMap;
use std::sync::Arc;

use taskyard_core::{Entry, Event, Image, Lease, ListId, Remark, Revision, TaskId, Timestamp, Token};

use super::staging::{Change, Staging};
use super::state::{Kept, ListState, key_of, number_of};
use crate::store::{HistoryQuery, Signature};

/// Everything that one transaction changes. It has no entries where only leases change: then it is no revision, and no follower is told.
#[derive(Clone, Debug)]
pub struct Commit {
    /// What happens to each task.
    pub entries: Vec<Entry>,
    /// Each lease that changes as it will be; none where it ends.
    pub leases: BTreeMap<TaskId, Option<Lease>>,
    /// The last token that was given out, whatever became of its lease.
    pub last_token: Token,
    /// The highest number that was ever removed.
    pub mark: f64,
    /// What becomes of the task of each entry, read.
    pub(super) after: Vec<Option<Arc<Kept>>>,
}

impl Commit {
    /// Puts a commit together from what a journal kept of it.
    pub fn new(entries: Vec<Entry>, leases: BTreeMap<TaskId, Option<Lease>>, last_token: Token, mark: f64) -> Self {
        let read = |entry: &Entry| entry.after.as_ref().map(|image| Kept::new(entry.task.clone(), image.clone()));
        let after = entries.iter().map(read).collect();
        Self { entries, leases, last_token, mark, after }
    }

    /// Puts the commit behind the history of a list that is renamed to the one it changes: its newest revision, and the last token that it
    /// has given out.
    pub fn go_on_from(&mut self, newest: Revision, last_token: Token) {
        for entry in &mut self.entries {
            entry.revision = entry.revision.max(newest.next());
        }
        self.last_token = self.last_token.max(last_token);
    }

    /// Returns the commits of a list that is renamed to another which has them up to a revision, without their leases.
    pub fn repeated(former: &[Event], since: Revision) -> impl Iterator<Item = Self> {
        let newer = former.iter().filter(move |event| event.revision > since);
        newer.map(|event| Self::new(event.entries.clone(), BTreeMap::new(), Token(0), 0.0))
    }

    /// Tells whether there is nothing to write down.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.leases.is_empty()
    }

    /// Returns the commit as its listeners learn of it; none where they do not.
    pub fn event(&self, list: &ListId) -> Option<Event> {
        let revision = self.entries.first()?.revision;
        Some(Event { list: list.clone(), revision, entries: self.entries.clone() })
    }
}

impl Staging {
    /// Returns what was staged as a commit, the next one after the state it was staged over. Leases end in it whose tasks are no
    /// longer their holders' to work on.
    pub fn into_commit(mut self, at: Timestamp, signature: &Signature) -> Commit {
        let changes = self.changes();
        self.settle_leases(&changes);
        let entries = entries_of(&changes, self.base.revision.next(), at, signature);
        let after = changes.into_iter().map(|change| change.after).collect();
        let leases = self.leases.changed().clone();
        Commit { entries, leases, last_token: self.leases.last_token(), mark: self.mark, after }
    }
}

/// Returns the entries of a commit that makes these changes. What there is to say of the whole of it is on the first.
pub(crate) fn entries_of(changes: &[Change], revision: Revision, at: Timestamp, signature: &Signature) -> Vec<Entry> {
    let entry = |(place, change): (usize, &Change)| Entry {
        revision,
        at,
        actor: signature.actor.clone(),
        op: signature.op,
        task: change.task.clone(),
        before: change.before.clone(),
        after: change.image().cloned(),
        undoes: signature.undoes.clone(),
        remark: if place == 0 { signature.remark.clone() } else { Remark::default() },
        attempt: (place == 0).then_some(signature.attempt),
        db_user: None,
    };
    changes.iter().enumerate().map(entry).collect()
}

impl Change {
    /// Returns the task's image as it will be.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.after.as_ref().map(|kept| &kept.image)
    }
}

/// Returns the part of a journal that is asked for, oldest entry first.
pub fn select(journal: &[Event], query: &HistoryQuery) -> Vec<Entry> {
    let task = query.task.as_ref().map(key_of);
    let is_of_task = |entry: &&Entry| task.as_ref().is_none_or(|task| entry.task == *task);
    let is_wanted = |entry: &&Entry| is_of_task(entry) && query.wants_deed(entry);
    let is_attempt = |event: &&Event| {
        let attempt = event.entries.first().and_then(|first| first.attempt);
        query.attempt.is_none() || attempt == query.attempt
    };
    let first = journal.partition_point(|event| event.revision <= query.since);
    let in_range = journal[first..].iter().take_while(|event| query.until.is_none_or(|end| event.revision <= end));
    let mut revisions: Vec<Vec<Entry>> = in_range
        .filter(is_attempt)
        .map(|event| event.entries.iter().filter(is_wanted).cloned().collect::<Vec<_>>())
        .filter(|entries| !entries.is_empty())
        // A caller that wants the oldest of the newest only knows those at the end.
        .take(query.oldest.filter(|_| query.newest.is_none()).unwrap_or(usize::MAX))
        .collect();
    if let Some(newest) = query.newest {
        revisions.drain(..revisions.len().saturating_sub(newest));
    }
    revisions.truncate(query.oldest.unwrap_or(usize::MAX));
    revisions.into_iter().flatten().collect()
}

impl ListState {
    /// Moves on by one commit: catching up is this, for every commit that is not in here yet, in order.
    pub fn apply(&mut self, commit: &Commit) {
        for (entry, after) in commit.entries.iter().zip(&commit.after) {
            self.journaled = self.journaled.max(number_of(&entry.task));
            self.put(&entry.task, after.clone());
        }
        self.mark = self.mark.max(commit.mark);
        self.last_token = self.last_token.max(commit.last_token);
        for (task, lease) in &commit.leases {
            match lease {
                Some(lease) => drop(self.leases.insert(task.clone(), lease.clone())),
                None => drop(self.leases.remove(task)),
            }
        }
        if let Some(first) = commit.entries.first() {
            self.exists = true;
            self.revision = first.revision;
            self.changed = Some(first.at);
        }
    }

    /// Returns the commit that gives leases the ends they carry here, those that are still there with the same token.
    pub fn renewal(&self, leases: &[Lease]) -> Commit {
        let renewed = |lease: &Lease| {
            let there = self.leases.get(&lease.task).filter(|there| there.token == lease.token)?;
            Some((lease.task.clone(), Some(Lease { ends: lease.ends.clone(), ..there.clone() })))
        };
        Commit::new(Vec::new(), leases.iter().filter_map(renewed).collect(), self.last_token, self.mark)
    }
}
