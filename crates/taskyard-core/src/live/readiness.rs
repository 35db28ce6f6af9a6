//! What can start, best first, kept up to date.

use std::collections::HashSet;
use std::ops::Bound;

use super::list::LiveList;
use super::rank::Rank;
use super::record::{Facts, Key, Slot};
use crate::{Status, Task, TaskId, Timestamp};

/// A task that can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyTask {
    /// The task.
    pub id: TaskId,
    /// How many open tasks stand in the longest chain behind it.
    pub chain: usize,
    /// How many open tasks wait for it directly.
    pub unblocks: usize,
    /// Whether it says who may take it.
    pub is_for_some: bool,
}

impl LiveList {
    /// Judges again whatever may have changed since this was last called, given the present moment. Until then readiness and chains are as
    /// they were.
    pub fn judge(&mut self, now: Timestamp) {
        let mut again: HashSet<Slot> = self.judge_chains().into_iter().collect();
        again.extend(std::mem::take(&mut self.unjudged.readiness));
        again.extend(self.pass_moments(now));
        self.unjudged.all = false;
        for slot in again {
            self.judge_readiness(slot);
        }
    }

    /// Moves the present on, or back where a clock was set, and returns the tasks that are judged otherwise because of it. Parts are deferred with
    /// what they are parts of.
    fn pass_moments(&mut self, now: Timestamp) -> HashSet<Slot> {
        let before = std::mem::replace(&mut self.now, now);
        let (from, to) = (before.min(now), before.max(now));
        let passed = (Bound::Excluded((from, Slot::MAX)), Bound::Included((to, Slot::MAX)));
        let mut pending: Vec<Slot> = self.moments.range(passed).map(|(_, slot)| *slot).collect();
        let mut again = HashSet::new();
        while let Some(slot) = pending.pop() {
            if again.insert(slot) {
                pending.extend(&self.records[slot as usize].parts);
            }
        }
        again
    }

    /// Returns the first moment after the present at which a task can start that waits for that alone and is wanted.
    pub(super) fn next_start(&self, is_wanted: impl Fn(&Task) -> bool) -> Option<Timestamp> {
        let later = (Bound::Excluded((self.now, Slot::MAX)), Bound::Unbounded);
        self.moments.range(later).find_map(|(moment, slot)| {
            let mut pending = vec![*slot];
            let mut met = HashSet::new();
            while let Some(next) = pending.pop() {
                if !met.insert(next) {
                    continue;
                }
                let starts_then = self.deferred(next) == Some(*moment) && self.waits_for_time_alone(next);
                if starts_then && self.task(&self.id(next)).is_some_and(|task| is_wanted(&task)) {
                    return Some(*moment);
                }
                pending.extend(&self.records[next as usize].parts);
            }
            None
        })
    }

    /// Returns what can start, best first, as it was last judged.
    pub fn ready(&self) -> impl Iterator<Item = ReadyTask> {
        self.ready.iter().filter_map(|rank| {
            let slot = *self.places.get(&rank.key)?;
            let record = &self.records[slot as usize];
            Some(ReadyTask {
                id: record.key.id(),
                chain: record.chain as usize,
                unblocks: self.count_behind(slot),
                is_for_some: record.facts.as_ref().is_some_and(|facts| facts.is_for_some),
            })
        })
    }

    /// Returns how many tasks can start, as it was last judged.
    pub fn count_ready(&self) -> usize {
        self.ready.len()
    }

    /// Returns the open tasks that hold a task up: those it waits for, and those that hold up what it is a part of.
    pub fn open_blockers(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(slot) = self.places.get(&Key::of(id)).copied() else { return Vec::new() };
        self.blockers(slot).map(|blocker| self.id(blocker)).collect()
    }

    /// Returns the open parts of a task. Internal ones are no agent's work, and tasks that are parts of each other are parts of no task.
    pub fn open_parts(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(slot) = self.places.get(&Key::of(id)).copied() else { return Vec::new() };
        let mut parts: Vec<&Key> = self.open_part_slots(slot).map(|part| &self.records[part as usize].key).collect();
        parts.sort();
        parts.into_iter().map(Key::id).collect()
    }

    /// Takes a task out of those that can start.
    pub(super) fn unready(&mut self, slot: Slot) {
        let record = &mut self.records[slot as usize];
        if let Some(ranked) = record.ranked.take() {
            self.ready.remove(&Rank::of(ranked, record.key.clone()));
        }
    }

