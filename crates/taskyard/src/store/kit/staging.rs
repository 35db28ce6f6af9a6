//! The changes that a transaction has staged over the state it began with: tasks and leases.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;

use taskyard_core::dialect::native;
use taskyard_core::rules::changes::numbering::{Numbers, next_ids};
use taskyard_core::rules::leases::leasing::holds;
use taskyard_core::{Entry, Image, Lease, Moment, Remark, Revision, Rules, Task, TaskId, Timestamp, Token};

use crate::store::kit::commit::{Commit, Home, Kept, ListState, key_of, number_of};
use crate::store::{Lookup, NewLease, Signature, StoreError, UnreadableTask};

/// A change to one task.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) task: TaskId,
    /// The image before the change, or `None` if the task is new.
    pub(crate) before: Option<Image>,
    /// The new state, or `None` if the task is removed.
    pub(crate) after: Option<Arc<Kept>>,
}

/// A state with uncommitted changes.
#[derive(Debug)]
pub struct Staging {
    /// The state that the changes are staged over.
    pub base: Arc<ListState>,
    /// The changed tasks with their new state, or `None` for those that are removed.
    staged: BTreeMap<TaskId, Option<Arc<Kept>>>,
    /// Missing tasks whose absence the journal should record as intended.
    noted: BTreeSet<TaskId>,
    /// The highest number ever removed, including staged removals.
    pub(crate) mark: f64,
    /// The leases, including staged changes.
    pub(crate) leases: StagedLeases,
}

impl Staging {
    pub(crate) fn over(base: Arc<ListState>) -> Self {
        let leases = StagedLeases::over(base.leases.values().cloned(), base.last_token);
        Self { mark: base.mark, base, staged: BTreeMap::new(), noted: BTreeSet::new(), leases }
    }

    /// Adds tasks to the underlying state.
    pub(crate) fn learn(&mut self, tasks: impl IntoIterator<Item = Arc<Kept>>) {
        let base = Arc::make_mut(&mut self.base);
        base.tasks.extend(tasks.into_iter().map(|kept| (kept.id.clone(), kept)));
    }

    /// Returns what is stored under a task's id, including staged changes.
    pub(crate) fn get(&self, id: &TaskId) -> Option<&Arc<Kept>> {
        let key = self.base.name_of(id);
        match self.staged.get(&key) {
            Some(staged) => staged.as_ref(),
            None => self.base.tasks.get(&key),
        }
    }

    /// Returns the tasks with staged changes or removals.
    pub(crate) fn staged(&self) -> Vec<TaskId> {
        self.staged.keys().cloned().collect()
    }

    /// Returns whether the list exists, including staged changes.
    pub(crate) fn exists(&self) -> bool {
        self.base.exists || self.staged.values().any(Option::is_some)
    }

    pub(crate) fn find(&self, id: &TaskId) -> Lookup {
        self.get(id).map_or(Lookup::Missing, |kept| kept.lookup(&self.base.home))
    }

