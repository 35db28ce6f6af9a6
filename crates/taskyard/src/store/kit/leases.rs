//! What a transaction does to the leases of its list: the same for every store.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::{Image, Lease, Moment, TaskId, Timestamp, Token};

use crate::store::NewLease;

/// The leases of a list with what a transaction has staged over them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StagedLeases {
    leases: BTreeMap<TaskId, Lease>,
    last_token: Token,
    has_granted: bool,
    changed: BTreeMap<TaskId, Option<Lease>>,
}

impl StagedLeases {
    /// Takes the leases there are, and the last token that was given out.
    pub(crate) fn over(leases: impl IntoIterator<Item = Lease>, last_token: Token) -> Self {
        let leases = leases.into_iter().map(|lease| (lease.task.clone(), lease)).collect();
        Self { leases, last_token, has_granted: false, changed: BTreeMap::new() }
    }

    /// Returns the leases as they will be, by task.
    pub(crate) fn all(&self) -> Vec<Lease> {
        self.leases.values().cloned().collect()
    }

    /// Returns the last token that was given out.
    pub(crate) fn last_token(&self) -> Token {
        self.last_token
    }

    /// Tells whether a token was given out, whatever became of its lease.
    pub(crate) fn has_granted(&self) -> bool {
        self.has_granted
    }

    /// Returns what changed: each lease as it will be, none where it goes.
    pub(crate) fn changed(&self) -> &BTreeMap<TaskId, Option<Lease>> {
        &self.changed
    }

    /// Gives a lease out, at a moment of the store's clock. Its token follows the last one; the first of all is taken from that clock, above
    /// those of a store that was lost before.
    pub(crate) fn grant(&mut self, new: NewLease, now: &Moment) -> Lease {
        self.last_token = match self.last_token {
            Token(0) => first_token(now.wall),
            Token(last) => Token(last + 1),
        };
        self.has_granted = true;
        let NewLease { task, agent, ttl, holder } = new;
        let ends = ttl.map(|ttl| now.after(ttl));
        let lease = Lease { task, agent, token: self.last_token, taken: now.wall, ttl, ends, holder };
        self.put(lease.clone());
        lease
    }

    /// Changes a lease that is there; one that is not stays away.
    pub(crate) fn set(&mut self, lease: Lease) {
        if self.leases.get(&lease.task).is_some_and(|there| there.token == lease.token) {
            self.put(lease);
        }
    }

    /// Ends the lease of a task.
    pub(crate) fn end(&mut self, task: &TaskId) {
        if self.leases.remove(task).is_some() {
            self.changed.insert(task.clone(), None);
        }
    }

    /// Ends the lease of a task that will be as its image says, where that no longer is the holder's to work on.
    pub(crate) fn settle(&mut self, task: &TaskId, after: Option<&Image>) {
        let Some(lease) = self.leases.get(task) else { return };
        let still_holds = after.and_then(|image| image.task(task).ok()).is_some_and(|task| holds(lease, &task));
        if !still_holds {
            self.end(task);
        }
    }

    fn put(&mut self, lease: Lease) {
        self.changed.insert(lease.task.clone(), Some(lease.clone()));
        self.leases.insert(lease.task.clone(), lease);
    }
}

/// Returns a token that is greater than any that was given out before this moment: a store that begins cannot know what another under its
/// name has given out. There are ten for each millisecond, of which one is taken by chance. It is less than 2^53, so that every JSON reader
/// can hold it.
pub(crate) fn first_token(now: Timestamp) -> Token {
    #[cfg(feature = "failpoints")]
    if let Some(token) = crate::failpoint::first_token() {
        return Token(token);
    }
    let milliseconds = u64::try_from(now.0).unwrap_or(0).max(1);
    Token(milliseconds.saturating_mul(10) + RandomState::new().build_hasher().finish() % 10)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use taskyard_core::{AgentName, Image, Lease, Moment, TaskId, Timestamp, Token};

    use super::{StagedLeases, first_token};
    use crate::store::NewLease;

    fn grant(leases: &mut StagedLeases, number: u64) -> Lease {
        let agent = AgentName::new("ana").unwrap();
        let new = NewLease { task: TaskId::number(number), agent, ttl: Some(Duration::from_secs(1)), holder: None };
        leases.grant(new, &Moment { wall: Timestamp(5), boot: "a boot".into(), since_boot: 7 })
    }

    #[test]
    fn a_lease_is_taken_now_and_ends_when_its_time_is_over() {
        let lease = grant(&mut StagedLeases::default(), 1);
        let ends = Moment { wall: Timestamp(1005), boot: "a boot".into(), since_boot: 1007 };
        assert_eq!((lease.taken, lease.ends), (Timestamp(5), Some(ends)));
    }

    #[test]
    fn tokens_only_grow_and_the_newest_lease_of_a_task_counts() {
        let mut leases = StagedLeases::over([], Token(4));
        let first = grant(&mut leases, 1);
        let second = grant(&mut leases, 1);
        assert_eq!((first.token, second.token), (Token(5), Token(6)));
        leases.set(first);
        assert_eq!(leases.all(), [second]);
    }

    #[test]
    fn the_first_token_is_above_all_earlier_ones() {
        let at = |millis: i64| first_token(Timestamp(millis)).0;
        let (earlier, later) = (at(1_800_000_000_000), at(1_800_000_000_001));
        assert!(earlier / 10 == 1_800_000_000_000 && later > earlier && later < 1 << 53);
        assert!(at(-5) > 0);
        let granted = grant(&mut StagedLeases::default(), 1);
        assert_eq!(granted.token.0 / 10, 5);
    }

    #[test]
    fn a_lease_ends_with_the_claim_in_the_file() {
        let mut leases = StagedLeases::over([], Token(0));
        grant(&mut leases, 1);
        let image = |owner: &str, status: &str| {
            let text = format!(
                r#"{{"id":"1","subject":"","description":"","owner":"{owner}","status":"{status}","blocks":[],"blockedBy":[]}}"#
            );
            Image::new(text.into_bytes())
        };
        leases.settle(&TaskId::number(1), Some(&image("ana", "in_progress")));
        assert_eq!(leases.all().len(), 1);
        leases.settle(&TaskId::number(1), Some(&image("ben", "in_progress")));
        assert_eq!((leases.all().len(), &leases.changed()[&TaskId::number(1)]), (0, &None));
    }
}
