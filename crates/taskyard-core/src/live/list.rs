//! The tasks of a list and how they hang together.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::rank::Rank;
use super::record::{Facts, Key, Record, Slot};
use crate::dialect::native::Unreadable;
use crate::{Event, Image, Rules, Status, Task, TaskId, Timestamp};

/// A list in memory.
#[derive(Debug)]
pub struct LiveList {
    pub(super) rules: Rules,
    pub(super) records: Vec<Record>,
    pub(super) places: BTreeMap<Key, Slot>,
    free: Vec<Slot>,
    /// The open tasks that an agent has, by the owner's name as it is written.
    owned: HashMap<Box<str>, BTreeSet<Slot>>,
    length: usize,
    counts: [usize; 3],
    /// What can start, best first.
    pub(super) ready: BTreeSet<Rank>,
    /// The moments at which tasks are judged otherwise than before.
    pub(super) moments: BTreeSet<(Timestamp, Slot)>,
    /// The moment at which it was last judged.
    pub(super) now: Timestamp,
    /// What has to be judged again before a caller asks.
    pub(super) unjudged: Unjudged,
    /// Whether open tasks wait for each other in a circle.
    pub(super) has_circle: bool,
}

/// The tasks whose chain or readiness may have changed.
#[derive(Debug, Default)]
pub(super) struct Unjudged {
    pub(super) chains: HashSet<Slot>,
    pub(super) readiness: HashSet<Slot>,
    /// Whether all of them may have.
    pub(super) all: bool,
}

impl LiveList {
    /// Returns a list without tasks.
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

    /// Returns the rules by which its tasks are judged.
    pub const fn rules(&self) -> Rules {
        self.rules
    }

    /// Takes in a task as it is now. Where none can be read from the image it is as if it were not there, and the answer says why.
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

    /// Takes in a task that was read from an image already.
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

    /// Takes in a commit: what it left of each task it changed. What cannot be read any more is as if it were not there.
    ///
    /// A follower that takes in each commit of a list in order has what is in its files.
    pub fn apply(&mut self, commit: &Event) {
        for entry in &commit.entries {
            match &entry.after {
                Some(image) => drop(self.put(&entry.task, image.clone())),
                None => self.remove(&entry.task),
            }
        }
    }

    /// Forgets a task that is no longer there.
    pub fn remove(&mut self, id: &TaskId) {
        if let Some(slot) = self.places.get(&Key::of(id)).copied() {
            self.replace(slot, None);
            self.forget(slot);
        }
    }

    /// Returns a task.
    pub fn task(&self, id: &TaskId) -> Option<Task> {
        self.image(id)?.task(id).ok()
    }

    /// Returns what a task is read from.
    pub fn image(&self, id: &TaskId) -> Option<&Image> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].facts.as_ref().map(|facts| &facts.image)
    }

    /// Returns every task, by rising number and then by name.
    pub fn tasks(&self) -> Vec<Task> {
        let mut tasks = Vec::with_capacity(self.len());
        for (key, slot) in &self.places {
            if let Some(facts) = &self.records[*slot as usize].facts {
                tasks.extend(facts.image.task(&key.id()));
            }
        }
        tasks
    }

    /// Returns how many bytes the tasks take as they are kept, without what is known of how they hang together.
    pub fn size(&self) -> usize {
        self.records.iter().filter_map(|record| record.facts.as_ref()).map(|facts| facts.image.bytes().len()).sum()
    }

    /// Returns the id of every task, by rising number and then by name.
    pub fn ids(&self) -> impl Iterator<Item = TaskId> {
        let is_there = |slot: &&Slot| self.records[**slot as usize].facts.is_some();
        self.places.values().filter(is_there).map(|slot| self.id(*slot))
    }

    /// Returns how many tasks there are, internal ones included.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Tells whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns how many tasks are pending, in progress and completed, internal ones left out.
    pub const fn counts(&self) -> [usize; 3] {
        self.counts
    }

    /// Returns the tasks that wait for a task, by their own word, by rising number.
    pub fn waiting_for(&self, id: &TaskId) -> Vec<TaskId> {
        self.sorted(id, |record| &record.waiting)
    }

    /// Returns the tasks that say they are parts of a task, by rising number. Parts of each other are among them.
    pub fn parts_of(&self, id: &TaskId) -> Vec<TaskId> {
        self.sorted(id, |record| &record.parts)
    }

    /// Returns the tasks that a task says it waits for, whether or not they are there, each once.
    pub fn waits_for(&self, id: &TaskId) -> Vec<TaskId> {
        let Some(slot) = self.places.get(&Key::of(id)) else { return Vec::new() };
        self.records[*slot as usize].blocked_by().iter().map(|slot| self.id(*slot)).collect()
    }

    /// Returns the task that a task says it is a part of, whether or not that is there.
    pub fn parent(&self, id: &TaskId) -> Option<TaskId> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].parent().map(|parent| self.id(parent))
    }

    /// Tells whether a task is there.
    pub fn contains(&self, id: &TaskId) -> bool {
        self.image(id).is_some()
    }

    /// Returns the open tasks whose owner is meant, internal ones left out, by rising number.
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

    /// Puts other facts in the place of those that are known of a task, and notes what has to be judged again.
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
        // Last, for a blocker that no task names any more is let go.
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

    /// Lets a name go that is no task and that no task names any more.
    fn forget(&mut self, slot: Slot) {
        let record = &self.records[slot as usize];
        if record.is_forgotten() && self.places.get(&record.key) == Some(&slot) {
            self.unready(slot);
            let key = self.records[slot as usize].key.clone();
            self.places.remove(&key);
            self.free.push(slot);
        }
    }

    /// Notes whose chain and readiness a change of a task may change.
    fn note_unjudged(&mut self, slot: Slot, after: Option<&Facts>) {
        if self.unjudged.all {
            return;
        }
        let record = &self.records[slot as usize];
        let old_parent = record.parent();
        let new_parent = after.and_then(|facts| facts.parent);
        let is_moved = old_parent != new_parent || record.facts.is_some() != after.is_some();
        if is_moved && !record.parts.is_empty() {
            // A whole branch moves; circles of parts may come or go with it.
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
        // What holds up one that it is a part of holds it up, too.
        let mut lines = HashSet::new();
        let mut line: Vec<Slot> = old_parent.into_iter().chain(new_parent).collect();
        while let Some(at) = line.pop() {
            if lines.insert(at) {
                self.unjudged.chains.extend(self.records[at as usize].blocked_by());
                line.extend(self.parent_slot(at));
            }
        }
        // What a task waits for also holds up its parts, and theirs.
        let mut below = HashSet::new();
        while let Some(next) = changed.pop() {
            if below.insert(next) {
                changed.extend(&self.records[next as usize].parts);
            }
        }
        self.unjudged.readiness.extend(above);
        self.unjudged.readiness.extend(below);
    }

    /// Returns a status and who has the task, without reading the rest of it.
    pub fn standing(&self, id: &TaskId) -> Option<(Status, Option<&str>)> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].facts.as_ref().map(|facts| (facts.status, facts.owner.as_deref()))
    }
}