    /// Returns every readable task, in ascending order of number, or in the order of the files if they have one.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        self.all().into_iter().filter_map(|kept| kept.task.as_ref().ok().cloned()).collect()
    }

    /// Returns what cannot be parsed as a task, in the same order.
    pub(crate) fn problems(&self) -> Vec<UnreadableTask> {
        self.all().into_iter().filter_map(|kept| kept.as_problem(&self.base.home)).collect()
    }

    /// Returns everything stored, in ascending order of number or in the order of the files.
    fn all(&self) -> Vec<&Arc<Kept>> {
        let unchanged = self.base.tasks.iter().filter(|(id, _)| !self.staged.contains_key(*id)).map(|(_, kept)| kept);
        let mut all: Vec<_> = unchanged.chain(self.staged.values().flatten()).collect();
        all.sort_by(|one, two| one.id.cmp(&two.id));
        if !self.base.places.is_empty() {
            all.sort_by_key(|kept| self.base.place_of(&kept.id));
        }
        all
    }

    /// Returns the tasks that `blocker` blocks and all subtasks of any task, in ascending order of number.
    pub(crate) fn waiting_for_or_parts(&self, blocker: &TaskId) -> Vec<Task> {
        let counts = |task: &Task| task.blocked_by.contains(blocker) || task.parent().is_some();
        let wanted = |kept: &&Arc<Kept>| kept.task.as_ref().is_ok_and(counts);
        let unchanged = self.base.tasks.values().filter(wanted).filter(|kept| !self.staged.contains_key(&kept.id));
        let staged = self.staged.values().flatten().filter(wanted);
        let mut tasks: Vec<Task> = unchanged.chain(staged).filter_map(|kept| kept.task.clone().ok()).collect();
        tasks.sort_by(|one, two| one.id.cmp(&two.id));
        tasks
    }

    /// Stages a task. Fails if what it replaces cannot be parsed.
    pub(crate) fn put(&mut self, task: &Task, rules: Rules) -> Result<(), StoreError> {
        let over = self.writable(&task.id)?.map(|kept| &kept.image);
        let image = native::write(over, task, rules)
            .map_err(|source| StoreError::TooLarge { task: task.id.clone(), source })?;
        self.stage(&task.id, image);
        Ok(())
    }

    /// Stages the exact contents of a task. Fails if what it replaces cannot be parsed.
    pub(crate) fn put_image(&mut self, id: &TaskId, image: Image) -> Result<(), StoreError> {
        self.writable(id)?;
        self.stage(id, image);
        Ok(())
    }

    /// Stages a replacement for contents that cannot be parsed, or their removal. Returns whether they were still there
    /// unchanged.
    pub(crate) fn replace_broken(&mut self, id: &TaskId, broken: &Image, by: Option<Image>) -> bool {
        let is_kept = matches!(self.base.home, Home::Images(_));
        let stands = is_kept && self.get(id).is_some_and(|kept| kept.task.is_err() && kept.image == *broken);
        match by {
            Some(image) if stands => self.stage(id, image),
            None if stands => self.unstage(id),
            _ => {}
        }
        stands
    }

    /// Stages the removal of a task. Fails if it cannot be parsed.
    pub(crate) fn remove(&mut self, id: &TaskId) -> Result<(), StoreError> {
        if self.writable(id)?.is_some() {
            self.unstage(id);
        }
        Ok(())
    }

    /// Stages a journal entry for a missing task.
    pub(crate) fn note_absent(&mut self, id: &TaskId) {
        if self.get(id).is_none() {
            self.unstage(id);
            self.noted.insert(self.base.name_of(id));
        }
    }

    /// Returns every change that needs a journal entry.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let was = |task: &TaskId| self.base.tasks.get(task).map(|kept| kept.image.clone());
        let change = |(task, after): (&TaskId, &Option<Arc<Kept>>)| Change {
            task: task.clone(),
            before: was(task),
            after: after.clone(),
        };
        let is_worth_an_entry = |change: &Change| {
            change.before.as_ref() != change.image() || (change.after.is_none() && self.noted.contains(&change.task))
        };
        self.staged.iter().map(change).filter(is_worth_an_entry).collect()
    }

    /// Ends the leases on changed tasks that their holders no longer hold.
    pub(crate) fn settle_leases(&mut self, changes: &[Change]) {
        for change in changes {
            self.leases.settle(&change.task, change.image());
        }
    }

    /// Stages the removal of every task.
    pub(crate) fn clear(&mut self, rules: Rules) {
        let going = |kept: &&&Arc<Kept>| rules.is_client() || kept.task.is_ok();
        let ids: Vec<TaskId> = self.all().iter().filter(going).map(|kept| kept.id.clone()).collect();
        for id in ids {
            self.unstage(&id);
        }
    }

    /// Stages a new lease, granted at `now` on the store's clock.
    pub(crate) fn grant(&mut self, lease: NewLease, now: &Moment) -> Lease {
        self.leases.grant(NewLease { task: self.base.name_of(&lease.task), ..lease }, now)
    }

    /// Stages the end of a task's lease.
    pub(crate) fn end_lease(&mut self, task: &TaskId) {
        self.leases.end(&key_of(task));
        self.leases.end(task);
    }

    /// Returns what is known about the numbers used by this list.
    pub(crate) fn numbers(&self) -> Numbers {
        // Non-numeric names sort after the empty name, numbers before it.
        let border = TaskId::stored("");
        let still_there = |(id, _): &(&TaskId, &Arc<Kept>)| !self.staged.contains_key(*id);
        let counts = |(id, _): &(&TaskId, &Arc<Kept>)| number_of(id) > 0.0;
        let highest_numbered = self.base.tasks.range(..&border).rev().filter(counts).find(still_there).into_iter();
        let named = self.base.tasks.range(&border..).filter(still_there);
        let unchanged = highest_numbered.chain(named).map(|(id, _)| id);
        let staged = self.staged.iter().filter_map(|(id, kept)| kept.as_ref().map(|_| id));
        let highest_file = unchanged.chain(staged).map(number_of).fold(0.0, f64::max);
        Numbers { highest_file, mark: self.mark, journaled: self.base.journaled }
    }

    /// Returns the next `count` unused numbers.
    pub(crate) fn next_numbers(&self, count: usize, rules: Rules) -> Result<Vec<TaskId>, StoreError> {
        free_numbers(self.numbers(), count, rules, |id| Ok(self.get(id).is_none()))
    }

    fn writable(&self, id: &TaskId) -> Result<Option<&Arc<Kept>>, StoreError> {
        let kept = self.get(id);
        match kept.map(|kept| &kept.task) {
            Some(Err(why)) => Err(StoreError::NoTask { path: self.base.home.path_of(id), why: why.clone() }),
            Some(Ok(_)) | None => Ok(kept),
        }
    }

    fn stage(&mut self, id: &TaskId, image: Image) {
        let key = self.base.name_of(id);
        self.staged.insert(key.clone(), Some(Kept::new(key, image)));
    }

    fn unstage(&mut self, id: &TaskId) {
        let key = self.base.name_of(id);
        self.mark = self.mark.max(number_of(&key));
        self.staged.insert(key, None);
    }
}

