//! Which missing tasks can be restored, and with which edges.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::replacing::Replacements;
use crate::rules::graph::dependencies::Edge;
use crate::rules::history::vanishing::{Absence, Removed, Step, absences};
use crate::{Entry, Op, Revision, Task, TaskId};

/// Returns the tasks that are in the journal but not in the list, sorted by id. `entries` is the journal, oldest first;
/// `taken` are the ids in use. Files that were never a valid task are left out. Tasks that another program replaced are
/// included although their ids are in use.
///
/// To avoid reading the whole journal, use the newest entries of each task ([`told_by_newest`]) and [`Replacements`];
/// the result is the same.
pub fn removed(entries: &[Entry], taken: &HashSet<TaskId>) -> Vec<Removed> {
    let mut pasts: BTreeMap<&TaskId, Vec<&Entry>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !taken.contains(&entry.task)) {
        pasts.entry(&entry.task).or_default().push(entry);
    }
    let absent = pasts.into_iter().filter_map(|(task, past)| told_by(task, &past)).collect();
    let mut replaced = Replacements::default();
    entries.iter().for_each(|entry| replaced.add(entry));
    entries.iter().for_each(|entry| replaced.add_arrival(entry));
    let last: HashMap<&TaskId, &Entry> = entries.iter().map(|entry| (&entry.task, entry)).collect();
    replaced.add_last(|task| last.get(task).and_then(|entry| entry.after.clone()));
    by_number(absent, replaced.into_removed())
}

/// Merges absent and replaced tasks, sorted by id.
pub fn by_number(absent: Vec<Removed>, replaced: Vec<Removed>) -> Vec<Removed> {
    let mut removed = absent;
    if !replaced.is_empty() {
        removed.extend(replaced);
        removed.sort_by(|one, other| (&one.task.id, one.since).cmp(&(&other.task.id, other.since)));
    }
    removed
}

/// The result of looking only at the newest entries of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldByNewest {
    /// The same result as from all entries; `None` if it never was a valid task.
    Everything(Option<Box<Removed>>),
    /// Not enough: older entries are needed.
    TooLittle,
}

/// Describes an absent task from its newest entries, oldest first. Returns [`ToldByNewest::TooLittle`] if older entries
/// could change the result. `are_all` states that there are no older ones.
pub fn told_by_newest(task: &TaskId, newest: &[Entry], are_all: bool) -> ToldByNewest {
    let past: Vec<&Entry> = newest.iter().collect();
    if are_all {
        return ToldByNewest::Everything(told_by(task, &past).map(Box::new));
    }
    // Needed: what it was before these entries, when it was last seen, and what an undo restored.
    let was_there = past.first().is_some_and(|first| first.before.is_some());
    let was_seen = past.iter().any(|entry| entry.after.is_some());
    let goes_back_further = |entry: &&&Entry| {
        let oldest = entry.undoes.iter().min().filter(|_| entry.op == Op::Undo && entry.after.is_none());
        oldest.is_some_and(|oldest| past.first().is_none_or(|first| *oldest < first.revision))
    };
    if !was_there || !was_seen || past.iter().any(|entry| goes_back_further(&entry)) {
        return ToldByNewest::TooLittle;
    }
    told_by(task, &past).map_or(ToldByNewest::TooLittle, |removed| ToldByNewest::Everything(Some(Box::new(removed))))
}

/// Describes an absent task from all of its entries, oldest first.
fn told_by(task: &TaskId, past: &[&Entry]) -> Option<Removed> {
    let images = past.iter().rev().flat_map(|entry| [entry.after.as_ref(), entry.before.as_ref()]).flatten();
    let (image, task) = images.into_iter().find_map(|image| Some((image, image.task(task).ok()?)))?;
    let absence = absence(past);
    let last = *past.last()?;
    let is_going = |entry: &&&Entry| entry.before.is_some() && entry.after.is_none();
    let went_by = past.iter().rev().find(is_going).copied().filter(|_| last.after.is_none());
    let entry = match absence {
        // A deletion that was undone does not change how the task disappeared.
        Absence::Missing => went_by.unwrap_or(last),
        Absence::Deleted | Absence::Moved | Absence::Renumbered | Absence::Unmade | Absence::Replaced => last,
    };
    let last_seen = past.iter().rev().find(|entry| entry.after.is_some()).unwrap_or(&entry).at;
    let since = went_by.map_or(last.revision.next(), |entry| entry.revision);
    Some(Removed { task, image: image.clone(), absence, entry: entry.clone(), since, last_seen })
}

