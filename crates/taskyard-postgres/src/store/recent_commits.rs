//! The newest commits of a list that is followed, so that a follower need not ask the database for what this process has read or written.

use std::collections::VecDeque;

use taskyard::core::{AttemptId, Entry, Image, Revision};

/// Older commits are dropped when there are this many.
const MOST_COMMITS: usize = 256;
/// Older commits are dropped when their tasks take more bytes than this.
const MOST_BYTES: usize = 256 * 1024;

/// Commits of one history without a gap.
#[derive(Debug, Default)]
pub(super) struct RecentCommits {
    /// The commit before the first one.
    base: Commit,
    commits: VecDeque<(Commit, Vec<Entry>)>,
    bytes: usize,
}

/// What a commit is known by: its number, and its attempt, which no other history has under the same number.
type Commit = (Revision, Option<AttemptId>);

impl RecentCommits {
    /// Returns no commits, after one.
    pub(super) fn after(revision: Revision, attempt: Option<AttemptId>) -> Self {
        Self { base: (revision, attempt), ..Self::default() }
    }

    /// Adds the next commit.
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

    /// Drops all commits: a later one was not added.
    pub(super) fn skip_to(&mut self, revision: Revision, attempt: Option<AttemptId>) {
        *self = Self::after(revision, attempt);
    }

    /// Adds the next commits, of which the last is the one given; without them, later ones are not asked for here.
    pub(super) fn catch_up(&mut self, commits: Vec<Vec<Entry>>, last: Commit) {
        commits.into_iter().for_each(|entries| self.push(entries));
        if self.last() != last {
            self.skip_to(last.0, last.1);
        }
    }

    fn last(&self) -> Commit {
        self.commits.back().map_or(self.base, |(commit, _)| *commit)
    }

    /// Returns the entries of all commits after one; `None` if that one is not known.
    pub(super) fn since(&self, commit: Commit) -> Option<Vec<Entry>> {
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
