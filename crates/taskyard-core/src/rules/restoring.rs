//! Which tasks that the journal knows are not there, whether anybody meant that, and what brings them back.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::dependencies::Edge;
use super::replacing::replaced;
use crate::{Entry, Image, Op, Revision, Task, TaskId, Timestamp};

/// Why a task that the journal knows is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Absence {
    /// Another program removed it, or an undo took away what a restore had brought back. Nobody deleted it on purpose.
    Missing,
    /// Somebody deleted it or cleared the list with Taskyard.
    Deleted,
    /// It moved to another list.
    Moved,
    /// It got another number.
    Renumbered,
    /// It was not there yet: its making was taken back.
    Unmade,
    /// Another program put a different task under its number.
    Replaced,
}

/// A task that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The task as it last was.
    pub task: Task,
    /// The exact form it had.
    pub image: Image,
    /// Why it is not there.
    pub absence: Absence,
    /// The entry by which it went. Where nobody has noticed that yet, the last one it was there in.
    pub entry: Entry,
    /// The first revision that has it no more.
    pub since: Revision,
    /// When it was last known to be there.
    pub last_seen: Timestamp,
}

impl Removed {
    /// Tells whether nobody meant the task to go, and its number is free.
    pub fn is_missing(&self) -> bool {
        self.absence == Absence::Missing
    }

    /// Tells whether another task has its number.
    pub fn is_replaced(&self) -> bool {
        self.absence == Absence::Replaced
    }
}

/// Returns the tasks that the journal knows and the list no longer holds, by number, given the journal, oldest entry first,
/// and the names that are taken. What never was a task is left out. A task in whose place another program put a different one is
/// among them, though its name is taken.
pub fn removed(entries: &[Entry], taken: &HashSet<TaskId>) -> Vec<Removed> {
    let mut pasts: BTreeMap<&TaskId, Vec<&Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !taken.contains(&entry.task)) {
        pasts.entry(&entry.task).or_default().push(entry);
    }
    let mut removed: Vec<Removed> = pasts.into_iter().filter_map(|(task, past)| told_by(task, &past)).collect();
    let replaced = replaced(entries);
    if !replaced.is_empty() {
        removed.extend(replaced);
        removed.sort_by(|one, other| (&one.task.id, one.since).cmp(&(&other.task.id, other.since)));
    }
    removed
}

/// Returns the edges that other tasks lost because these were not there, from the journal, oldest entry first. The tasks
/// themselves may never have known of them: another program may have written an edge at one end only.
///
/// What an update took away somebody meant to take away.
pub fn edges_lost(entries: &[Entry], removed: &[Removed]) -> Vec<Edge> {
    // What others know by the number of a task that was replaced may be meant for the one that has it now.
    let absent = removed.iter().filter(|removed| removed.absence != Absence::Replaced);
    let since: HashMap<&TaskId, Revision> = absent.map(|removed| (&removed.task.id, removed.since)).collect();
    let Some(first) = since.values().min().copied() else { return Vec::new() };
    let mut lost = Vec::new();
    for entry in entries.iter().filter(|entry| entry.revision >= first && entry.op != Op::Update) {
        let images = (entry.before.as_ref(), entry.after.as_ref());
        let (Some(before), Some(after)) = images else { continue };
        let (Ok(before), Ok(after)) = (before.task(&entry.task), after.task(&entry.task)) else { continue };
        let was_absent = |id: &&TaskId| since.get(id).is_some_and(|since| entry.revision >= *since);
        for on in before.blocked_by.iter().filter(was_absent).filter(|on| !after.blocked_by.contains(on)) {
            lost.push(Edge::new(entry.task.clone(), on.clone()));
        }
        for waiting in before.blocks.iter().filter(was_absent).filter(|waiting| !after.blocks.contains(waiting)) {
            lost.push(Edge::new(waiting.clone(), entry.task.clone()));
        }
    }
    lost
}