/// Returns why a task is absent, from its own entries, oldest first.
fn absence(past: &[&Entry]) -> Absence {
    let steps: Vec<Step> = past.iter().map(|entry| Step::from(*entry)).collect();
    // A removal by another program may not be recorded yet; the last entry then still contains the task.
    absences(&steps).pop().flatten().unwrap_or(Absence::Missing)
}

/// What happens to a backup copy of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFate {
    /// Its number is free and no agent removed it on purpose: it is restored.
    Returns,
    /// The list has an identical task.
    Same,
    /// Its number is used by something else, which is never replaced.
    Different,
    /// An agent has removed it on purpose since, in this way.
    Meant(Absence),
}

/// What a list says about the numbers of copied tasks.
#[derive(Debug)]
pub struct NumbersNow<'a> {
    present: HashMap<&'a TaskId, Option<&'a Task>>,
    meant: HashMap<&'a TaskId, Absence>,
}

impl<'a> NumbersNow<'a> {
    /// Collects the tasks of a list, the ids occupied by other files, and the tasks known from the journal to be gone.
    pub fn of(tasks: &'a [Task], in_the_way: impl Iterator<Item = &'a TaskId>, removed: &'a [Removed]) -> Self {
        let mut present: HashMap<_, _> = in_the_way.map(|id| (id, None)).collect();
        present.extend(tasks.iter().map(|task| (&task.id, Some(task))));
        let meant = |removed: &&Removed| !removed.is_missing() && !removed.is_replaced();
        let meant = removed.iter().filter(meant).map(|removed| (&removed.task.id, removed.absence)).collect();
        Self { present, meant }
    }

    /// Returns what happens to a copy. Tasks removed on purpose are not restored.
    pub fn judge(&self, copy: &Task) -> CopyFate {
        match (self.present.get(&copy.id), self.meant.get(&copy.id)) {
            (Some(Some(task)), _) if *task == copy => CopyFate::Same,
            (Some(_), _) => CopyFate::Different,
            (None, Some(absence)) => CopyFate::Meant(*absence),
            (None, None) => CopyFate::Returns,
        }
    }

    /// Does the same as [`NumbersNow::judge`], but also restores tasks removed on purpose.
    pub fn judge_with_deleted(&self, copy: &Task) -> CopyFate {
        match self.judge(copy) {
            CopyFate::Meant(_) => CopyFate::Returns,
            fate => fate,
        }
    }
}

/// The edges that other tasks lost while these tasks were absent. The absent tasks may never have stated them: another
/// program may have written an edge at one end only.
#[derive(Clone, Debug)]
pub struct EdgesLost {
    /// The revision since which each task has been absent.
    since: HashMap<TaskId, Revision>,
    lost: Vec<Edge>,
}

impl EdgesLost {
    /// The operations to examine. An update that removes an edge does so on purpose, and agents working on a task do
    /// not change its edges.
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

    /// Starts a search for the lost edges of absent tasks.
    pub fn of(removed: &[Removed]) -> Self {
        // References to the number of a replaced task may refer to its replacement.
        let absent = removed.iter().filter(|removed| removed.absence != Absence::Replaced);
        Self { since: absent.map(|removed| (removed.task.id.clone(), removed.since)).collect(), lost: Vec::new() }
    }

    /// Returns the first revision that may have lost such an edge, or `None` if no task is absent.
    pub fn first(&self) -> Option<Revision> {
        self.since.values().min().copied()
    }

    /// Processes the next journal entry. Entries must be given oldest first.
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

    use proptest::prelude::*;

    use super::{Absence, Removed, ToldByNewest, removed, told_by_newest};
    use crate::rules::samples::{entry, image};
    use crate::{Entry, Image, Op, Revision, TaskId, Timestamp};

    /// Applies operations to task 1, one word per revision, and returns its description while it is absent. `undo3`
    /// undoes revision 3; `gone` removes a missing task.
    fn told(words: &str) -> Option<Removed> {
        removed(&journal(&words.split_whitespace().collect::<Vec<_>>()), &HashSet::new()).pop()
    }

