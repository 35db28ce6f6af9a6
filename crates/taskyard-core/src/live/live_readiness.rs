//! Incrementally maintained readiness, ranking and chain lengths of a list.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ops::Bound;

use crate::live::live_list::{Facts, Key, LiveList, Rank, Slot};
use crate::rules::claims::readiness::RankKey;
use crate::rules::graph::chains::{Member, Steps};
use crate::rules::graph::parts::Lineage;
use crate::{Status, Task, TaskId, Timestamp};

/// A task that can start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyTask {
    /// The task.
    pub id: TaskId,
    /// The number of open tasks in the longest chain behind it.
    pub chain: usize,
    /// How many open tasks depend on it, directly or through other tasks and parts.
    pub unblocks: usize,
    /// Whether it is restricted to certain agents or roles.
    pub(crate) is_for_some: bool,
}

impl LiveList {
    /// Re-evaluates everything that may have changed since the last call. Until then readiness and chains are stale.
    pub fn judge(&mut self, now: Timestamp) {
        let mut again: HashSet<Slot> = self.judge_chains().into_iter().collect();
        again.extend(std::mem::take(&mut self.unjudged.readiness));
        again.extend(self.pass_moments(now));
        self.unjudged.all = false;
        let mut above = Above::default();
        for slot in again {
            self.judge_readiness(slot, &mut above);
        }
    }

    /// Sets the present moment, which may move back if a clock was set, and returns the tasks affected. Parts are
    /// deferred with their parents.
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

    /// Returns the first future moment at which a task that waits only for its deferral, and matches `is_wanted`, can
    /// start.
    pub(super) fn next_start(&self, is_wanted: impl Fn(&Task) -> bool) -> Option<Timestamp> {
        let later = (Bound::Excluded((self.now, Slot::MAX)), Bound::Unbounded);
        let mut above = Above::default();
        self.moments.range(later).find_map(|(moment, slot)| {
            let mut pending = vec![*slot];
            let mut met = HashSet::new();
            while let Some(next) = pending.pop() {
                if !met.insert(next) {
                    continue;
                }
                let starts_then =
                    self.deferred(next, &mut above) == Some(*moment) && self.waits_for_time_alone(next, &mut above);
                if starts_then && self.task(&self.id(next)).is_some_and(|task| is_wanted(&task)) {
                    return Some(*moment);
                }
                pending.extend(&self.records[next as usize].parts);
            }
            None
        })
    }

    /// Returns the tasks that could start at the last evaluation, best first.
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

    /// Returns the number of tasks that could start at the last evaluation.
    pub(crate) fn count_ready(&self) -> usize {
        self.ready.len()
    }

    /// Returns the open blockers of a task: its own and those of its ancestors.
    pub fn open_blockers(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(slot) = self.places.get(&Key::of(id)).copied() else { return Vec::new() };
        self.blockers(slot).map(|blocker| self.id(blocker)).collect()
    }

    /// Returns the open parts of a task. Internal tasks and tasks in a cycle of parents do not count as parts.
    pub fn open_parts(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(slot) = self.places.get(&Key::of(id)).copied() else { return Vec::new() };
        let mut parts: Vec<&Key> = self.open_part_slots(slot).map(|part| &self.records[part as usize].key).collect();
        parts.sort();
        parts.into_iter().map(Key::id).collect()
    }

    /// Removes a task from those that can start.
    pub(super) fn unready(&mut self, slot: Slot) {
        let record = &mut self.records[slot as usize];
        if let Some(ranked) = record.ranked.take() {
            self.ready.remove(&Rank::of(ranked, record.key.clone()));
        }
    }

