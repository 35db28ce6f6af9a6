//! The newest commits of a followed list: the ones kept in memory, and the ones announced but not yet read.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use taskyard::core::{AttemptId, Entry, Image, Lease, Revision, TaskId, Timestamp, Token};
use taskyard::store::kit::{Commit, Kept, ListState};

use super::lease_rows::LeaseRow;

/// After this many announced entries, the next commit is read from the database.
const MOST_ENTRIES: usize = 1_000;

/// How far a list has advanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The newest commit and its attempt.
    pub(super) revision: Revision,
    pub(super) head: Option<AttemptId>,
    /// The number of lease changes.
    pub(super) lease_version: i64,
}

/// Changes announced since the list was last read.
#[derive(Debug)]
pub(super) struct UnconfirmedChanges {
    /// The extent of the list when it was last read.
    pub(super) read: Extent,
    last_token: Token,
    mark: f64,
    journaled: f64,
    changed: Option<Timestamp>,
    /// The announced tasks: the state when last read, and the last commit announced to change it.
    tasks: BTreeMap<TaskId, (Option<Arc<Kept>>, Revision)>,
    /// The same for leases, with the count of changes.
    leases: BTreeMap<TaskId, (Option<Lease>, i64)>,
    entries: usize,
}

/// What the database contains, to confirm announced changes.
pub(super) struct Proof<'a> {
    pub(super) there: Extent,
    /// The state of each task changed since the list was read, after commits up to the newest announced one.
    pub(super) tasks: BTreeMap<&'a TaskId, Option<Image>>,
    /// The leases changed since.
    pub(super) leases: &'a [LeaseRow],
}

impl UnconfirmedChanges {
    /// Returns no changes, after a list that was read up to `read`.
    pub(super) fn after(read: Extent, state: &ListState) -> Self {
        let ListState { last_token, mark, journaled, changed, .. } = *state;
        let (tasks, leases) = (BTreeMap::new(), BTreeMap::new());
        Self { read, last_token, mark, journaled, changed, tasks, leases, entries: 0 }
    }

    /// Returns whether a commit with this many entries may be applied before the list is read again.
    pub(super) fn has_room_for(&self, entries: usize) -> bool {
        self.entries + entries <= MOST_ENTRIES
    }

    /// Saves the state that a commit is about to change.
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

    /// Returns whether the database contains the announced changes, as far as it has advanced. Changes announced
    /// after the query was sent are left to the next one.
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
        // A lease that has changed again since is read.
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

    pub(super) fn tasks(&self) -> Vec<TaskId> {
        self.tasks.keys().cloned().collect()
    }

    /// Restores the state when the list was last read.
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

/// Limit on the number of commits kept.
const MOST_COMMITS: usize = 256;
/// Limit on the bytes of their tasks.
const MOST_BYTES: usize = 256 * 1024;

/// Consecutive commits of one history.
#[derive(Debug, Default)]
pub(super) struct RecentCommits {
    /// The commit before the first one kept.
    base: RecentCommit,
    commits: VecDeque<(RecentCommit, Vec<Entry>)>,
    bytes: usize,
}

/// Identifies a commit: its revision, and its attempt, which differs between histories.
type RecentCommit = (Revision, Option<AttemptId>);

impl RecentCommits {
    /// Returns an empty sequence after a commit.
    pub(super) fn after(revision: Revision, attempt: Option<AttemptId>) -> Self {
        Self { base: (revision, attempt), ..Self::default() }
    }

    /// Appends the next commit.
    pub(super) fn push(&mut self, entries: Vec<Entry>) {
        let Some(first) = entries.first() else { return };
        self.bytes += size(&entries);
        self.commits.push_back(((first.revision, first.attempt), entries));
        while self.commits.len() > MOST_COMMITS || self.bytes > MOST_BYTES {
            let Some((commit, entries)) = self.commits.pop_front() else { return };
            self.bytes -= size(&entries);
            self.base = commit;
        }
    }

    /// Drops all commits, because a later one was not appended.
    pub(super) fn skip_to(&mut self, revision: Revision, attempt: Option<AttemptId>) {
        *self = Self::after(revision, attempt);
    }

    /// Appends commits, of which the last must be `last`; otherwise drops all and continues from `last`.
    pub(super) fn catch_up(&mut self, commits: Vec<Vec<Entry>>, last: RecentCommit) {
        commits.into_iter().for_each(|entries| self.push(entries));
        if self.last() != last {
            self.skip_to(last.0, last.1);
        }
    }

    fn last(&self) -> RecentCommit {
        self.commits.back().map_or(self.base, |(commit, _)| *commit)
    }

