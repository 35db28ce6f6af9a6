//! Which losses still stand, and putting them back.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::fields::{Fields, differing, fields, give};
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
}

/// What other programs took back and no process of ours has put back yet, as one reads the journal. What a writer of ours has written since
/// counts, and so does what another program wrote in its place.
#[derive(Clone, Debug, Default)]
pub struct OpenLosses(BTreeMap<TaskId, BTreeMap<TaskField, (Entry, Loss)>>);

impl OpenLosses {
    /// Takes the next entry of the journal, oldest first.
    pub fn add(&mut self, entry: &Entry) {
        if !entry.op.is_elsewhere()
            && let Some(lost) = self.0.get_mut(&entry.task)
        {
            match (read(entry, entry.before.as_ref()), read(entry, entry.after.as_ref())) {
                (Some(before), Some(after)) => {
                    let written = differing(&before, &after);
                    lost.retain(|field, _| *field != TaskField::Deletion && written.binary_search(field).is_err());
                }
                _ => lost.clear(),
            }
            if lost.is_empty() {
                self.0.remove(&entry.task);
            }
        }
        for loss in &entry.remark.taken_back {
            if loss.verdict.is_accident() {
                let lost = self.0.entry(entry.task.clone()).or_default();
                lost.insert(loss.field.clone(), (entry.clone(), loss.clone()));
            } else if let Some(lost) = self.0.get_mut(&entry.task) {
                lost.remove(&loss.field);
            }
        }
    }

    /// Returns what is still lost, by task and then by when it was, given the tasks that are there.
    pub fn standing(&self, present: &HashMap<&TaskId, &Task>) -> Vec<StillLost> {
        let mut still = Vec::new();
        for (task, lost) in &self.0 {
            let Some(now) = present.get(task).map(|task| fields(task)) else { continue };
            let mut by_entry: BTreeMap<_, (&Entry, Vec<Loss>)> = BTreeMap::new();
            for (entry, loss) in lost.values() {
                by_entry.entry(entry.revision).or_insert((entry, Vec::new())).1.push(loss.clone());
            }
            for (entry, losses) in by_entry.into_values() {
                let Some(stale) = read(entry, entry.after.as_ref()) else { continue };
                let losses: Vec<Loss> = losses.into_iter().filter(|loss| stands(loss, &now, &stale)).collect();
                if !losses.is_empty() {
                    still.push(StillLost { task: task.clone(), entry: entry.clone(), losses });
                }
            }
        }
        still
    }
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
