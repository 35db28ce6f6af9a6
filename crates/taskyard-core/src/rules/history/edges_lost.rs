//! Which edges went because the task at their other end was not there.

use std::collections::HashMap;

use super::removed::{Absence, Removed};
use crate::rules::graph::dependencies::Edge;
use crate::{Entry, Op, Revision, TaskId};

/// The edges that other tasks lost because these were not there. The tasks themselves may never have known of them: another program may
/// have written an edge at one end only.
#[derive(Clone, Debug)]
pub struct EdgesLost {
    /// Since when each of the tasks is not there.
    since: HashMap<TaskId, Revision>,
    lost: Vec<Edge>,
}

impl EdgesLost {
    /// The verbs of the entries that are looked at: what an update took away an agent meant to take away, and agents that work on a task
    /// leave its edges alone.
    pub const OPS: [Op; 12] = [
        Op::Delete,
        Op::Clear,
        Op::Undo,
        Op::Restore,
        Op::Merge,
        Op::Import,
        Op::Mend,
        Op::PutBack,
        Op::CreatedElsewhere,
        Op::ChangedElsewhere,
        Op::RemovedElsewhere,
        Op::DeletedElsewhere,
    ];

    /// Begins to look for the edges of tasks that are not there.
    pub fn of(removed: &[Removed]) -> Self {
        // What others know by the number of a task that was replaced may be meant for the one that has it now.
        let absent = removed.iter().filter(|removed| removed.absence != Absence::Replaced);
        Self { since: absent.map(|removed| (removed.task.id.clone(), removed.since)).collect(), lost: Vec::new() }
    }

    /// Returns the first revision that may tell of such an edge; none where no task can have lost one.
    pub fn first(&self) -> Option<Revision> {
        self.since.values().min().copied()
    }

    /// Takes the next entry of the journal, oldest first.
    pub fn add(&mut self, entry: &Entry) {
        if self.first().is_none_or(|first| entry.revision < first) || !Self::OPS.contains(&entry.op) {
            return;
        }
        let (Some(before), Some(after)) = (entry.before.as_ref(), entry.after.as_ref()) else { return };
        let (Ok(before), Ok(after)) = (before.task(&entry.task), after.task(&entry.task)) else { return };
        let was_absent = |id: &&TaskId| self.since.get(*id).is_some_and(|since| entry.revision >= *since);
        let waited = before.blocked_by.iter().filter(was_absent).filter(|on| !after.blocked_by.contains(on));
        let waited = waited.map(|on| Edge::new(entry.task.clone(), on.clone()));
        let blocked = before.blocks.iter().filter(was_absent).filter(|waiting| !after.blocks.contains(waiting));
        let blocked = blocked.map(|waiting| Edge::new(waiting.clone(), entry.task.clone()));
        let lost: Vec<Edge> = waited.chain(blocked).collect();
        self.lost.extend(lost);
    }

    /// Returns the edges that were found.
    pub fn into_edges(self) -> Vec<Edge> {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::EdgesLost;
    use crate::dialect::native;
    use crate::rules::graph::dependencies::Edge;
    use crate::rules::history::restoring::removed;
    use crate::rules::samples::{entry, image};
    use crate::{Entry, Op, Rules, Task, TaskId};

    #[test]
    fn an_edge_that_only_the_other_end_knew_of_is_found_in_the_journal() {
        let waiting = |blocked_by: &[u64]| {
            let blocked_by = blocked_by.iter().copied().map(TaskId::number).collect();
            let task = Task { blocked_by, ..Task::new(TaskId::number(5), "waits") };
            native::write(None, &task, Rules::Strict).ok()
        };
        let dropped = |op, revision| Entry { op, ..entry(revision, 5, waiting(&[4]), waiting(&[])) };
        let journal = |dropped| [entry(1, 4, None, image(4, "x")), entry(3, 4, image(4, "x"), None), dropped];
        let edge = Edge::new(TaskId::number(5), TaskId::number(4));
        for (op, revision, expected) in [
            (Op::ChangedElsewhere, 3, vec![edge.clone()]),
            (Op::ChangedElsewhere, 4, vec![edge.clone()]),
            (Op::Mend, 4, vec![edge]),
            (Op::ChangedElsewhere, 2, vec![]),
            (Op::Update, 4, vec![]),
        ] {
            let journal = journal(dropped(op, revision));
            let found = removed(&journal, &HashSet::from([TaskId::number(5)]));
            let mut lost = EdgesLost::of(&found);
            journal.iter().for_each(|entry| lost.add(entry));
            assert_eq!(lost.into_edges(), expected, "{op} {revision}");
        }
    }
}