    /// Returns the entries of all commits after one, or `None` if that one is not known.
    pub(super) fn since(&self, commit: RecentCommit) -> Option<Vec<Entry>> {
        let known = match self.base == commit {
            true => 0,
            false => 1 + self.commits.iter().position(|(other, _)| *other == commit)?,
        };
        Some(self.commits.iter().skip(known).flat_map(|(_, entries)| entries.iter().cloned()).collect())
    }
}

fn size(entries: &[Entry]) -> usize {
    let image = |image: &Option<Image>| image.as_ref().map_or(0, |image| image.bytes().len());
    entries.iter().map(|entry| image(&entry.before) + image(&entry.after)).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use taskyard::core::{AgentName, Entry, Image, Lease, Op, Remark, Revision, TaskId, Timestamp, Token};
    use taskyard::store::kit::{Commit, ListState};

    use super::{Extent, MOST_ENTRIES, Proof, UnconfirmedChanges};
    use crate::store::lease_rows::LeaseRow;

    const READ: Extent = Extent { revision: Revision(5), head: None, lease_version: 3 };
    const TOLD: Extent = Extent { revision: Revision(6), head: None, lease_version: 4 };

    fn lease(token: u64) -> Lease {
        Lease {
            task: TaskId::number(1),
            agent: AgentName::new("ana").unwrap(),
            token: Token(token),
            taken: Timestamp(1),
            ttl: None,
            ends: None,
            holder: None,
        }
    }

    /// Returns a list with an announced revision 6, in which task 1 and its lease changed.
    fn heard() -> (UnconfirmedChanges, ListState) {
        let mut state = ListState { exists: true, revision: READ.revision, ..ListState::default() };
        let entry = Entry {
            revision: TOLD.revision,
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op: Op::Update,
            task: TaskId::number(1),
            before: None,
            after: Some(Image::new(&b"after"[..])),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        };
        let commit = Commit::new(vec![entry], BTreeMap::from([(TaskId::number(1), Some(lease(9)))]), Token(9), 0.0);
        let mut heard = UnconfirmedChanges::after(READ, &state);
        heard.note(&commit, TOLD.lease_version, &state);
        state.apply(&commit);
        (heard, state)
    }

    fn row(version: i64, lease: Option<Lease>) -> LeaseRow {
        LeaseRow { version, task: TaskId::number(1), lease }
    }

    fn is_proven(there: Extent, tasks: &[(TaskId, &[u8])], leases: &[LeaseRow]) -> bool {
        let (heard, state) = heard();
        let tasks = tasks.iter().map(|(task, image)| (task, Some(Image::new(*image)))).collect();
        heard.is_proven(&state, TOLD, &Proof { there, tasks, leases })
    }

    #[test]
    fn database_with_the_same_task_and_lease_proves_them() {
        let [one, two] = [1, 2].map(TaskId::number);
        let same = || [row(4, Some(lease(9)))];
        assert!(is_proven(TOLD, &[(one.clone(), b"after")], &same()));
        assert!(!is_proven(TOLD, &[(one.clone(), b"other")], &same()), "another image");
        assert!(!is_proven(TOLD, &[], &same()), "the task did not change");
        assert!(!is_proven(TOLD, &[(one, b"after"), (two, b"x")], &same()), "another task changed, too");
    }

    #[test]
    fn lease_is_proven_by_its_own_row_alone() {
        let proves = |leases: &[LeaseRow]| is_proven(TOLD, &[(TaskId::number(1), b"after")], leases);
        assert!(!proves(&[]), "the lease did not change");
        assert!(!proves(&[row(4, Some(lease(8)))]), "another token");
        assert!(!proves(&[row(4, None)]), "it has ended");
        assert!(proves(&[row(5, None)]), "it changed again after what was told");
    }

    #[test]
    fn what_was_heard_after_the_question_is_left_for_the_next() {
        assert!(is_proven(READ, &[], &[]));
    }

    #[test]
    fn taking_back_leaves_the_list_as_it_was_read() {
        let (heard, mut state) = heard();
        assert_eq!(heard.tasks(), [TaskId::number(1)]);
        heard.take_back(&mut state);
        assert_eq!((state.revision, state.last_token), (READ.revision, Token(0)));
        assert!(state.tasks.is_empty() && state.leases.is_empty());
    }

    #[test]
    fn after_enough_entries_the_next_commit_is_read() {
        let (heard, _) = heard();
        assert!(heard.has_room_for(MOST_ENTRIES - 1));
        assert!(!heard.has_room_for(MOST_ENTRIES));
    }
}

#[cfg(test)]
mod recent_commits_tests {
    use taskyard::core::{AgentName, Entry, Image, Op, Remark, Revision, TaskId, Timestamp};

    use super::{MOST_BYTES, RecentCommits};

    fn entry(revision: u64, attempt: &str, bytes: usize) -> Entry {
        Entry {
            revision: Revision(revision),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op: Op::Update,
            task: TaskId::number(1),
            before: None,
            after: Some(Image::new(vec![b' '; bytes])),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: attempt.repeat(32).parse().ok(),
            db_user: None,
        }
    }

    fn attempt(letter: &str) -> Option<taskyard::core::AttemptId> {
        letter.repeat(32).parse().ok()
    }

    #[test]
    fn commits_after_a_known_one_are_returned() {
        let mut recent = RecentCommits::after(Revision(1), attempt("a"));
        recent.push(vec![entry(2, "b", 1)]);
        recent.push(vec![entry(3, "c", 1)]);
        let since = |revision, letter| recent.since((Revision(revision), attempt(letter))).map(|all| all.len());
        assert_eq!([since(1, "a"), since(2, "b"), since(3, "c")], [Some(2), Some(1), Some(0)]);
        assert_eq!([since(1, "b"), since(0, "a"), since(4, "d")], [None; 3], "another history, or not known");
    }

    #[test]
    fn commits_that_take_too_much_room_are_dropped() {
        let mut recent = RecentCommits::after(Revision(1), attempt("a"));
        recent.push(vec![entry(2, "b", 1)]);
        recent.push(vec![entry(3, "c", MOST_BYTES)]);
        assert!(recent.since((Revision(1), attempt("a"))).is_none());
        assert_eq!(recent.since((Revision(2), attempt("b"))).unwrap().len(), 1);
        recent.push(vec![entry(4, "d", MOST_BYTES + 1)]);
        assert!(recent.since((Revision(3), attempt("c"))).is_none(), "not even the newest stays");
        assert_eq!(recent.since((Revision(4), attempt("d"))).unwrap().len(), 0);
    }
}
