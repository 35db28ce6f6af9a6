//! Hearing of commits.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use taskyard::Yard;
use taskyard::core::{AgentName, Entry, Event, Revision, Task, TaskId};
use taskyard::store::HistoryQuery;
use taskyard::stream::{Cursor, Happening, Interest, Listening};

use super::samples::{Open, id, list, task};
use crate::{Opened, PATIENCE, Random, Scale, commit, rules_under_test};

fn listen(opened: &Opened, since: u64) -> (Listening, Receiver<Event>) {
    let (listener, heard) = sending();
    (follow(opened, since, listener), heard)
}

fn follow(opened: &Opened, since: u64, to: Listener) -> Listening {
    let yard = Yard::new(Arc::clone(&opened.store), list(), AgentName::new("follower").unwrap());
    let since = Cursor::after(&list(), Revision(since));
    let stream = yard.follow_only(Interest::in_list(&list()), since).unwrap();
    let listener = move |happening| match happening {
        Happening::Commit(event) => to(&event),
        other => panic!("{other:?} was not asked for"),
    };
    stream.listen(listener).unwrap()
}

/// Hears of a commit.
type Listener = Box<dyn Fn(&Event) + Send>;

fn sending() -> (Listener, Receiver<Event>) {
    let (send, receive) = channel();
    let send = Mutex::new(send);
    let listener = move |event: &Event| {
        let _ = send.lock().unwrap().send(event.clone());
    };
    (Box::new(listener), receive)
}

fn make(opened: &Opened, number: u64) -> Event {
    commit(&*opened.store, &list(), |txn| txn.put(task(number, "x")).unwrap()).unwrap()
}

fn hear(heard: &Receiver<Event>, count: usize) -> Vec<u64> {
    let next = |_| heard.recv_timeout(PATIENCE).expect("a commit was not told").revision.0;
    (0..count).map(next).collect()
}

/// Past events are delivered first, then new ones, without gaps or repeats.
pub fn past_commits_come_first_and_then_new_ones(open: &Open) {
    let opened = open(rules_under_test());
    (1..=3).for_each(|number| drop(make(&opened, number)));
    let (_subscription, heard) = listen(&opened, 0);
    (4..=6).for_each(|number| drop(make(&opened, number)));
    assert_eq!(hear(&heard, 6), [1, 2, 3, 4, 5, 6]);
    assert!(heard.try_recv().is_err());
}

/// A revision is not delivered again to a watcher that has seen it.
pub fn watching_from_a_revision_begins_after_it(open: &Open) {
    let opened = open(rules_under_test());
    (1..=3).for_each(|number| drop(make(&opened, number)));
    let (_subscription, heard) = listen(&opened, 2);
    make(&opened, 4);
    assert_eq!(hear(&heard, 2), [3, 4]);
    assert!(heard.try_recv().is_err());
}

/// Two listeners are two listeners.
pub fn every_listener_hears_every_commit_once(open: &Open) {
    let opened = open(rules_under_test());
    let listeners: Vec<_> = (0..3).map(|_| listen(&opened, 0)).collect();
    (1..=2).for_each(|number| drop(make(&opened, number)));
    for (_, heard) in &listeners {
        assert_eq!(hear(heard, 2), [1, 2]);
        assert!(heard.try_recv().is_err());
    }
}

/// After the drop nothing more is delivered, while other listeners still get events.
pub fn a_dropped_subscription_hears_no_more(open: &Open) {
    let opened = open(rules_under_test());
    let (ended, silent) = listen(&opened, 0);
    let (_subscription, heard) = listen(&opened, 0);
    make(&opened, 1);
    assert_eq!(hear(&silent, 1), [1]);
    drop(ended);
    make(&opened, 2);
    assert_eq!(hear(&heard, 2), [1, 2]);
    assert!(silent.try_iter().next().is_none());
}

