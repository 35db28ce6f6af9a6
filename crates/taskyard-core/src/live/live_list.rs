//! The tasks of a list in memory, updated one task at a time.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::dialect::native::Unreadable;
use crate::rules::claims::claiming::{Candidate, Claimant, is_own_name, may_take, resumed_first};
use crate::rules::claims::readiness::{RankKey, SOON, assignees, why};
use crate::rules::graph::parts::Progress;
use crate::rules::refusal::ClaimRefusal;
use crate::{AgentName, Event, Image, Priority, Rules, Status, Task, TaskId, Timestamp};

/// A list in memory, with incrementally maintained readiness.
#[derive(Debug)]
pub struct LiveList {
    pub(super) rules: Rules,
    pub(super) records: Vec<Record>,
    pub(super) places: BTreeMap<Key, Slot>,
    free: Vec<Slot>,
    /// The open tasks that have an owner, by the owner's name as written in the task.
    owned: HashMap<Box<str>, BTreeSet<Slot>>,
    length: usize,
    counts: [usize; 3],
    /// The tasks that can start, best first.
    pub(super) ready: BTreeSet<Rank>,
    /// The moments at which the readiness or rank of a task changes.
    pub(super) moments: BTreeSet<(Timestamp, Slot)>,
    /// The moment of the last evaluation.
    pub(super) now: Timestamp,
    /// What must be evaluated again before the next query.
    pub(super) unjudged: Unjudged,
    /// Whether open tasks form a dependency cycle.
    pub(super) has_circle: bool,
}

/// The tasks whose chain or readiness may have changed.
#[derive(Debug, Default)]
pub(super) struct Unjudged {
    pub(super) chains: HashSet<Slot>,
    pub(super) readiness: HashSet<Slot>,
    /// Whether every task may have changed.
    pub(super) all: bool,
}

