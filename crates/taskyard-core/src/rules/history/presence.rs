//! Whether a task is there, entry by entry of its journal, and where it is not, why.

use super::removed::Absence;
use crate::{Entry, Op, Revision};

/// What one entry says of whether a task is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The revision.
    pub revision: Revision,
    /// The verb.
    pub op: Op,
    /// The revisions that an undo took back.
    pub undoes: Vec<Revision>,
    /// Whether something stood there before.
    pub was_there: bool,
    /// Whether that was a task.
    pub was_task: bool,
    /// Whether something stands there afterwards.
    pub is_there: bool,
}

impl Step {
    /// Returns the same step without what stood there before and afterwards.
    #[must_use]
    pub(crate) fn without_images(&self) -> Self {
        Self { was_there: false, was_task: false, is_there: false, ..self.clone() }
    }
}

impl From<&Entry> for Step {
    fn from(entry: &Entry) -> Self {
        Self {
            revision: entry.revision,
            op: entry.op,
            undoes: entry.undoes.clone(),
            was_there: entry.before.is_some(),
            // Only a mending asks.
            was_task: entry.op == Op::Mend
                && entry.before.as_ref().is_some_and(|image| image.task(&entry.task).is_ok()),
            is_there: entry.after.is_some(),
        }
    }
}

/// Returns why a task is not there after each entry of its journal, oldest first; none stands for being there.
pub fn absences(past: &[Step]) -> Vec<Option<Absence>> {
    let mut now = match past.first() {
        Some(first) if first.was_there => None,
        _ => Some(Absence::Unmade),
    };
    let mut before_each: Vec<(Revision, Option<Absence>)> = Vec::with_capacity(past.len());
    let mut after_each = Vec::with_capacity(past.len());
    for step in past {
        before_each.push((step.revision, now));
        now = match step.op {
            _ if step.is_there => None,
            Op::Delete | Op::Clear => Some(Absence::Deleted),
            Op::Merge | Op::Rename => Some(Absence::Moved),
            // A mending takes away what is no task, and the number of a task that gets another.
            Op::Mend if step.was_task => Some(Absence::Renumbered),
            Op::Undo => Some(after_undo(step, &before_each, now)),
            _ => Some(Absence::Missing),
        };
        after_each.push(now);
    }
    after_each
}

/// Tells why a task is not there after an undo: for what it was before the oldest revision that was taken back. Where those revisions
/// changed nothing about that, neither does the undo: an agent may have deleted the task on purpose since.
fn after_undo(undo: &Step, before_each: &[(Revision, Option<Absence>)], now: Option<Absence>) -> Absence {
    let is_undone = |(revision, _): &(Revision, Option<Absence>)| undo.undoes.contains(revision);
    let oldest = before_each.iter().find(|before| is_undone(before)).and_then(|(_, absence)| *absence);
    // The undo itself stands last, so something follows every revision that it took back.
    let newest = before_each.iter().rposition(is_undone).and_then(|place| before_each.get(place + 1)?.1);
    let absence = if oldest == newest { now } else { oldest };
    absence.unwrap_or(Absence::Missing)
}