/// Returns what the past of a task that is not there tells of it, oldest entry first.
fn told_by(task: &TaskId, past: &[&Entry]) -> Option<Removed> {
    let images = past.iter().rev().flat_map(|entry| [entry.after.as_ref(), entry.before.as_ref()]).flatten();
    let (image, task) = images.into_iter().find_map(|image| Some((image, image.task(task).ok()?)))?;
    let absence = absence(past);
    let last = *past.last()?;
    let is_going = |entry: &&&Entry| entry.before.is_some() && entry.after.is_none();
    let went_by = past.iter().rev().find(is_going).copied().filter(|_| last.after.is_none());
    let entry = match absence {
        // That somebody meant it, and then no longer did, does not change how the task went.
        Absence::Missing => went_by.unwrap_or(last),
        Absence::Deleted | Absence::Moved | Absence::Renumbered | Absence::Unmade | Absence::Replaced => last,
    };
    let last_seen = past.iter().rev().find(|entry| entry.after.is_some()).unwrap_or(&entry).at;
    let since = went_by.map_or(last.revision.next(), |entry| entry.revision);
    Some(Removed { task, image: image.clone(), absence, entry: entry.clone(), since, last_seen })
}

/// Tells why a task is not there, from its own entries, oldest first.
fn absence(past: &[&Entry]) -> Absence {
    // None stands for being there.
    let mut now = match past.first() {
        Some(first) if first.before.is_some() => None,
        _ => Some(Absence::Unmade),
    };
    let mut before_each: Vec<(Revision, Option<Absence>)> = Vec::with_capacity(past.len());
    for entry in past {
        before_each.push((entry.revision, now));
        now = match entry.op {
            _ if entry.after.is_some() => None,
            Op::Delete | Op::Clear => Some(Absence::Deleted),
            Op::Merge => Some(Absence::Moved),
            // A mending takes away what is no task, and the number of a task that gets another.
            Op::Mend if is_task(entry) => Some(Absence::Renumbered),
            Op::Undo => Some(after_undo(entry, &before_each, now)),
            _ => Some(Absence::Missing),
        };
    }
    // A removal by another program may not be in the journal yet; then the last entry still has the task in it.
    now.unwrap_or(Absence::Missing)
}

/// Tells why a task is not there after an undo: for what it was before the oldest revision that was taken back. Where those
/// revisions changed nothing about that, neither does the undo: somebody may have deleted the task on purpose since.
fn after_undo(undo: &Entry, before_each: &[(Revision, Option<Absence>)], now: Option<Absence>) -> Absence {
    let is_undone = |(revision, _): &(Revision, Option<Absence>)| undo.undoes.contains(revision);
    let oldest = before_each.iter().find(|before| is_undone(before)).and_then(|(_, absence)| *absence);
    // The undo itself stands last, so something follows every revision that it took back.
    let newest = before_each.iter().rposition(is_undone).and_then(|place| before_each.get(place + 1)?.1);
    let absence = if oldest == newest { now } else { oldest };
    absence.unwrap_or(Absence::Missing)
}