impl LiveList {
    /// Creates an empty list.
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            records: Vec::new(),
            places: BTreeMap::new(),
            free: Vec::new(),
            owned: HashMap::new(),
            length: 0,
            counts: [0; 3],
            ready: BTreeSet::new(),
            moments: BTreeSet::new(),
            now: Timestamp(i64::MIN),
            unjudged: Unjudged { all: true, ..Unjudged::default() },
            has_circle: false,
        }
    }

    /// Returns the rules by which tasks are evaluated.
    pub const fn rules(&self) -> Rules {
        self.rules
    }

    /// Inserts or replaces a task. If the image cannot be read, the task is removed and the error returned.
    pub fn put(&mut self, id: &TaskId, image: Image) -> Result<(), Unreadable> {
        match image.task(id) {
            Ok(task) => {
                self.put_read(&task, image);
                Ok(())
            }
            Err(why) => {
                self.remove(id);
                Err(why)
            }
        }
    }

    /// Inserts or replaces a task that has already been read from `image`.
    pub fn put_read(&mut self, task: &Task, image: Image) {
        let slot = self.slot(Key::of(&task.id));
        if self.records[slot as usize].facts.as_ref().is_some_and(|facts| facts.image == image) {
            return;
        }
        let mut blocked_by = Vec::with_capacity(task.blocked_by.len());
        for id in &task.blocked_by {
            let blocker = self.slot(Key::of(id));
            if !blocked_by.contains(&blocker) {
                blocked_by.push(blocker);
            }
        }
        let parent = if self.rules.is_client() { None } else { task.parent().map(|id| self.slot(Key::of(&id))) };
        self.replace(slot, Some(Facts::of(task, image, blocked_by, parent, self.rules)));
    }

    /// Applies a commit: each task it changed gets its new state. A task that can no longer be read is removed.
    ///
    /// A follower that applies every commit of a list in order has the contents of its files.
    pub fn apply(&mut self, commit: &Event) {
        for entry in &commit.entries {
            match &entry.after {
                Some(image) => drop(self.put(&entry.task, image.clone())),
                None => self.remove(&entry.task),
            }
        }
    }

    /// Removes a task.
    pub fn remove(&mut self, id: &TaskId) {
        if let Some(slot) = self.places.get(&Key::of(id)).copied() {
            self.replace(slot, None);
            self.forget(slot);
        }
    }

    /// Returns a task, or `None` if it does not exist.
    pub fn task(&self, id: &TaskId) -> Option<Task> {
        self.image(id)?.task(id).ok()
    }

    /// Returns the image a task is read from.
    pub fn image(&self, id: &TaskId) -> Option<&Image> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].facts.as_ref().map(|facts| &facts.image)
    }

    /// Returns all tasks, ordered by number and then by name.
    pub fn tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::with_capacity(self.len());
        for (key, slot) in &self.places {
            if let Some(facts) = &self.records[*slot as usize].facts {
                tasks.extend(facts.image.task(&key.id()));
            }
        }
        tasks
    }

    /// Returns the total size of the task images in bytes. The dependency index is not included.
    pub fn size(&self) -> usize {
        self.records.iter().filter_map(|record| record.facts.as_ref()).map(|facts| facts.image.bytes().len()).sum()
    }

    /// Returns the ids of all tasks, ordered by number and then by name.
    pub fn ids(&self) -> impl Iterator<Item = TaskId> {
        let is_there = |slot: &&Slot| self.records[**slot as usize].facts.is_some();
        self.places.values().filter(is_there).map(|slot| self.id(*slot))
    }

    /// Returns the number of tasks, including internal ones.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns whether the list has no tasks.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns the numbers of pending, in-progress and completed tasks, excluding internal ones.
    pub const fn counts(&self) -> [usize; 3] {
        self.counts
    }

    /// Returns the tasks whose own `blockedBy` names a task, in ascending order.
    pub fn waiting_for(&self, id: &TaskId) -> Vec<TaskId> {
        self.sorted(id, |record| &record.waiting)
    }

    /// Returns the tasks that name a task as their parent, in ascending order. This includes tasks that are parts of
    /// each other.
    pub fn parts_of(&self, id: &TaskId) -> Vec<TaskId> {
        self.sorted(id, |record| &record.parts)
    }

    /// Returns the blockers a task names, without duplicates, whether or not they exist.
    pub fn waits_for(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(slot) = self.places.get(&Key::of(id)) else { return Vec::new() };
        self.records[*slot as usize].blocked_by().iter().map(|slot| self.id(*slot)).collect()
    }

    /// Returns the parent a task names, whether or not it exists.
    pub fn parent(&self, id: &TaskId) -> Option<TaskId> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].parent().map(|parent| self.id(parent))
    }

    /// Returns whether a task exists.
    pub fn contains(&self, id: &TaskId) -> bool {
        self.image(id).is_some()
    }

    /// Returns the open tasks whose owner matches `is_meant`, excluding internal ones, in ascending order.
    pub fn held(&self, is_meant: impl Fn(&str) -> bool) -> Vec<TaskId> {
        let owned = self.owned.iter().filter(|(owner, _)| is_meant(owner)).flat_map(|(_, slots)| slots);
        let mut held: Vec<&Key> = owned
            .map(|slot| &self.records[*slot as usize])
            .filter(|record| record.is_open_and_visible())
            .map(|record| &record.key)
            .collect();
        held.sort();
        held.into_iter().map(Key::id).collect()
    }

    fn sorted(&self, id: &TaskId, neighbours: fn(&Record) -> &Vec<Slot>) -> Vec<TaskId> {
        let Some(slot) = self.places.get(&Key::of(id)) else { return Vec::new() };
        let mut keys: Vec<&Key> =
            neighbours(&self.records[*slot as usize]).iter().map(|slot| &self.records[*slot as usize].key).collect();
        keys.sort();
        keys.into_iter().map(Key::id).collect()
    }

    pub(super) fn id(&self, slot: Slot) -> TaskId {
        self.records[slot as usize].key.id()
    }

    fn slot(&mut self, key: Key) -> Slot {
        if let Some(slot) = self.places.get(&key) {
            return *slot;
        }
        let record = Record::named(key.clone());
        let slot = match self.free.pop() {
            Some(slot) => {
                self.records[slot as usize] = record;
                slot
            }
            None => {
                self.records.push(record);
                Slot::try_from(self.records.len() - 1).expect("a list has fewer tasks than there are numbers")
            }
        };
        self.places.insert(key, slot);
        slot
    }

    /// Replaces the facts of a task and records what must be evaluated again.
    fn replace(&mut self, slot: Slot, facts: Option<Facts>) {
        self.note_unjudged(slot, facts.as_ref());
        let before = std::mem::replace(&mut self.records[slot as usize].facts, facts);
        let after = self.records[slot as usize].facts.as_ref();
        for moment in before.iter().flat_map(Facts::moments) {
            self.moments.remove(&(moment, slot));
        }
        self.moments.extend(after.iter().flat_map(|facts| facts.moments()).map(|moment| (moment, slot)));
        let counted =
            |facts: Option<&Facts>| facts.filter(|facts| !facts.is_internal).map(|facts| facts.status as usize);
        let owner =
            |facts: Option<&Facts>| facts.filter(|facts| facts.status.is_open()).and_then(|facts| facts.owner.clone());
        let (old_owner, new_owner) = (owner(before.as_ref()), owner(after));
        self.length = self.length + usize::from(after.is_some()) - usize::from(before.is_some());
        if let Some(status) = counted(before.as_ref()) {
            self.counts[status] -= 1;
        }
        if let Some(status) = counted(after) {
            self.counts[status] += 1;
        }
        let new_blockers: Vec<Slot> = after.map(|facts| facts.blocked_by.to_vec()).unwrap_or_default();
        let new_parent = after.and_then(|facts| facts.parent);
        let (old_blockers, old_parent) = before.map(|facts| (facts.blocked_by, facts.parent)).unwrap_or_default();
        if old_owner != new_owner {
            self.change_owner(slot, old_owner, new_owner);
        }
        for blocker in new_blockers.iter().filter(|blocker| !old_blockers.contains(blocker)) {
            self.records[*blocker as usize].waiting.push(slot);
        }
        if let Some(parent) = new_parent.filter(|_| old_parent != new_parent) {
            self.records[parent as usize].parts.push(slot);
        }
        // This comes last because it frees the record of a blocker that no task names any more.
        for blocker in old_blockers.iter().filter(|blocker| !new_blockers.contains(blocker)) {
            self.records[*blocker as usize].waiting.retain(|other| *other != slot);
            self.forget(*blocker);
        }
        if let Some(parent) = old_parent.filter(|_| old_parent != new_parent) {
            self.records[parent as usize].parts.retain(|other| *other != slot);
            self.forget(parent);
        }
    }

    fn change_owner(&mut self, slot: Slot, old: Option<Box<str>>, new: Option<Box<str>>) {
        if let Some(owner) = old
            && let Some(slots) = self.owned.get_mut(&owner)
        {
            slots.remove(&slot);
            if slots.is_empty() {
                self.owned.remove(&owner);
            }
        }
        if let Some(owner) = new {
            self.owned.entry(owner).or_default().insert(slot);
        }
    }

    /// Frees the record of a name that is not a task and that no task names any more.
    fn forget(&mut self, slot: Slot) {
        let record = &self.records[slot as usize];
        if record.is_forgotten() && self.places.get(&record.key) == Some(&slot) {
            self.unready(slot);
            let key = self.records[slot as usize].key.clone();
            self.places.remove(&key);
            self.free.push(slot);
        }
    }

    /// Records the tasks whose chain or readiness may change if a task changes to `after`.
    fn note_unjudged(&mut self, slot: Slot, after: Option<&Facts>) {
        if self.unjudged.all {
            return;
        }
        let record = &self.records[slot as usize];
        let old_parent = record.parent();
        let new_parent = after.and_then(|facts| facts.parent);
        let is_moved = old_parent != new_parent || record.facts.is_some() != after.is_some();
        if is_moved && !record.parts.is_empty() {
            // A whole branch moves, which may create or break cycles of parts.
            self.unjudged.all = true;
            return;
        }
        let mut changed = vec![slot];
        changed.extend(&record.waiting);
        let mut above: Vec<Slot> = old_parent.into_iter().chain(new_parent).collect();
        above.extend(record.blocked_by().iter().chain(after.map(|facts| &*facts.blocked_by).unwrap_or_default()));
        self.unjudged.chains.insert(slot);
        self.unjudged.chains.extend(&above);
        self.unjudged.chains.extend(&self.records[slot as usize].parts);
        // The blockers of an ancestor also block the task.
        let mut lines = HashSet::new();
        let mut line: Vec<Slot> = old_parent.into_iter().chain(new_parent).collect();
        while let Some(at) = line.pop() {
            if lines.insert(at) {
                self.unjudged.chains.extend(self.records[at as usize].blocked_by());
                line.extend(self.parent_slot(at));
            }
        }
        // The blockers of a task also block its parts, recursively.
        let mut below = HashSet::new();
        while let Some(next) = changed.pop() {
            if below.insert(next) {
                changed.extend(&self.records[next as usize].parts);
            }
        }
        self.unjudged.readiness.extend(above);
        self.unjudged.readiness.extend(below);
    }

    /// Returns the status and owner of a task without parsing the task.
    pub fn standing(&self, id: &TaskId) -> Option<(Status, Option<&str>)> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].facts.as_ref().map(|facts| (facts.status, facts.owner.as_deref()))
    }
}