/// A listener that panics hears the next commit all the same, and so do the other listeners, and the writer goes on.
pub fn a_panicking_listener_harms_nobody(open: &Open) {
    let opened = open(rules_under_test());
    let (report, told) = sending();
    let panicking = move |event: &Event| {
        report(event);
        panic!("on purpose");
    };
    let _panicking = follow(&opened, 0, Box::new(panicking));
    let (_subscription, heard) = listen(&opened, 0);
    (1..=3).for_each(|number| drop(make(&opened, number)));
    assert_eq!(hear(&heard, 3), [1, 2, 3]);
    assert_eq!(hear(&told, 3), [1, 2, 3]);
}

/// However many write, a listener hears one commit after the other.
pub fn commits_of_many_threads_are_told_in_order(open: &Open) {
    let opened = open(rules_under_test());
    let (_subscription, heard) = listen(&opened, 0);
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let opened = opened.clone();
            thread::spawn(move || (1..=5).for_each(|number| drop(make(&opened, writer * 100 + number))))
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    assert_eq!(hear(&heard, 20), (1..=20).collect::<Vec<_>>());
}

/// An event is the entries of its revision.
pub fn what_is_told_is_what_the_journal_holds(open: &Open) {
    let opened = open(rules_under_test());
    let (_subscription, heard) = listen(&opened, 0);
    let event = commit(&*opened.store, &list(), |txn| {
        txn.put(Task { blocks: vec![TaskId::number(2)], ..task(1, "x") }).unwrap();
        txn.put(Task { blocked_by: vec![id(1)], ..task(2, "y") }).unwrap();
    })
    .unwrap();
    let told = heard.recv_timeout(PATIENCE).unwrap();
    assert_eq!(told, event);
    assert_eq!(told.list, list());
    assert_eq!(told.entries, opened.store.history(&list(), &HistoryQuery::default()).unwrap());
}

/// Whenever and wherever in the journal a listener starts, it gets everything from there on, once and in order.
pub fn subscriptions_begun_at_any_revision_while_others_write_yield_the_journal(open: &Open) {
    const WRITERS: u64 = 4;
    let opened = open(rules_under_test());
    let rounds = Scale::from_environment(0.1).of(500) as u64;
    let mut random = Random::new(4);
    let mut listeners = Vec::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let opened = &opened;
                scope.spawn(move || (0..rounds).for_each(|round| change(opened, writer, round)))
            })
            .collect();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            let newest = opened.store.read(&list()).unwrap().revision().0;
            // Before the newest, so that there is something to tell whatever the writers do.
            let since = random.below(usize::try_from(newest).unwrap()) as u64;
            let (subscription, heard) = listen(&opened, since);
            let first = heard.recv_timeout(PATIENCE).expect("a commit was not told");
            // Some stay to the end, some are there for a moment only.
            let staying = (random.below(3) == 0 && listeners.len() < 20).then_some(subscription);
            listeners.push((since, first, heard, staying));
        }
    });
    let journal = opened.store.history(&list(), &HistoryQuery::default()).unwrap();
    let newest = journal.last().unwrap().revision;
    assert!(newest.0 >= WRITERS * rounds);
    for (since, first, heard, staying) in listeners {
        let mut told: Vec<Event> = std::iter::once(first).chain(heard.try_iter()).collect();
        while staying.is_some() && told.last().is_none_or(|event| event.revision < newest) {
            told.push(heard.recv_timeout(PATIENCE).expect("the end of the journal was not told"));
        }
        let entries: Vec<Entry> = told.into_iter().flat_map(|event| event.entries).collect();
        let until = entries.last().map_or(Revision(since), |entry| entry.revision);
        let expected = journal.iter().filter(|entry| entry.revision.0 > since && entry.revision <= until);
        assert!(entries.iter().eq(expected), "from {since} to {until}: {entries:?}");
    }
}

/// Changes two tasks of this writer's in one commit, and sometimes removes them.
fn change(opened: &Opened, writer: u64, round: u64) {
    let ids = [writer * 2 + 1, writer * 2 + 2];
    commit(&*opened.store, &list(), |txn| {
        for number in ids {
            if round % 7 == 6 {
                txn.remove(&id(number)).unwrap();
            } else {
                txn.put(task(number, &format!("round {round}"))).unwrap();
            }
        }
    });
}
