//! Which losses still stand, and putting them back.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::evidence::is_evident;
use super::fields::{Fields, differing, fields, give};
use crate::rules::history::replacing::replaces;
use crate::{Entry, Image, Loss, Task, TaskField, TaskId};

/// What another program took back without knowing and no process of ours has put back since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StillLost {
    /// The task.
    pub task: TaskId,
    /// The entry of the write that took it back; what was lost is in what it found.
    pub entry: Entry,
    /// The losses that stand.
    pub losses: Vec<Loss>,
    /// The task as it was last recorded.
    pub last: Task,
    /// The metadata that it was made with, if that is known.
    made: Option<Fields>,
}

impl StillLost {
    /// Tells whether a task is evidently the one that lost something.
    pub fn is_of(&self, now: &Task) -> bool {
        is_still(now, &self.last, &[&self.entry], self.made.as_ref())
    }
}

/// What other programs took back and no process of ours has put back yet, as one reads the journal. What a writer of ours has written since
/// counts, and so does what another program wrote in its place.
#[derive(Clone, Debug, Default)]
pub struct OpenLosses {
    open: BTreeMap<TaskId, OfTask>,
    /// The metadata that each task was made with: what it got since shows that it is the same task.
    made: HashMap<TaskId, Fields>,
}

/// What is lost of one task.
#[derive(Clone, Debug)]
struct OfTask {
    lost: BTreeMap<TaskField, (Entry, Loss)>,
    /// The task as it was last recorded.
    last: Task,
}

impl OpenLosses {
    /// Takes the next entry of the journal, oldest first.
    pub fn add(&mut self, entry: &Entry) {
        let after = entry.after.as_ref().and_then(|image| image.task(&entry.task).ok());
        if let Some(after) = after.as_ref().filter(|_| entry.before.is_none()) {
            let mut made = fields(after);
            made.retain(|field, _| matches!(field, TaskField::Metadata(_)));
            self.made.insert(entry.task.clone(), made);
        }
        if let Some(open) = self.open.get_mut(&entry.task) {
            let made = self.made.get(&entry.task);
            match (&entry.before, &entry.after) {
                (Some(_), Some(_)) if entry.op.is_elsewhere() => {
                    if replaces(entry) || !after.as_ref().is_none_or(|after| open.is_of(after, made)) {
                        open.lost.clear();
                    }
                }
                (Some(before), Some(_)) => match (read(entry, Some(before)), &after) {
                    (Some(before), Some(after)) => {
                        let written = differing(&before, &fields(after));
                        open.lost
                            .retain(|field, _| *field != TaskField::Deletion && written.binary_search(field).is_err());
                    }
                    _ => open.lost.clear(),
                },
                // What is there now is another task, or none.
                _ => open.lost.clear(),
            }
            open.last = after.clone().unwrap_or_else(|| open.last.clone());
            if open.lost.is_empty() {
                self.open.remove(&entry.task);
            }
        }
        let Some(after) = after else { return };
        for loss in &entry.remark.taken_back {
            if loss.verdict.is_accident() {
                let new = || OfTask { lost: BTreeMap::new(), last: after.clone() };
                let open = self.open.entry(entry.task.clone()).or_insert_with(new);
                open.lost.insert(loss.field.clone(), (entry.clone(), loss.clone()));
            } else if let Some(open) = self.open.get_mut(&entry.task) {
                open.lost.remove(&loss.field);
            }
        }
    }

    /// Returns what is still lost, by task and then by when it was, given the tasks that are there.
    pub fn standing(&self, present: &HashMap<&TaskId, &Task>) -> Vec<StillLost> {
        let mut still = Vec::new();
        for (task, open) in &self.open {
            let Some(present) = present.get(task) else { continue };
            let now = fields(present);
            let mut by_entry: BTreeMap<_, (&Entry, Vec<Loss>)> = BTreeMap::new();
            for (entry, loss) in open.lost.values() {
                by_entry.entry(entry.revision).or_insert((entry, Vec::new())).1.push(loss.clone());
            }
            for (entry, losses) in by_entry.into_values() {
                let Some(stale) = read(entry, entry.after.as_ref()) else { continue };
                let losses: Vec<Loss> = losses.into_iter().filter(|loss| stands(loss, &now, &stale)).collect();
                let (last, made) = (open.last.clone(), self.made.get(task).cloned());
                let lost = StillLost { task: task.clone(), entry: entry.clone(), losses, last, made };
                if !lost.losses.is_empty() && lost.is_of(present) {
                    still.push(lost);
                }
            }
        }
        still
    }
}

impl OfTask {
    fn is_of(&self, now: &Task, made: Option<&Fields>) -> bool {
        let mut entries: Vec<&Entry> = self.lost.values().map(|(entry, _)| entry).collect();
        entries.sort_unstable_by_key(|entry| std::cmp::Reverse(entry.revision));
        entries.dedup_by_key(|entry| entry.revision);
        is_still(now, &self.last, &entries, made)
    }
}

/// Tells whether a task is evidently the same as when it was last recorded, or when these writes took something back, newest first.
fn is_still(now: &Task, last: &Task, writes: &[&Entry], made: Option<&Fields>) -> bool {
    let images = writes.iter().flat_map(|entry| [&entry.after, &entry.before]).flatten();
    let states = images.filter_map(|image| image.task(&last.id).ok()).map(|task| fields(&task));
    let recorded: Vec<Fields> = std::iter::once(fields(last)).chain(states).chain(made.cloned()).collect();
    is_evident(&fields(now), &recorded, &HashSet::new())
}

/// A value that a write took away, and what stands in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct LostValue {
    /// What was lost.
    pub loss: Loss,
    /// The value that was lost; none where nothing was there.
    pub lost: Option<Value>,
    /// The value that the write put there; none where nothing is there.
    pub now: Option<Value>,
}

/// Returns losses by the write that an entry tells of, each with both values.
pub fn lost_values(entry: &Entry, losses: &[Loss]) -> Vec<LostValue> {
    if losses.is_empty() {
        return Vec::new();
    }
    let (before, after) = (read(entry, entry.before.as_ref()), read(entry, entry.after.as_ref()));
    let value = |fields: &Option<Fields>, field: &TaskField| fields.as_ref()?.get(field).cloned();
    let of = |loss: &Loss| {
        let (lost, now) = (value(&before, &loss.field), value(&after, &loss.field));
        LostValue { loss: loss.clone(), lost, now }
    };
    losses.iter().map(of).collect()
}

/// Tells whether a task still says what the write made of a lost value, given what that write left.
pub fn is_still_taken(loss: &Loss, now: &Task, left: &Task) -> bool {
    stands(loss, &fields(now), &fields(left))
}

/// Returns the task with lost values put back, as far as it still says what the write left there; none where there is nothing to put
/// back. `found` is what the write found, and `left` what it left.
pub fn put_back(now: &Task, losses: &[Loss], found: &Task, left: &Task) -> Option<Task> {
    let (present, left) = (fields(now), fields(left));
    let standing = losses.iter().filter(|loss| stands(loss, &present, &left)).map(|loss| &loss.field);
    let mut task = now.clone();
    give(&mut task, standing, found);
    (task != *now).then_some(task)
}

fn stands(loss: &Loss, now: &Fields, left: &Fields) -> bool {
    loss.field == TaskField::Deletion || now.get(&loss.field) == left.get(&loss.field)
}

fn read(entry: &Entry, image: Option<&Image>) -> Option<Fields> {
    Some(fields(&image?.task(&entry.task).ok()?))
}
