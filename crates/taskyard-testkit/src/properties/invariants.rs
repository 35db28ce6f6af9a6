//! What must hold of a list at any time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;

use taskyard::Store;
use taskyard::core::rules::dependencies::{Edge, find_cycle};
use taskyard::core::{Image, ListId, Revision, Task, TaskId};
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

/// Panics unless the journal, played from the beginning, gives the list as it is, to the letter, and counts its revisions
/// without gaps.
pub(super) fn the_journal_replays_to_the_present(store: &dyn Store, list: &ListId) {
    let mut played: BTreeMap<TaskId, String> = BTreeMap::new();
    let mut last = Revision(0);
    for entry in store.history(list, &HistoryQuery::default()).unwrap() {
        let text = |image: &Image| String::from_utf8(image.bytes().to_vec()).unwrap();
        assert_eq!(
            entry.before.as_ref().map(text),
            played.remove(&entry.task),
            "task {} before {}",
            entry.task,
            entry.revision
        );
        assert_ne!(entry.before, entry.after, "an entry that changes nothing");
        assert!(entry.revision == last || entry.revision == last.next(), "{} after {last}", entry.revision);
        last = entry.revision;
        played.extend(entry.after.as_ref().map(|image| (entry.task.clone(), text(image))));
    }
    let snapshot = store.read(list).unwrap();
    assert_eq!(played, images(&*snapshot));
    assert_eq!(snapshot.revision(), last);
}
