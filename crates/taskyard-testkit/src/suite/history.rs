//! The journal.

use std::collections::BTreeMap;

use taskyard::core::{Image, Op, Revision, Rules, Task, TaskId};
use taskyard::store::{HistoryBackwards, HistoryPages, HistoryQuery, LastEntry, Signature};

use super::samples::{CLIENT, Open, id, list, task};
use crate::{Opened, commit, images, list_builder, signature};

/// Makes a journal of five revisions: 1 makes tasks 1 and 2, 2 and 3 change task 1, 4 removes it, 5 changes task 2.
fn five_revisions(open: &Open) -> Opened {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending");
    for subject in ["once", "twice"] {
        commit(&*opened.store, &list(), |txn| txn.put(task(1, subject)).unwrap());
    }
    commit(&*opened.store, &list(), |txn| txn.remove(&id(1)).unwrap());
    commit(&*opened.store, &list(), |txn| txn.put(task(2, "last")).unwrap());
    opened
}

fn revisions(opened: &Opened, query: &HistoryQuery) -> Vec<u64> {
    opened.store.history(&list(), query).unwrap().iter().map(|entry| entry.revision.0).collect()
}

/// Before and after are recorded, and each is `None` if there was no task.
pub fn an_entry_holds_the_task_before_and_after(open: &Open) {
    let opened = five_revisions(open);
    let query = HistoryQuery { task: Some(id(1)), ..HistoryQuery::default() };
    let entries = opened.store.history(&list(), &query).unwrap();
    let subject = |image: &Option<Image>| image.as_ref().map(|image| image.task(&id(1)).unwrap().subject);
    let told: Vec<_> = entries.iter().map(|entry| (subject(&entry.before), subject(&entry.after))).collect();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        told,
        [(None, some("task 1")), (some("task 1"), some("once")), (some("once"), some("twice")), (some("twice"), None)]
    );
}

/// The signature of a commit is in each of its entries.
pub fn an_entry_names_who_what_and_when(open: &Open) {
    let opened = five_revisions(open);
    let mut txn = opened.store.write(&list()).unwrap();
    txn.put(task(1, "back")).unwrap();
    let undo = Signature { undoes: vec![Revision(4), Revision(3)], ..signature(Op::Undo) };
    let event = txn.commit(&undo).unwrap().unwrap();
    let newest = HistoryQuery { newest: Some(1), ..HistoryQuery::default() };
    let entries = opened.store.history(&list(), &newest).unwrap();
    assert_eq!(entries, event.entries);
    assert_eq!((entries[0].actor.as_str(), entries[0].op), ("tester", Op::Undo));
    assert_eq!(entries[0].undoes, [Revision(4), Revision(3)]);
    assert!(entries[0].at.0 > 1_600_000_000_000, "{}", entries[0].at);
}

/// Only entries of one task, oldest first.
pub fn the_journal_is_asked_for_one_task(open: &Open) {
    let opened = five_revisions(open);
    let of = |task| revisions(&opened, &HistoryQuery { task: Some(task), ..HistoryQuery::default() });
    assert_eq!(of(id(1)), [1, 2, 3, 4]);
    assert_eq!(of(id(2)), [1, 5]);
    assert_eq!(of(id(3)), [0; 0]);
}

/// Only entries after one revision and up to another.
pub fn the_journal_is_asked_for_a_range(open: &Open) {
    let opened = five_revisions(open);
    assert_eq!(revisions(&opened, &HistoryQuery::default()), [1, 1, 2, 3, 4, 5]);
    let range = |since, until| HistoryQuery { since: Revision(since), until, ..HistoryQuery::default() };
    assert_eq!(revisions(&opened, &range(3, None)), [4, 5]);
    assert_eq!(revisions(&opened, &range(0, Some(Revision(2)))), [1, 1, 2]);
    assert_eq!(revisions(&opened, &range(1, Some(Revision(3)))), [2, 3]);
    assert_eq!(revisions(&opened, &range(5, None)), [0; 0]);
    for far in [u64::MAX, u64::MAX - 1, i64::MAX.cast_unsigned(), i64::MAX.cast_unsigned() + 1] {
        assert_eq!(revisions(&opened, &range(far, None)), [0; 0], "{far}");
        assert_eq!(revisions(&opened, &range(4, Some(Revision(far)))), [5], "{far}");
    }
}

