//! Looking at a list in memory place by place, for a view that arranges all of it: it reads no task for that.
//!
//! A slot names a task until the list changes next.

use super::list::LiveList;
use super::record::{Key, Slot};
use crate::rules::graph::parts::Progress;
use crate::{Status, Task, TaskId};

/// What decides where a task is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) status: Status,
    pub(crate) is_internal: bool,
    /// Whether it says that it is a part of another.
    pub(crate) is_part: bool,
}

impl LiveList {
    /// Returns every task that is there, by rising number and then by name.
    pub(crate) fn outlines(&self) -> impl Iterator<Item = (Slot, Outline)> {
        self.places.values().filter_map(|slot| {
            let facts = self.records[*slot as usize].facts.as_ref()?;
            let outline =
                Outline { status: facts.status, is_internal: facts.is_internal, is_part: facts.parent.is_some() };
            Some((*slot, outline))
        })
    }

    /// Returns one more than the greatest slot.
    pub(crate) fn slots(&self) -> usize {
        self.records.len()
    }

    /// Returns the slot of a task that is there.
    pub(crate) fn slot_of(&self, id: &TaskId) -> Option<Slot> {
        let slot = *self.places.get(&Key::of(id))?;
        self.records[slot as usize].facts.is_some().then_some(slot)
    }

    /// Returns the id of the task in a slot.
    pub(crate) fn id_at(&self, slot: Slot) -> TaskId {
        self.id(slot)
    }

    /// Reads the task in a slot.
    pub(crate) fn task_at(&self, slot: Slot) -> Option<Task> {
        self.records[slot as usize].facts.as_ref()?.image.task(&self.id(slot)).ok()
    }

    /// Returns the task that the one in a slot is a part of; none where that is not there, or they are parts of each other.
    pub(crate) fn above(&self, slot: Slot) -> Option<Slot> {
        self.above_slot(slot)
    }

    /// Tells whether an open task waits for others.
    pub(crate) fn is_held_up(&self, slot: Slot) -> bool {
        self.blockers(slot).next().is_some()
    }

    /// Tells whether a task can start, as it was last judged.
    pub(crate) fn is_ready(&self, id: &TaskId) -> bool {
        self.slot_of(id).is_some_and(|slot| self.records[slot as usize].ranked.is_some())
    }

    /// Returns how far the parts of a task are, internal ones left out; none where it has none.
    pub fn progress(&self, id: &TaskId) -> Option<Progress> {
        self.progress_at(self.slot_of(id)?)
    }

    /// Returns how far the parts of a task are, internal ones left out; none where it has none.
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