/// Tells whether a task stood there before.
fn is_task(entry: &Entry) -> bool {
    entry.before.as_ref().is_some_and(|image| image.task(&entry.task).is_ok())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Absence, Removed, edges_lost, removed};
    use crate::dialect::native;
    use crate::rules::dependencies::Edge;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, Rules, Task, TaskId, Timestamp};

    fn image(number: u64, subject: &str) -> Option<Image> {
        native::write(None, &Task::new(TaskId::number(number), subject), Rules::Strict).ok()
    }

    fn entry(revision: u64, task: u64, before: Option<Image>, after: Option<Image>) -> Entry {
        Entry {
            revision: Revision(revision),
            at: Timestamp(i64::try_from(revision).unwrap()),
            actor: AgentName::elsewhere(),
            op: Op::RemovedElsewhere,
            task: TaskId::number(task),
            before,
            after,
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
        }
    }

    /// Plays what was done to task 1, one word a revision, and returns what is told of it when it is not there. `undo3` takes
    /// revision 3 back; `gone` is a removal of what is not there.
    fn told(words: &str) -> Option<Removed> {
        let there = image(1, "x");
        let mut now: Option<Image> = None;
        let mut befores: Vec<Option<Image>> = Vec::new();
        let mut journal = Vec::new();
        for (place, word) in words.split_whitespace().enumerate() {
            let before = now.clone();
            befores.push(before.clone());
            let undone: Option<usize> = word.strip_prefix("undo").map(|number| number.parse().unwrap());
            let (op, after) = match (word, undone) {
                (_, Some(number)) => (Op::Undo, befores[number - 1].clone()),
                ("create", _) => (Op::Create, there.clone()),
                ("restore", _) => (Op::Restore, there.clone()),
                ("appeared", _) => (Op::CreatedElsewhere, there.clone()),
                ("rm", _) => (Op::RemovedElsewhere, None),
                ("delete", _) => (Op::Delete, None),
                ("clear", _) => (Op::Clear, None),
                ("merge", _) => (Op::Merge, None),
                ("mend", _) => (Op::Mend, None),
                (other, _) => panic!("{other} is no word"),
            };
            now.clone_from(&after);
            let undoes = undone.map(|number| Revision(number as u64)).into_iter().collect();
            journal.push(Entry { op, undoes, ..entry(place as u64 + 1, 1, before, after) });
        }
        removed(&journal, &HashSet::new()).pop()
    }

    fn absence_after(words: &str) -> Absence {
        told(words).unwrap().absence
    }

    #[test]
    fn what_another_program_removed_is_missing_until_somebody_deletes_it() {
        assert_eq!(absence_after("create rm"), Absence::Missing);
        assert_eq!(absence_after("create rm delete"), Absence::Deleted);
        assert_eq!(absence_after("create rm clear"), Absence::Deleted);
        assert_eq!(absence_after("create rm delete undo3"), Absence::Missing);
        assert_eq!(absence_after("create rm delete undo3 undo4"), Absence::Deleted);
        assert_eq!(absence_after("create delete appeared rm"), Absence::Missing);
        assert_eq!(absence_after("create mend"), Absence::Renumbered);
    }

    #[test]
    fn what_is_not_noticed_yet_is_missing_too() {
        assert_eq!(absence_after("create"), Absence::Missing);
        assert_eq!(absence_after("create rm restore"), Absence::Missing);
    }

    #[test]
    fn an_undo_leaves_a_task_as_absent_as_it_was_before() {
        // The fifth revision changed nothing about it, so taking it back does not either.
        assert_eq!(absence_after("create rm delete undo3 undo3 restore delete undo5"), Absence::Deleted);
        assert_eq!(absence_after("create rm restore undo3"), Absence::Missing);
        assert_eq!(absence_after("create rm restore undo3 undo4 undo5"), Absence::Missing);
        assert_eq!(absence_after("create delete restore undo3"), Absence::Deleted);
        assert_eq!(absence_after("create undo1"), Absence::Unmade);
        assert_eq!(absence_after("create undo1 undo2 undo3"), Absence::Unmade);
        assert_eq!(absence_after("create merge restore undo3"), Absence::Moved);
        assert_eq!(absence_after("create rm undo2 undo3"), Absence::Missing);
        assert_eq!(absence_after("appeared undo1"), Absence::Unmade);
    }

    #[test]
    fn how_a_task_went_is_told_by_the_entry_it_went_by() {
        let revision = |words: &str| told(words).unwrap().entry.revision;
        assert_eq!(revision("create rm"), Revision(2));
        assert_eq!(revision("create rm delete"), Revision(3));
        assert_eq!(revision("create rm delete undo3"), Revision(2));
        assert_eq!(revision("create rm restore undo3"), Revision(4));
        assert_eq!(revision("create rm restore"), Revision(3));
        assert_eq!(told("create rm restore undo3").unwrap().last_seen, Timestamp(3));
    }

    #[test]
    fn a_task_is_brought_back_as_it_last_was() {
        let journal = [
            entry(1, 1, None, image(1, "old")),
            entry(2, 1, image(1, "old"), image(1, "new")),
            entry(3, 2, None, image(2, "there")),
            entry(4, 1, image(1, "new"), None),
        ];
        let found = removed(&journal, &HashSet::from([TaskId::number(2)]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].task.subject.as_str(), found[0].entry.revision), ("new", Revision(4)));
    }

    #[test]
    fn what_was_no_task_comes_back_as_the_task_it_was_before_or_not_at_all() {
        let rubbish = || Some(Image::new(b"{".as_slice()));
        assert!(removed(&[entry(1, 1, rubbish(), None)], &HashSet::new()).is_empty());
        let journal = [
            entry(1, 1, None, image(1, "good")),
            entry(2, 1, image(1, "good"), rubbish()),
            entry(3, 1, rubbish(), None),
        ];
        assert_eq!(removed(&journal, &HashSet::new())[0].task.subject, "good");
    }

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
            assert_eq!(edges_lost(&journal, &found), expected, "{op} {revision}");
        }
    }
}