    fn journal(words: &[&str]) -> Vec<Entry> {
        let there = image(1, "x");
        let mut now: Option<Image> = None;
        let mut befores: Vec<Option<Image>> = Vec::new();
        let mut journal = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let before = now.clone();
            befores.push(before.clone());
            let undone: Option<usize> = word.strip_prefix("undo").map(|number| number.parse().unwrap());
            let (op, after) = match (*word, undone) {
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
        journal
    }

    fn absence_after(words: &str) -> Absence {
        told(words).unwrap().absence
    }

    #[test]
    fn foreign_removal_is_missing_until_deleted_here() {
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
        // The fifth revision did not change the task, so undoing it does not either.
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
    fn foreign_file_is_restored_as_the_former_task_or_not() {
        let rubbish = || Some(Image::new(b"{".as_slice()));
        assert!(removed(&[entry(1, 1, rubbish(), None)], &HashSet::new()).is_empty());
        let journal = [
            entry(1, 1, None, image(1, "good")),
            entry(2, 1, image(1, "good"), rubbish()),
            entry(3, 1, rubbish(), None),
        ];
        assert_eq!(removed(&journal, &HashSet::new())[0].task.subject, "good");
    }

    const WORDS: [&str; 11] =
        ["create", "restore", "appeared", "rm", "delete", "clear", "merge", "mend", "undo", "rubbish", "undo"];

    proptest! {
        #[test]
        fn newest_entries_equal_whole_history_or_say_too_few(
            steps in prop::collection::vec((0..WORDS.len(), 0..20_usize), 1..20),
            count in 1..20_usize,
        ) {
            let word = |(place, (word, back)): (usize, &(usize, usize))| match WORDS[*word] {
                "undo" => format!("undo{}", (back % (place + 1)).max(1)),
                "rubbish" => "appeared".to_owned(),
                word => word.to_owned(),
            };
            let words: Vec<String> = steps.iter().enumerate().map(word).collect();
            let mut journal = journal(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let rubbish = Some(Image::new(b"{".as_slice()));
            for place in 0..journal.len() {
                if WORDS[steps[place].0] == "rubbish" {
                    journal[place].after.clone_from(&rubbish);
                    if let Some(next) = journal.get_mut(place + 1) {
                        next.before.clone_from(&rubbish);
                    }
                }
            }
            let whole = removed(&journal, &HashSet::new()).pop().map(Box::new);
            let newest = &journal[journal.len().saturating_sub(count)..];
            match told_by_newest(&TaskId::number(1), newest, newest.len() == journal.len()) {
                ToldByNewest::Everything(told) => prop_assert_eq!(told, whole, "{:?}", words),
                ToldByNewest::TooLittle => prop_assert!(newest.len() < journal.len()),
            }
        }
    }
}

#[cfg(test)]
mod restoring_copies_tests {
    use super::{CopyFate, NumbersNow};
    use crate::rules::history::restoring::removed;
    use crate::rules::history::vanishing::Absence;
    use crate::{AgentName, Entry, Image, Op, Remark, Revision, Task, TaskId, Timestamp};

    fn task(id: &str, subject: &str) -> Task {
        Task::new(TaskId::stored(id), subject)
    }

    fn gone(id: &str, op: Op) -> [Entry; 2] {
        let image = format!(
            r#"{{"id":"{id}","subject":"was","description":"","status":"pending","blocks":[],"blockedBy":[]}}"#
        );
        let entry = |revision: u64, op: Op, before: bool| Entry {
            revision: Revision(revision),
            at: Timestamp(0),
            actor: AgentName::new("ana").unwrap(),
            op,
            task: TaskId::stored(id),
            before: before.then(|| Image::new(image.as_bytes())),
            after: (!before).then(|| Image::new(image.as_bytes())),
            undoes: Vec::new(),
            remark: Remark::default(),
            attempt: None,
            db_user: None,
        };
        [entry(1, Op::Create, false), entry(2, op, true)]
    }

    #[test]
    fn copy_is_restored_only_if_its_number_is_free() {
        let tasks = [task("1", "same"), task("2", "newer")];
        let broken = TaskId::stored("3");
        let entries: Vec<Entry> = [gone("4", Op::Delete), gone("5", Op::RemovedElsewhere)].concat();
        let removed = removed(&entries, &Default::default());
        let now = NumbersNow::of(&tasks, [&broken].into_iter(), &removed);
        assert_eq!(now.judge(&task("1", "same")), CopyFate::Same);
        assert_eq!(now.judge(&task("2", "older")), CopyFate::Different);
        assert_eq!(now.judge(&task("3", "whole")), CopyFate::Different);
        assert_eq!(now.judge(&task("4", "was")), CopyFate::Meant(Absence::Deleted));
        assert_eq!(now.judge_with_deleted(&task("4", "was")), CopyFate::Returns);
        assert_eq!(now.judge(&task("5", "was")), CopyFate::Returns);
        assert_eq!(now.judge(&task("6", "unknown")), CopyFate::Returns);
    }
}

#[cfg(test)]
mod edges_lost_tests {
    use std::collections::HashSet;

    use super::EdgesLost;
    use crate::dialect::native;
    use crate::rules::graph::dependencies::Edge;
    use crate::rules::history::restoring::removed;
    use crate::rules::samples::{entry, image};
    use crate::{Entry, Op, Rules, Task, TaskId};

    #[test]
    fn edge_known_only_to_one_end_is_found_in_journal() {
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