    fn judge_readiness(&mut self, slot: Slot, above: &mut Above) {
        let can_start = self.can_start(slot, above);
        let record = &self.records[slot as usize];
        let ranked = record.facts.as_ref().filter(|_| can_start);
        let ranked = ranked.map(|facts| RankKey::of(facts.priority, facts.due, record.chain as usize, self.now));
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

    fn can_start(&self, slot: Slot, above: &mut Above) -> bool {
        self.waits_for_time_alone(slot, above) && self.deferred(slot, above).is_none_or(|defer| defer <= self.now)
    }

    /// Returns the latest moment to which a task or one of its ancestors is deferred.
    fn deferred(&self, slot: Slot, above: &mut Above) -> Option<Timestamp> {
        above.see(self, slot);
        self.own_deferred(slot).max(above.inherited[&slot].deferred)
    }

    fn own_deferred(&self, slot: Slot) -> Option<Timestamp> {
        self.records[slot as usize].facts.as_ref()?.defer
    }

    fn waits_for_time_alone(&self, slot: Slot, above: &mut Above) -> bool {
        let is_free = |facts: &Facts| facts.status == Status::Pending && facts.owner.is_none() && !facts.is_internal;
        if !self.records[slot as usize].facts.as_ref().is_some_and(is_free) || self.own_blockers(slot).next().is_some()
        {
            return false;
        }
        above.see(self, slot);
        !above.inherited[&slot].is_held_up
            && !self.records[slot as usize].parts.iter().any(|part| {
                above.see_line(self, *part);
                self.records[*part as usize].is_open_and_visible() && above.lineage.parent(part).is_some()
            })
    }

    /// Returns the open blockers of a task, its own first.
    pub(super) fn blockers(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        self.own_blockers(slot).chain(self.blockers_above(slot))
    }

    /// Returns the open blockers that a task itself names.
    fn own_blockers(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        self.records[slot as usize].blocked_by().iter().copied().filter(|blocker| self.is_open(*blocker))
    }

    /// Returns the open blockers of a task's ancestors. An ancestor that depends on its own part does not block its
    /// parts.
    fn blockers_above(&self, slot: Slot) -> Vec<Slot> {
        let mut blockers = Vec::new();
        if !self.is_open(slot) {
            return blockers;
        }
        let mut above = Above::default();
        above.see_line(self, slot);
        let mut known: HashSet<Slot> = self.records[slot as usize].blocked_by().iter().copied().collect();
        let mut next = above.lineage.parent(&slot).copied();
        while let Some(at) = next {
            for blocker in self.own_blockers(at).filter(|_| self.is_open(at)) {
                if !known.contains(&blocker) && !above.is_below(self, blocker, at) {
                    known.insert(blocker);
                    blockers.push(blocker);
                }
            }
            next = above.lineage.parent(&at).copied();
        }
        blockers
    }

    fn open_part_slots(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        let parts = self.records[slot as usize].parts.iter().copied();
        let is_there = self.records[slot as usize].facts.is_some();
        let mut above = Above::default();
        parts.filter(move |part| {
            above.see_line(self, *part);
            is_there && self.records[*part as usize].is_open_and_visible() && above.lineage.parent(part).is_some()
        })
    }

    /// Returns the parent of a task. Tasks in a cycle of parents have none.
    pub(super) fn above_slot(&self, slot: Slot) -> Option<Slot> {
        let mut line = std::iter::successors(self.parent_slot(slot), |at| self.parent_slot(*at));
        // A line of parents that leads into a cycle elsewhere never ends.
        let is_in_circle = line.by_ref().take(self.records.len()).any(|at| at == slot);
        self.parent_slot(slot).filter(|_| !is_in_circle)
    }

    pub(super) fn parent_slot(&self, slot: Slot) -> Option<Slot> {
        self.records[slot as usize].parent().filter(|parent| self.records[*parent as usize].facts.is_some())
    }

    pub(super) fn is_open(&self, slot: Slot) -> bool {
        self.records[slot as usize].is_open()
    }
}

/// What tasks inherit from their ancestors, computed once per task during an evaluation.
#[derive(Default)]
pub(super) struct Above {
    lineage: Lineage<Slot>,
    inherited: HashMap<Slot, Inherited>,
}

/// What a task inherits from its ancestors.
#[derive(Clone, Copy, Default)]
struct Inherited {
    /// Whether an open ancestor has an open blocker that is not one of its own parts.
    is_held_up: bool,
    /// The latest deferral of an ancestor.
    deferred: Option<Timestamp>,
}

impl Above {
    /// Computes what a task and its ancestors inherit.
    fn see(&mut self, list: &LiveList, slot: Slot) {
        self.see_line(list, slot);
        let mut way = Vec::new();
        let mut at = slot;
        while !self.inherited.contains_key(&at) {
            match self.lineage.parent(&at).copied() {
                Some(parent) => {
                    way.push((at, parent));
                    at = parent;
                }
                None => drop(self.inherited.insert(at, Inherited::default())),
            }
        }
        for (slot, parent) in way.into_iter().rev() {
            let from_above = self.inherited[&parent];
            let inherited = Inherited {
                is_held_up: from_above.is_held_up || self.holds_up_its_parts(list, parent),
                deferred: from_above.deferred.max(list.own_deferred(parent)),
            };
            self.inherited.insert(slot, inherited);
        }
    }