/// Returns the next `count` numbers for which `is_free` returns true.
pub(in crate::store) fn free_numbers(
    numbers: Numbers,
    count: usize,
    rules: Rules,
    is_free: impl Fn(&TaskId) -> Result<bool, StoreError>,
) -> Result<Vec<TaskId>, StoreError> {
    let mut ids = Vec::with_capacity(count);
    for id in next_ids(numbers, rules) {
        if ids.len() == count {
            break;
        }
        // The largest possible number is not counted as used, and neither are hidden files under client rules, so a
        // candidate may be taken.
        if is_free(&id)? {
            ids.push(id);
        }
    }
    if ids.len() < count { Err(StoreError::NoNumberLeft) } else { Ok(ids) }
}

/// The leases of a list, including those a transaction has staged.
#[derive(Clone, Debug, Default)]
pub(crate) struct StagedLeases {
    leases: BTreeMap<TaskId, Lease>,
    last_token: Token,
    has_granted: bool,
    changed: BTreeMap<TaskId, Option<Lease>>,
}

impl StagedLeases {
    /// Starts from the current leases and the last token issued.
    pub(crate) fn over(leases: impl IntoIterator<Item = Lease>, last_token: Token) -> Self {
        let leases = leases.into_iter().map(|lease| (lease.task.clone(), lease)).collect();
        Self { leases, last_token, has_granted: false, changed: BTreeMap::new() }
    }

    /// Returns the leases including staged changes, ordered by task.
    pub(crate) fn all(&self) -> Vec<Lease> {
        self.leases.values().cloned().collect()
    }

    /// Returns the last token issued.
    pub(crate) fn last_token(&self) -> Token {
        self.last_token
    }

    /// Returns whether a token was issued, even if its lease has ended.
    pub(crate) fn has_granted(&self) -> bool {
        self.has_granted
    }

    /// Returns the changed leases with their new values, or `None` for those that end.
    pub(crate) fn changed(&self) -> &BTreeMap<TaskId, Option<Lease>> {
        &self.changed
    }

    /// Grants a lease at `now` on the store's clock. Its token is the last one plus one; the first token is derived
    /// from the clock, so that it exceeds those of a lost store.
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

    /// Changes a lease. Does nothing if the task has no lease with the same token.
    pub(crate) fn set(&mut self, lease: Lease) {
        if self.leases.get(&lease.task).is_some_and(|there| there.token == lease.token) {
            self.put(lease);
        }
    }

    /// Ends the lease of a task, if any.
    pub(crate) fn end(&mut self, task: &TaskId) {
        if self.leases.remove(task).is_some() {
            self.changed.insert(task.clone(), None);
        }
    }

    /// Ends the lease of a task if its holder does not hold the task in its new image.
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

/// Returns a token greater than any issued before this moment: a new store cannot know which tokens a lost store of the
/// same name issued. There are ten tokens per millisecond, one of which is picked at random. The token is less than
/// 2^53, so every JSON parser can represent it.
pub(crate) fn first_token(now: Timestamp) -> Token {
    #[cfg(feature = "failpoints")]
    if let Some(token) = crate::failpoint::first_token() {
        return Token(token);
    }
    let milliseconds = u64::try_from(now.0).unwrap_or(0).max(1);
    Token(milliseconds.saturating_mul(10) + RandomState::new().build_hasher().finish() % 10)
}

impl Staging {
    /// Turns the staged changes into the commit after the state they were staged over. Ends leases whose holders no
    /// longer hold the task.
    pub fn into_commit(mut self, at: Timestamp, signature: &Signature) -> Commit {
        let changes = self.changes();
        self.settle_leases(&changes);
        let entries = entries_of(&changes, self.base.revision.next(), at, signature);
        let after = changes.into_iter().map(|change| change.after).collect();
        let leases = self.leases.changed().clone();
        Commit { entries, leases, last_token: self.leases.last_token(), mark: self.mark, after }
    }
}

/// Returns the entries of a commit with these changes. Information about the whole commit is on the first entry.
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
    /// Returns the task's new image, or `None` if it is removed.
    pub(crate) fn image(&self) -> Option<&Image> {
        self.after.as_ref().map(|kept| &kept.image)
    }
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