/// Returns at most `limit` complete revisions, the newest.
pub fn the_journal_is_asked_for_the_newest_revisions(open: &Open) {
    let opened = five_revisions(open);
    let newest = |count| HistoryQuery { newest: Some(count), ..HistoryQuery::default() };
    assert_eq!(revisions(&opened, &newest(0)), [0; 0]);
    assert_eq!(revisions(&opened, &newest(2)), [4, 5]);
    assert_eq!(revisions(&opened, &newest(5)), [1, 1, 2, 3, 4, 5]);
    assert_eq!(revisions(&opened, &newest(99)), [1, 1, 2, 3, 4, 5]);
    assert_eq!(revisions(&opened, &HistoryQuery { task: Some(id(2)), ..newest(1) }), [5]);
    assert_eq!(revisions(&opened, &HistoryQuery { task: Some(id(1)), ..newest(2) }), [3, 4]);
}

/// Returns at most `limit` complete revisions, the oldest; together with the newest, the oldest of those. A store that
/// ends earlier gives one at least.
pub fn the_journal_is_asked_for_the_oldest_revisions(open: &Open) {
    let opened = five_revisions(open);
    let oldest = |count| HistoryQuery { oldest: Some(count), ..HistoryQuery::default() };
    assert_eq!(revisions(&opened, &oldest(2)), [1, 1, 2]);
    assert_eq!(revisions(&opened, &oldest(99)), [1, 1, 2, 3, 4, 5]);
    assert_eq!(revisions(&opened, &HistoryQuery { since: Revision(2), ..oldest(2) }), [3, 4]);
    assert_eq!(revisions(&opened, &HistoryQuery { newest: Some(3), ..oldest(2) }), [3, 4]);
    assert_eq!(revisions(&opened, &HistoryQuery { task: Some(id(2)), ..oldest(1) }), [1]);
    assert_eq!(revisions(&opened, &HistoryQuery { since: Revision(5), ..oldest(1) }), [0; 0]);
}

/// Returns only entries of some operations, or only those that created a task; a limit counts only those.
pub fn the_journal_is_asked_for_what_was_done(open: &Open) {
    let opened = five_revisions(open);
    let mut txn = opened.store.write(&list()).unwrap();
    txn.put(task(1, "back")).unwrap();
    txn.put(task(2, "too")).unwrap();
    txn.commit(&signature(Op::Restore)).unwrap();
    commit(&*opened.store, &list(), |txn| txn.put(task(2, "end")).unwrap());
    let ops = |ops: &[Op]| HistoryQuery { ops: ops.to_vec(), ..HistoryQuery::default() };
    assert_eq!(revisions(&opened, &ops(&[Op::Restore])), [6, 6]);
    assert_eq!(revisions(&opened, &ops(&[Op::Undo])), [0; 0]);
    let others: Vec<Op> = Op::ALL.into_iter().filter(|op| *op != Op::Restore).collect();
    assert_eq!(revisions(&opened, &ops(&others)), [1, 1, 2, 3, 4, 5, 7]);
    assert_eq!(revisions(&opened, &HistoryQuery { newest: Some(1), ..ops(&[Op::Restore]) }), [6, 6]);
    let arrivals = || HistoryQuery { only_arrivals: true, ..HistoryQuery::default() };
    assert_eq!(revisions(&opened, &arrivals()), [1, 1, 6]);
    assert_eq!(revisions(&opened, &HistoryQuery { newest: Some(1), ..arrivals() }), [6]);
    assert_eq!(revisions(&opened, &HistoryQuery { task: Some(id(2)), newest: Some(1), ..arrivals() }), [1]);
    assert_eq!(revisions(&opened, &HistoryQuery { task: Some(id(1)), ..arrivals() }), [1, 6]);
}

/// The last entry about each task, whether it is there or not.
pub fn the_last_entry_about_each_task_is_told(open: &Open) {
    let opened = five_revisions(open);
    commit(&*opened.store, &list(), |txn| {
        txn.put(task(10, "ten")).unwrap();
        txn.put(Task::new(TaskId::stored("plan"), "no number")).unwrap();
    });
    let told = opened.store.last_entries(&list()).unwrap();
    let told: Vec<_> = told.iter().map(|last| (last.task.as_str(), last.revision.0, last.leaves_task)).collect();
    assert_eq!(told, [("1", 4, false), ("2", 5, true), ("10", 6, true), ("plan", 6, true)]);
    let journal = opened.store.history(&list(), &HistoryQuery::default()).unwrap();
    for last in opened.store.last_entries(&list()).unwrap() {
        let entry = journal.iter().rfind(|entry| entry.task == last.task).unwrap();
        assert_eq!(last, LastEntry::of(entry));
    }
}