    fn see_line(&mut self, list: &LiveList, slot: Slot) {
        let Ok(()) = self.lineage.see(&slot, |at| Ok::<_, Infallible>(list.parent_slot(*at)));
    }

    /// Returns the parent of a task. Tasks in a cycle of parents have none.
    pub(super) fn parent(&mut self, list: &LiveList, slot: Slot) -> Option<Slot> {
        self.see_line(list, slot);
        self.lineage.parent(&slot).copied()
    }

    /// Returns whether a task is a direct or indirect part of another.
    pub(super) fn is_below(&mut self, list: &LiveList, slot: Slot, other: Slot) -> bool {
        self.see_line(list, slot);
        self.see_line(list, other);
        self.lineage.is_below(&slot, &other)
    }

    fn holds_up_its_parts(&mut self, list: &LiveList, slot: Slot) -> bool {
        list.is_open(slot) && list.own_blockers(slot).any(|blocker| !self.is_below(list, blocker, slot))
    }
}

impl LiveList {
    /// Recomputes the chains that may have changed and returns the tasks affected.
    pub(super) fn judge_chains(&mut self) -> Vec<Slot> {
        let noted = std::mem::take(&mut self.unjudged.chains);
        if self.unjudged.all || self.has_circle || !self.judge_noted_chains(noted.iter().copied().collect()) {
            return self.judge_all_chains();
        }
        noted.into_iter().collect()
    }

    /// Recomputes chains from their ends towards their beginnings. Returns `false` if that takes longer than
    /// recomputing the whole list.
    fn judge_noted_chains(&mut self, mut unsettled: Vec<Slot>) -> bool {
        // In a cycle this would never end.
        let most_visits = 8 * self.records.len();
        let mut visits = 0;
        let mut above = Above::default();
        while let Some(slot) = unsettled.pop() {
            if visits > most_visits {
                return false;
            }
            let length = self.chain_behind(slot, &mut above, &mut visits);
            let record = &mut self.records[slot as usize];
            if record.chain == length {
                continue;
            }
            record.chain = length;
            self.unjudged.readiness.insert(slot);
            unsettled.extend(&self.records[slot as usize].parts);
            // The blockers of a task also block its parts.
            for at in std::iter::successors(Some(slot), |at| above.parent(self, *at)) {
                visits += 1;
                unsettled.extend(self.records[at as usize].blocked_by());
            }
        }
        true
    }

    fn chain_behind(&self, slot: Slot, above: &mut Above, visits: &mut usize) -> u32 {
        if !self.records[slot as usize].is_open_and_visible() {
            return 0;
        }
        let mut longest = 0;
        self.visit_next(slot, above, &mut HashSet::new(), &mut |next| {
            longest = longest.max(self.records[next as usize].chain + 1);
            *visits += 1;
        });
        let parent = above.parent(self, slot).map(|parent| &self.records[parent as usize]);
        let behind_parent = parent.filter(|parent| parent.is_open_and_visible()).map_or(0, |parent| parent.chain + 1);
        longest.max(behind_parent)
    }

    /// Calls `visit` with the open dependents of a task and with the parts blocked with them; a task may be visited
    /// twice. Tasks in `held_up` have been visited with their parts before.
    fn visit_next(&self, slot: Slot, above: &mut Above, held_up: &mut HashSet<Slot>, visit: &mut dyn FnMut(Slot)) {
        for waiting in self.records[slot as usize].waiting.iter().copied() {
            if waiting == slot || !self.is_open(waiting) {
                continue;
            }
            // A task that depends on its own part does not block its other parts.
            let holds_up_parts = !above.is_below(self, slot, waiting);
            let mut pending = vec![waiting];
            while let Some(next) = pending.pop() {
                if held_up.contains(&next) {
                    continue;
                }
                if self.records[next as usize].is_open_and_visible() {
                    visit(next);
                }
                if holds_up_parts {
                    held_up.insert(next);
                    let parts = self.records[next as usize].parts.iter().copied();
                    pending.extend(parts.filter(|part| above.parent(self, *part) == Some(next)));
                }
            }
        }
    }

