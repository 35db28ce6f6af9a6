//! Which tasks that the journal knows are not there, whether an agent meant that, and what brings them back.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::presence::{Step, absences};
use super::removed::{Absence, Removed};
use super::replacing::Replacements;
use crate::{Entry, Op, TaskId};

/// Returns the tasks that the journal knows and the list no longer holds, by number, given the journal, oldest entry first,
/// and the names that are taken. What never was a task is left out. A task in whose place another program put a different one is
/// among them, though its name is taken.
///
/// To avoid reading the whole journal for this, ask for the newest entries of each task ([`told_by_newest`]) and for
/// [`Replacements`]; the answer is the same.
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

/// Returns the tasks that are not there and those that were replaced, by number.
pub fn by_number(absent: Vec<Removed>, replaced: Vec<Removed>) -> Vec<Removed> {
    let mut removed = absent;
    if !replaced.is_empty() {
        removed.extend(replaced);
        removed.sort_by(|one, other| (&one.task.id, one.since).cmp(&(&other.task.id, other.since)));
    }
    removed
}

/// What the newest entries of a task tell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldByNewest {
    /// All that its whole past would tell; none where it never was a task.
    Everything(Option<Box<Removed>>),
    /// Not enough: older entries are needed.
    TooLittle,
}

/// Tells of a task that is not there from the newest entries about it, oldest first. They may be all there are, or so many that none
/// of those before them could tell anything else.
pub fn told_by_newest(task: &TaskId, newest: &[Entry], are_all: bool) -> ToldByNewest {
    let past: Vec<&Entry> = newest.iter().collect();
    if are_all {
        return ToldByNewest::Everything(told_by(task, &past).map(Box::new));
    }
    // What it was before them, when it was last seen, and what an undo went back to.
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

/// Returns what the past of a task that is not there tells of it, oldest entry first.
fn told_by(task: &TaskId, past: &[&Entry]) -> Option<Removed> {
    let images = past.iter().rev().flat_map(|entry| [entry.after.as_ref(), entry.before.as_ref()]).flatten();
    let (image, task) = images.into_iter().find_map(|image| Some((image, image.task(task).ok()?)))?;
    let absence = absence(past);
    let last = *past.last()?;
    let is_going = |entry: &&&Entry| entry.before.is_some() && entry.after.is_none();
    let went_by = past.iter().rev().find(is_going).copied().filter(|_| last.after.is_none());
    let entry = match absence {
        // That an agent meant it, and then no longer did, does not change how the task went.
        Absence::Missing => went_by.unwrap_or(last),
        Absence::Deleted | Absence::Moved | Absence::Renumbered | Absence::Unmade | Absence::Replaced => last,
    };
    let last_seen = past.iter().rev().find(|entry| entry.after.is_some()).unwrap_or(&entry).at;
    let since = went_by.map_or(last.revision.next(), |entry| entry.revision);
    Some(Removed { task, image: image.clone(), absence, entry: entry.clone(), since, last_seen })
}

/// Tells why a task is not there, from its own entries, oldest first.
fn absence(past: &[&Entry]) -> Absence {
    let steps: Vec<Step> = past.iter().map(|entry| Step::from(*entry)).collect();
    // A removal by another program may not be in the journal yet; then the last entry still has the task in it.
    absences(&steps).pop().flatten().unwrap_or(Absence::Missing)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::{Absence, Removed, ToldByNewest, removed, told_by_newest};
    use crate::rules::samples::{entry, image};
    use crate::{Entry, Image, Op, Revision, TaskId, Timestamp};

    /// Plays what was done to task 1, one word a revision, and returns what is told of it when it is not there. `undo3` takes
    /// revision 3 back; `gone` is a removal of what is not there.
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

    const WORDS: [&str; 11] =
        ["create", "restore", "appeared", "rm", "delete", "clear", "merge", "mend", "undo", "rubbish", "undo"];

    proptest! {
        #[test]
        fn the_newest_entries_tell_what_the_whole_past_tells_or_that_they_are_too_few(
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