/// The index of a task's record.
pub(crate) type Slot = u32;

/// The sort key of a task: numbers ascending, then names by their bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    Number(u64),
    Name(Box<str>),
}

impl Key {
    pub(super) fn of(id: &TaskId) -> Self {
        id.as_number().map_or_else(|| Self::Name(id.as_str().into()), Self::Number)
    }

    pub(super) fn id(&self) -> TaskId {
        match self {
            Self::Number(number) => TaskId::number(*number),
            Self::Name(name) => TaskId::stored(&**name),
        }
    }
}

/// A task, or only its name if other tasks refer to it and it does not exist.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) key: Key,
    pub(super) facts: Option<Facts>,
    /// The tasks whose own `blockedBy` names this one, without duplicates.
    pub(super) waiting: Vec<Slot>,
    /// The tasks that name this one as their parent.
    pub(super) parts: Vec<Slot>,
    /// The number of open tasks in the longest chain behind it.
    pub(super) chain: u32,
    /// Its rank among the tasks that can start; `None` if it cannot start.
    pub(super) ranked: Option<RankKey>,
}

/// The properties of a task that determine its readiness and rank.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) image: Image,
    pub(super) status: Status,
    pub(super) priority: Priority,
    pub(super) is_internal: bool,
    /// Whether it is restricted to certain agents or roles.
    pub(super) is_for_some: bool,
    pub(super) owner: Option<Box<str>>,
    /// The due date and the moment to which it is deferred; both `None` under the client's rules.
    pub(super) due: Option<Timestamp>,
    pub(super) defer: Option<Timestamp>,
    /// The blockers of this task, without duplicates.
    pub(super) blocked_by: Box<[Slot]>,
    pub(super) parent: Option<Slot>,
}

