//! What must hold of a list at any time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;

use taskyard::Store;
use taskyard::core::rules::graph::dependencies::{Edge, find_cycle};
use taskyard::core::{Image, ListId, Op, Revision, Task, TaskId};
use taskyard::store::HistoryQuery;

use crate::images;

/// Panics unless every edge is known at both ends, leads to a task, and is in no circle.
pub(super) fn edges_are_in_order(tasks: &[Task]) {
    let there: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
    for task in tasks {
        for on in &task.blocked_by {
            let blocker = there.get(on).unwrap_or_else(|| panic!("{} waits for {on}, which is not there", task.id));
            assert!(blocker.blocks.contains(&task.id), "{} waits for {on}, which does not know it", task.id);
        }
        for waiting in &task.blocks {
            let dependent =
                there.get(waiting).unwrap_or_else(|| panic!("{} blocks {waiting}, which is not there", task.id));
            assert!(dependent.blocked_by.contains(&task.id), "{} blocks {waiting}, which does not know it", task.id);
        }
        for ids in [&task.blocked_by, &task.blocks] {
            let once: HashSet<&TaskId> = ids.iter().collect();
            assert_eq!(once.len(), ids.len(), "{} names a task twice", task.id);
        }
        let edges: Vec<Edge> = task.blocked_by.iter().map(|on| Edge::new(task.id.clone(), on.clone())).collect();
        let blockers =
            |id: &TaskId| Ok::<_, Infallible>(there.get(id).map(|task| task.blocked_by.clone()).unwrap_or_default());
        let Ok(circle) = find_cycle(&edges, blockers);
        assert_eq!(circle, None, "tasks wait for each other");
    }
}

/// A list as its journal tells it, played entry by entry.
pub(super) struct Replay {
    list: ListId,
    played: BTreeMap<TaskId, String>,
    last: Revision,
}

impl Replay {
    pub(super) fn of(list: &ListId) -> Self {
        Self { list: list.clone(), played: BTreeMap::new(), last: Revision(0) }
    }

    /// Plays what is new in the journal. Panics unless that gives the list as it is, to the letter, and revisions are counted
    /// without gaps.
    pub(super) fn comes_to_the_present(&mut self, store: &dyn Store) {
        let new = HistoryQuery { since: self.last, ..HistoryQuery::default() };
        for entry in store.history(&self.list, &new).unwrap() {
            let text = |image: &Image| String::from_utf8(image.bytes().to_vec()).unwrap();
            let before = self.played.remove(&entry.task);
            assert_eq!(entry.before.as_ref().map(text), before, "task {} before {}", entry.task, entry.revision);
            // What is said of a task that is not there changes only what the journal says of it.
            let is_noted = entry.after.is_none() && matches!(entry.op, Op::Delete | Op::Clear | Op::Undo);
            assert!(is_noted || entry.before != entry.after, "an entry that changes nothing");
            assert!(entry.revision == self.last || entry.revision == self.last.next(), "a gap in the revisions");
            self.last = entry.revision;
            self.played.extend(entry.after.as_ref().map(|image| (entry.task.clone(), text(image))));
        }
        let snapshot = store.read(&self.list).unwrap();
        assert_eq!(self.played, images(&*snapshot));
        assert_eq!(snapshot.revision(), self.last);
    }
}