    fn judge_readiness(&mut self, slot: Slot) {
        let can_start = self.can_start(slot);
        let record = &self.records[slot as usize];
        let is_overdue = |facts: &Facts| facts.due.is_some_and(|due| due < self.now);
        let ranked = record.facts.as_ref().filter(|_| can_start);
        let ranked = ranked.map(|facts| (facts.priority, is_overdue(facts), record.chain));
        if record.ranked == ranked {
            return;
        }
        self.unready(slot);
        let record = &mut self.records[slot as usize];
        record.ranked = ranked;
        if let Some(ranked) = ranked {
            self.ready.insert(Rank::of(ranked, record.key.clone()));
        }
    }

    fn can_start(&self, slot: Slot) -> bool {
        self.waits_for_time_alone(slot) && self.deferred(slot).is_none_or(|defer| defer <= self.now)
    }

    /// Returns the moment to which a task, or an open one that it is a part of, is deferred.
    fn deferred(&self, slot: Slot) -> Option<Timestamp> {
        let above = self.ancestors(slot);
        let all = std::iter::once(&slot).chain(&above);
        all.filter_map(|slot| self.records[*slot as usize].facts.as_ref()?.defer).max()
    }

    fn waits_for_time_alone(&self, slot: Slot) -> bool {
        let is_free = |facts: &Facts| facts.status == Status::Pending && facts.owner.is_none() && !facts.is_internal;
        self.records[slot as usize].facts.as_ref().is_some_and(is_free)
            && self.blockers(slot).next().is_none()
            && self.open_part_slots(slot).next().is_none()
    }

    /// Returns the open tasks that hold a task up, its own first.
    pub(super) fn blockers(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        let own = self.records[slot as usize].blocked_by().iter().copied().filter(|blocker| self.is_open(*blocker));
        own.chain(self.blockers_above(slot))
    }

    /// Returns the open tasks that those wait for which a task is a part of. A task that waits for its own parts holds up none of them.
    fn blockers_above(&self, slot: Slot) -> Vec<Slot> {
        let mut blockers = Vec::new();
        if !self.is_open(slot) {
            return blockers;
        }
        for above in self.ancestors(slot).into_iter().filter(|above| self.is_open(*above)) {
            for blocker in self.records[above as usize].blocked_by() {
                let is_own = self.records[slot as usize].blocked_by().contains(blocker);
                let is_known = is_own || blockers.contains(blocker) || !self.is_open(*blocker);
                if !is_known && !self.ancestors(*blocker).contains(&above) {
                    blockers.push(*blocker);
                }
            }
        }
        blockers
    }

    fn open_part_slots(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        let parts = self.records[slot as usize].parts.iter().copied();
        let is_there = self.records[slot as usize].facts.is_some();
        parts.filter(move |part| {
            is_there && self.records[*part as usize].is_open_and_visible() && !self.ancestors(*part).is_empty()
        })
    }

    /// Returns the tasks that a task is a part of, the nearest first. Those that are parts of each other are parts of nothing.
    pub(super) fn ancestors(&self, slot: Slot) -> Vec<Slot> {
        let mut above: Vec<Slot> = Vec::new();
        let mut next = self.parent_slot(slot);
        while let Some(parent) = next {
            if parent == slot {
                above.clear();
                break;
            }
            if let Some(met) = above.iter().position(|other| *other == parent) {
                // From the task that was met on, they are parts of each other.
                above.truncate(met + 1);
                break;
            }
            above.push(parent);
            next = self.parent_slot(parent);
        }
        above
    }

    fn parent_slot(&self, slot: Slot) -> Option<Slot> {
        self.records[slot as usize].parent().filter(|parent| self.records[*parent as usize].facts.is_some())
    }