    /// Returns how many open tasks are behind a task: the dependents of it and its ancestors, their parts, and the
    /// ancestors themselves.
    pub(super) fn count_behind(&self, slot: Slot) -> usize {
        let mut above = Above::default();
        let (mut behind, mut held_up) = (HashSet::new(), HashSet::new());
        let mut at = Some(slot);
        while let Some(end) = at {
            self.visit_next(end, &mut above, &mut held_up, &mut |next| {
                behind.insert(next);
            });
            at = above.parent(self, end).filter(|parent| self.records[*parent as usize].is_open_and_visible());
            behind.extend(at);
        }
        behind.remove(&slot);
        behind.len()
    }

    /// Recomputes every chain in list order, which decides the result if there are cycles.
    fn judge_all_chains(&mut self) -> Vec<Slot> {
        let order: Vec<Slot> = self.places.values().copied().collect();
        let mut positions = vec![usize::MAX; self.records.len()];
        order.iter().enumerate().for_each(|(position, slot)| positions[*slot as usize] = position);
        let mut above = Above::default();
        let members: Vec<Member> = order
            .iter()
            .map(|slot| {
                let record = &self.records[*slot as usize];
                Member {
                    is_open: record.is_open(),
                    is_visible: record.facts.as_ref().is_some_and(|facts| !facts.is_internal),
                    blockers: record.blocked_by().iter().map(|blocker| positions[*blocker as usize]).collect(),
                    parent: above.parent(self, *slot).map(|parent| positions[parent as usize]),
                }
            })
            .collect();
        let steps = Steps::of(&members, |position, other| above.is_below(self, order[position], order[other]));
        self.has_circle = steps.has_circle;
        for (slot, length) in order.iter().zip(&steps.lengths) {
            self.records[*slot as usize].chain = u32::try_from(*length).unwrap_or(u32::MAX);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use std::slice;

    use proptest::prelude::*;
    use serde_json::json;

    use super::super::LiveList;
    use crate::dialect::native;
    use crate::rules::claims::readiness::{SOON, rank};
    use crate::rules::graph::dependencies::OpenTasks;
    use crate::rules::looking::listing::count;
    use crate::{Rules, Status, Task, TaskId, Timestamp};

    /// One change of a list with a dozen tasks.
    #[derive(Clone, Debug)]
    enum Change {
        Put(Box<Task>),
        Remove(TaskId),
        /// Time passes by this many milliseconds, or is set back.
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
        // Some are due soon, others a week later.
        let due = prop::option::weighted(0.3, prop_oneof![0..100_i64, SOON..SOON + 100]);
        let times = (due, moment());
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

    #[test]
    fn parts_of_great_depth_are_judged_in_one_pass() {
        const DEPTH: u64 = 8_000;
        let mut live = LiveList::new(Rules::Strict);
        let put = |live: &mut LiveList, task: &Task| {
            live.put(&task.id, native::write(None, task, Rules::Strict).unwrap()).unwrap();
        };
        // Every level depends on the same task and on the deepest part.
        let (blocker, deepest) = (TaskId::number(DEPTH + 1), TaskId::number(DEPTH));
        put(&mut live, &Task::new(blocker.clone(), "blocker"));
        for number in 1..=DEPTH {
            let metadata = (number > 1).then(|| json!({ "parent": (number - 1).to_string() }));
            let metadata = metadata.and_then(|metadata| metadata.as_object().cloned());
            let blocked_by = if number < DEPTH { vec![blocker.clone(), deepest.clone()] } else { Vec::new() };
            put(&mut live, &Task { blocked_by, metadata, ..Task::new(TaskId::number(number), "part") });
        }
        live.judge(Timestamp(0));
        assert_eq!(live.ready().map(|task| task.id).collect::<Vec<_>>(), slice::from_ref(&blocker));
        assert_eq!(live.open_blockers(&deepest), slice::from_ref(&blocker));
        put(&mut live, &Task { status: Status::Completed, ..Task::new(blocker, "blocker") });
        live.judge(Timestamp(0));
        assert_eq!(live.ready().map(|task| task.id).collect::<Vec<_>>(), [deepest]);
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