impl Record {
    /// Creates the record of a task that is only referred to so far.
    pub(super) fn named(key: Key) -> Self {
        Self { key, facts: None, waiting: Vec::new(), parts: Vec::new(), chain: 0, ranked: None }
    }

    /// Returns whether it is not a task and no task refers to it.
    pub(super) fn is_forgotten(&self) -> bool {
        self.facts.is_none() && self.waiting.is_empty() && self.parts.is_empty()
    }

    pub(super) fn is_open(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.status.is_open())
    }

    /// Returns whether it counts in a chain.
    pub(super) fn is_open_and_visible(&self) -> bool {
        self.facts.as_ref().is_some_and(|facts| facts.status.is_open() && !facts.is_internal)
    }

    pub(super) fn blocked_by(&self) -> &[Slot] {
        self.facts.as_ref().map(|facts| &*facts.blocked_by).unwrap_or_default()
    }

    pub(super) fn parent(&self) -> Option<Slot> {
        self.facts.as_ref()?.parent
    }
}

impl Facts {
    /// Returns the moments at which its readiness or rank changes: when its deferral ends and when it becomes due
    /// soon.
    pub(super) fn moments(&self) -> impl Iterator<Item = Timestamp> {
        self.defer.into_iter().chain(self.due.map(|due| Timestamp(due.0.saturating_sub(SOON))))
    }

    /// Extracts the facts from a task whose blockers and parent are in the given slots.
    pub(super) fn of(task: &Task, image: Image, blocked_by: Vec<Slot>, parent: Option<Slot>, rules: Rules) -> Self {
        let times = !rules.is_client() && task.status.is_open();
        Self {
            image,
            status: task.status,
            priority: task.priority(),
            is_internal: task.is_internal(),
            is_for_some: !assignees(task).is_empty(),
            owner: task.owner().map(Into::into),
            due: times.then(|| task.due()).flatten(),
            defer: times.then(|| task.defer()).flatten(),
            blocked_by: blocked_by.into_boxed_slice(),
            parent,
        }
    }
}

/// The position of a task among those that can start.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    by: RankKey,
    pub(super) key: Key,
}

impl Rank {
    pub(super) fn of(by: RankKey, key: Key) -> Self {
        Self { by, key }
    }
}

/// The properties that decide where a task is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) status: Status,
    pub(crate) is_internal: bool,
    /// Whether it names a parent.
    pub(crate) is_part: bool,
}

impl LiveList {
    /// Returns every existing task, ordered by number and then by name.
    pub(crate) fn outlines(&self) -> impl Iterator<Item = (Slot, Outline)> {
        self.places.values().filter_map(|slot| {
            let facts = self.records[*slot as usize].facts.as_ref()?;
            let outline =
                Outline { status: facts.status, is_internal: facts.is_internal, is_part: facts.parent.is_some() };
            Some((*slot, outline))
        })
    }