    fn is_open(&self, slot: Slot) -> bool {
        self.records[slot as usize].is_open()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::LiveList;
    use crate::dialect::native;
    use crate::rules::claims::readiness::rank;
    use crate::rules::graph::open_tasks::OpenTasks;
    use crate::rules::looking::listing::count;
    use crate::{Rules, Status, Task, TaskId, Timestamp};

    /// One change of a list of a dozen tasks.
    #[derive(Clone, Debug)]
    enum Change {
        Put(Box<Task>),
        Remove(TaskId),
        /// Time passes, or is set back, by so many milliseconds.
        Judge(i64),
    }

    fn id() -> impl Strategy<Value = TaskId> {
        prop_oneof![9 => (1..12_u64).prop_map(TaskId::number), 1 => Just(TaskId::stored("name"))]
    }

    fn task() -> impl Strategy<Value = Task> {
        let status =
            prop_oneof![4 => Just(Status::Pending), 2 => Just(Status::InProgress), 1 => Just(Status::Completed)];
        let priority = prop_oneof![Just("low"), Just("medium"), Just("high")];
        let owner = prop::option::weighted(0.2, prop_oneof![Just("ana"), Just("ben@team"), Just("")]);
        let parent = prop::option::weighted(0.3, id());
        let moment = || prop::option::weighted(0.3, 0..100_i64);
        let times = (moment(), moment());
        (id(), status, priority, owner, prop::collection::vec(id(), 0..3), parent, prop::bool::weighted(0.1), times)
            .prop_map(|(id, status, priority, owner, blocked_by, parent, is_internal, (due, defer))| {
                let mut metadata = json!({ "priority": priority });
                if let Some(parent) = parent {
                    metadata["parent"] = json!(parent.as_str());
                }
                if is_internal {
                    metadata["_internal"] = json!(true);
                }
                for (key, moment) in [("due", due), ("defer", defer)] {
                    if let Some(moment) = moment {
                        metadata[key] = json!(Timestamp(moment).to_string());
                    }
                }
                let (owner, metadata) = (owner.map(str::to_owned), metadata.as_object().cloned());
                Task { status, owner, blocked_by, metadata, ..Task::new(id, "x") }
            })
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            6 => task().prop_map(|task| Change::Put(Box::new(task))),
            2 => id().prop_map(Change::Remove),
            3 => (-10..30_i64).prop_map(Change::Judge),
        ]
    }

    fn assert_as_ruled(live: &LiveList, tasks: &[Task], now: Timestamp, rules: Rules) {
        assert_eq!(live.tasks(), tasks);
        assert_eq!((live.len(), live.counts()), (tasks.len(), count(tasks)));
        let ranked = rank(tasks, None, now, rules);
        let expected: Vec<_> = ranked.iter().map(|task| (&task.task.id, task.chain, task.unblocks.len())).collect();
        let found: Vec<_> = live.ready().collect();
        let found: Vec<_> = found.iter().map(|task| (&task.id, task.chain, task.unblocks)).collect();
        assert_eq!(found, expected);
        let open = OpenTasks::of(tasks, rules);
        let next = tasks.iter().filter_map(|task| open.starts_at(task, now)).min();
        assert_eq!(live.next_start(|_| true), next);
        for task in tasks {
            let sorted = |mut ids: Vec<TaskId>| {
                ids.sort();
                ids.dedup();
                ids
            };
            assert_eq!(sorted(live.open_blockers(&task.id)), sorted(open.blockers(task)), "{task:?}");
            if task.status.is_open() {
                assert_eq!(live.open_parts(&task.id), open.parts(task), "{task:?}");
            }
            let waiting: Vec<TaskId> = tasks
                .iter()
                .filter(|other| other.blocked_by.contains(&task.id))
                .map(|other| other.id.clone())
                .collect();
            assert_eq!(live.waiting_for(&task.id), waiting);
        }
    }

    fn play(changes: Vec<Change>, rules: Rules) {
        let mut live = LiveList::new(rules);
        let mut tasks: Vec<Task> = Vec::new();
        let mut now = Timestamp(0);
        for change in changes.into_iter().chain([Change::Judge(0)]) {
            match change {
                Change::Put(task) => {
                    tasks.retain(|other| other.id != task.id);
                    live.put(&task.id, native::write(None, &task, Rules::Strict).unwrap()).unwrap();
                    tasks.push(*task);
                    tasks.sort_by(|one, two| one.id.cmp(&two.id));
                }
                Change::Remove(id) => {
                    tasks.retain(|other| other.id != id);
                    live.remove(&id);
                }
                Change::Judge(passed) => {
                    now = Timestamp((now.0 + passed).max(0));
                    live.judge(now);
                    assert_as_ruled(&live, &tasks, now, rules);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

        #[test]
        fn whatever_happens_it_comes_to_the_same_answers_as_the_rules(changes in prop::collection::vec(change(), 1..60)) {
            play(changes, Rules::Strict);
        }

        #[test]
        fn to_the_client_there_are_no_parts(changes in prop::collection::vec(change(), 1..40)) {
            play(changes, Rules::Client(crate::ClientVersion::V2_1_325));
        }
    }
}