/// Read in pages, forwards and backwards, the journal is the same, however large a revision is; what is committed while it is read is not
/// part of it.
pub fn the_journal_is_read_in_pages(open: &Open) {
    let opened = open(Rules::Strict);
    let (store, list) = (&*opened.store, list());
    commit(store, &list, |txn| (1..=1200).for_each(|number| txn.put(task(number, "one of many")).unwrap()));
    // Where a commit writes the whole list, what follows takes long in a long one.
    commit(store, &list, |txn| (8..=1200).for_each(|number| txn.remove(&id(number)).unwrap()));
    (0..300).for_each(|round| drop(commit(store, &list, |txn| txn.put(task(7, &format!("{round}"))).unwrap())));
    let journal = store.history(&list, &HistoryQuery::default()).unwrap();
    let mut pages = HistoryPages::of(store, &list, HistoryQuery::default()).unwrap();
    let mut read = pages.next().unwrap().unwrap();
    assert!(read.len() < journal.len(), "it is more than one page");
    commit(store, &list, |txn| txn.put(task(7, "meanwhile")).unwrap());
    for page in pages {
        read.extend(page.unwrap());
    }
    assert!(read == journal, "{} of {}", read.len(), journal.len());
    let query = HistoryQuery { until: Some(Revision(302)), ..HistoryQuery::default() };
    let backwards: Vec<_> = HistoryBackwards::of(store, &list, query).map(Result::unwrap).collect();
    assert!(backwards.len() > 2);
    let backwards: Vec<_> = backwards.into_iter().rev().flatten().collect();
    assert!(backwards == journal, "{} of {}", backwards.len(), journal.len());
    let of_task = HistoryQuery { task: Some(id(7)), newest: Some(280), ..HistoryQuery::default() };
    let read: Vec<_> = HistoryPages::of(store, &list, of_task).unwrap().flat_map(Result::unwrap).collect();
    assert_eq!((read.len(), read[0].revision, read[279].revision), (280, Revision(24), Revision(303)));
}

/// Played from the beginning, the journal gives the list as it is, to the letter.
pub fn the_journal_replays_to_the_present(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        list_builder::fill(&*opened.store, &list(), "1 pending; 2 pending <- 1; 3 completed (ana) <- 2");
        commit(&*opened.store, &list(), |txn| {
            txn.put(task(2, "changed")).unwrap();
            txn.remove(&id(1)).unwrap();
        });
        commit(&*opened.store, &list(), |txn| txn.put(task(4, "four")).unwrap());
        let mut played: BTreeMap<TaskId, String> = BTreeMap::new();
        for entry in opened.store.history(&list(), &HistoryQuery::default()).unwrap() {
            let text = |image: &Image| String::from_utf8(image.bytes().to_vec()).unwrap();
            assert_eq!(entry.before.as_ref().map(text), played.remove(&entry.task));
            played.extend(entry.after.as_ref().map(|image| (entry.task.clone(), text(image))));
        }
        assert_eq!(played, images(&*opened.store.read(&list()).unwrap()));
    }
}

/// A writer that lost the answer to a commit finds by its attempt whether it happened.
pub fn a_commit_is_found_by_its_attempt(open: &Open) {
    for rules in [Rules::Strict, CLIENT] {
        let opened = open(rules);
        let mut attempts = Vec::new();
        for number in [1, 3, 5] {
            let mut txn = opened.store.write(&list()).unwrap();
            txn.put(task(number, "one")).unwrap();
            txn.put(task(number + 1, "two")).unwrap();
            let signature = signature(Op::Create);
            attempts.push((signature.attempt, txn.commit(&signature).unwrap().unwrap()));
        }
        let of = |attempt| {
            let query = HistoryQuery { attempt: Some(attempt), ..HistoryQuery::default() };
            opened.store.history(&list(), &query).unwrap()
        };
        for (attempt, event) in &attempts {
            assert_eq!(of(*attempt), event.entries);
        }
        assert_eq!(of(signature(Op::Create).attempt), [], "an attempt that was never made");
    }
}