    /// Returns an upper bound for slots: one more than the largest.
    pub(crate) fn slots(&self) -> usize {
        self.records.len()
    }

    /// Returns the slot of an existing task.
    pub(crate) fn slot_of(&self, id: &TaskId) -> Option<Slot> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].facts.is_some().then_some(slot)
    }

    pub(crate) fn id_at(&self, slot: Slot) -> TaskId {
        self.id(slot)
    }

    /// Parses the task in a slot.
    pub(crate) fn task_at(&self, slot: Slot) -> Option<Task> {
        self.records[slot as usize].facts.as_ref()?.image.task(&self.id(slot)).ok()
    }

    /// Returns the parent of the task in a slot; `None` if the parent does not exist or the two are parts of each
    /// other.
    pub(crate) fn above(&self, slot: Slot) -> Option<Slot> {
        self.above_slot(slot)
    }

    /// Returns whether an open task has blockers.
    pub(crate) fn is_held_up(&self, slot: Slot) -> bool {
        self.blockers(slot).next().is_some()
    }

    /// Returns whether a task was ready at the last evaluation.
    pub(crate) fn is_ready(&self, id: &TaskId) -> bool {
        self.slot_of(id).is_some_and(|slot| self.records[slot as usize].ranked.is_some())
    }

    /// Returns the progress of the parts of a task, excluding internal ones; `None` if it has no parts.
    pub fn progress(&self, id: &TaskId) -> Option<Progress> {
        self.progress_at(self.slot_of(id)?)
    }

    /// Like [`Self::progress`], for the task in a slot.
    pub(crate) fn progress_at(&self, slot: Slot) -> Option<Progress> {
        let mut progress = Progress::default();
        for part in &self.records[slot as usize].parts {
            let Some(facts) = &self.records[*part as usize].facts else { continue };
            if !facts.is_internal && self.above(*part) == Some(slot) {
                progress.total += 1;
                progress.done += usize::from(!facts.status.is_open());
            }
        }
        (progress.total > 0).then_some(progress)
    }
}

impl LiveList {
    /// Returns the tasks in progress that have no owner.
    pub fn unowned_in_progress(&self) -> Vec<Task> {
        let begun = self.outlines().filter(|(_, outline)| outline.status == Status::InProgress && !outline.is_internal);
        begun.filter_map(|(slot, _)| self.task_at(slot)).filter(|task| task.owner().is_none()).collect()
    }

    /// Returns the open tasks of an agent, excluding internal ones, in ascending order.
    pub fn tasks_of(&self, agent: &AgentName, rules: Rules) -> Vec<Task> {
        let held = self.held(|owner| is_own_name(owner, agent, rules));
        held.iter().filter_map(|id| self.task(id)).collect()
    }

    /// Returns at most `most` tasks that a claimant could take next, best first: tasks it has begun, tasks reserved
    /// for it, then ready ones. The result equals that of [`crate::rules::claims::claiming::candidates`], without
    /// examining the rest of the list.
    pub fn candidates(
        &self,
        claimant: &Claimant,
        is_passed_over: impl Fn(&Task) -> bool,
        most: usize,
        rules: Rules,
    ) -> Result<Vec<Candidate>, ClaimRefusal> {
        let is_resumed = |task: &Task| {
            claimant.resumes.covers(&task.id)
                && !is_passed_over(task)
                && self.open_blockers(&task.id).is_empty()
                // An agent whose task has open parts continues with the parts.
                && self.open_parts(&task.id).is_empty()
        };
        let own: Vec<Task> = self.tasks_of(&claimant.agent, rules).into_iter().filter(is_resumed).collect();
        let mut candidates = resumed_first(own.iter().collect());
        let mut for_others = 0;
        for ready in self.ready() {
            if candidates.len() >= most {
                break;
            }
            let Some(task) = self.task(&ready.id) else { continue };
            if ready.is_for_some && !may_take(&task, &claimant.agent, &claimant.roles) {
                for_others += 1;
            } else if !is_passed_over(&task) {
                let why = why(&task, ready.chain, ready.unblocks, self.now);
                candidates.push(Candidate { task: ready.id, why, is_resumed: false });
            }
        }
        if candidates.is_empty() {
            let may_take = |task: &Task| may_take(task, &claimant.agent, &claimant.roles);
            let next_at = self.next_start(|task| may_take(task) && !is_passed_over(task));
            return Err(ClaimRefusal::NothingReady { for_others, next_at });
        }
        Ok(candidates)
    }
}
