//! Leases: given out with a commit, ended with a commit, renewed without one.

use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard::Yard;
use taskyard::core::{
    AgentName, Holder, Image, Lease, ListId, Moment, Op, ProcessMark, Revision, Rules, Status, Task, Timestamp, Token,
};
use taskyard::store::{HistoryQuery, NewLease, Txn};
use taskyard::stream::{Cursor, Happening, Interest};

use super::samples::{CLIENT, Open, id, list, task};
use crate::{Opened, PATIENCE, commit, finishes, list_builder, signature};

const HOUR: Duration = Duration::from_secs(3600);

fn new_lease(number: u64) -> NewLease {
    NewLease { task: id(number), agent: AgentName::new("ana").unwrap(), ttl: Some(HOUR), holder: None }
}

fn moment(milliseconds: i64) -> Moment {
    Moment { wall: Timestamp(milliseconds), boot: "a boot".into(), since_boot: milliseconds / 2 }
}

fn taken(number: u64) -> Task {
    Task { owner: Some("ana".into()), status: Status::InProgress, ..task(number, "taken") }
}

/// Gives a task to ana, with a lease.
fn take(opened: &Opened, number: u64) -> Lease {
    let mut lease = None;
    commit(&*opened.store, &list(), |txn| {
        txn.put(taken(number)).unwrap();
        lease = Some(txn.grant(new_lease(number)).unwrap());
    });
    lease.unwrap()
}

fn leases(opened: &Opened) -> Vec<Lease> {
    opened.store.read(&list()).unwrap().leases().unwrap()
}

fn revision(opened: &Opened) -> Revision {
    opened.store.read(&list()).unwrap().revision()
}

/// Nothing of a lease is lost, whatever it lives with.
pub fn a_lease_is_kept_as_it_was_given(open: &Open) {
    let opened = open(Rules::Strict);
    let process = ProcessMark {
        machine: "a machine".into(),
        pid_space: "pid:[1]".into(),
        boot: "a boot".into(),
        pid: 77,
        started: u64::MAX - 1,
    };
    let holders = [
        None,
        Some(Holder::Process(process.clone())),
        Some(Holder::Connection { process: process.clone(), grace: Duration::from_millis(1234) }),
        // As older releases wrote it.
        Some(Holder::Process(ProcessMark { machine: String::new(), pid_space: String::new(), ..process })),
    ];
    let mut given = Vec::new();
    for (number, holder) in (1..).zip(holders) {
        commit(&*opened.store, &list(), |txn| {
            txn.put(taken(number)).unwrap();
            let new = NewLease { holder: holder.clone(), ttl: (number != 2).then_some(HOUR), ..new_lease(number) };
            given.push(txn.grant(new).unwrap());
        });
    }
    assert_eq!(leases(&opened), given);
    assert_eq!((&given[2].agent, &given[1].ends), (&AgentName::new("ana").unwrap(), &None));
}

/// The store's clock determines when a lease is taken and when it ends.
pub fn a_lease_is_given_by_the_stores_clock(open: &Open) {
    let opened = open(Rules::Strict);
    let before = opened.store.now().unwrap();
    let lease = take(&opened, 1);
    let after = opened.store.now().unwrap();
    assert!((before.wall..=after.wall).contains(&lease.taken));
    let ends = lease.ends.unwrap();
    assert_eq!(ends.boot, after.boot);
    assert!((before.after(HOUR).wall..=after.after(HOUR).wall).contains(&ends.wall));
    assert!((before.after(HOUR).since_boot..=after.after(HOUR).since_boot).contains(&ends.since_boot));
}

/// Every token is greater than all before it, also those of leases that have ended.
pub fn tokens_only_grow(open: &Open) {
    let opened = open(Rules::Strict);
    let mut last = Token(0);
    for round in 0..4 {
        let lease = take(&opened, 1 + round % 2);
        assert!(lease.token > last, "{:?} after {last:?}", lease.token);
        last = lease.token;
        commit(&*opened.store, &list(), |txn| txn.end_lease(&id(1)).unwrap());
    }
}

/// Also a token whose lease ended in the very commit that gave it.
pub fn the_token_of_a_lease_that_ended_at_once_is_used_up(open: &Open) {
    let opened = open(Rules::Strict);
    let mut tokens = Vec::new();
    commit(&*opened.store, &list(), |txn| {
        txn.put(taken(1)).unwrap();
        txn.put(task(2, "nobody's")).unwrap();
        tokens = [1, 2].map(|number| txn.grant(new_lease(number)).unwrap().token).to_vec();
    });
    assert_eq!(leases(&opened).len(), 1, "task 2 is not ana's, so its lease stands for nothing");
    let next = take(&opened, 3).token;
    assert!(tokens.iter().all(|token| *token < next), "{next:?} after {tokens:?}");
}

/// A lease takes the place of the one before, whose token then changes nothing.
pub fn the_newest_lease_of_a_task_is_the_only_one(open: &Open) {
    let opened = open(Rules::Strict);
    let (first, second) = (take(&opened, 1), take(&opened, 1));
    assert_eq!(leases(&opened), slice::from_ref(&second));
    commit(&*opened.store, &list(), |txn| txn.set_lease(Lease { ends: None, ..first.clone() }).unwrap());
    assert_eq!(leases(&opened), [second]);
}

/// Dropped without a commit, nothing was given, changed or ended.
pub fn a_dropped_transaction_grants_nothing(open: &Open) {
    let opened = open(Rules::Strict);
    let kept = take(&opened, 1);
    let mut txn = opened.store.write(&list()).unwrap();
    txn.put(taken(2)).unwrap();
    txn.grant(new_lease(2)).unwrap();
    txn.end_lease(&id(1)).unwrap();
    drop(txn);
    assert_eq!(leases(&opened), slice::from_ref(&kept));
    let mut txn = opened.store.write(&list()).unwrap();
    txn.set_lease(Lease { ends: None, ..kept.clone() }).unwrap();
    drop(txn);
    assert_eq!(leases(&opened), [kept]);
}

/// A transaction reads its own leases, and no other reader does.
pub fn leases_are_seen_in_their_transaction_first(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 in_progress (ana)");
    let mut txn = opened.store.write(&list()).unwrap();
    let lease = txn.grant(new_lease(1)).unwrap();
    assert_eq!(txn.leases().unwrap(), [lease]);
    assert_eq!(leases(&opened), []);
    txn.end_lease(&id(1)).unwrap();
    assert_eq!(txn.leases().unwrap(), []);
}

/// A change that completes, removes or gives away a task ends the lease on it, in the same commit.
pub fn a_lease_ends_with_what_it_stood_for(open: &Open) {
    type Change = fn(&mut dyn Txn, &Image);
    let changes: [(&str, Change); 7] = [
        ("completed", |txn, _| txn.put(Task { status: Status::Completed, ..taken(1) }).unwrap()),
        ("given away", |txn, _| txn.put(Task { owner: Some("ben".into()), ..taken(1) }).unwrap()),
        ("given back", |txn, _| txn.put(Task { owner: None, status: Status::Pending, ..taken(1) }).unwrap()),
        ("removed", |txn, _| txn.remove(&id(1)).unwrap()),
        ("cleared", |txn, _| txn.clear().unwrap()),
        ("as it was before", |txn, before| txn.put_image(&id(1), before.clone()).unwrap()),
        ("no task any more", |txn, _| txn.put_image(&id(1), Image::new(*b"[]")).unwrap()),
    ];
    for rules in [Rules::Strict, CLIENT] {
        for (what, change) in changes {
            let opened = open(rules);
            let made = commit(&*opened.store, &list(), |txn| txn.put(task(1, "free")).unwrap()).unwrap();
            let before = made.entries[0].after.clone().unwrap();
            take(&opened, 1);
            let other = take(&opened, 2);
            let mut txn = opened.store.write(&list()).unwrap();
            change(&mut *txn, &before);
            drop(txn);
            assert_eq!(leases(&opened).len(), 2, "{what}, and dropped");
            commit(&*opened.store, &list(), |txn| change(txn, &before));
            let expected = if what == "cleared" { vec![] } else { vec![other] };
            assert_eq!(leases(&opened), expected, "{what}");
        }
    }
}

/// What else is written to a task leaves its lease alone.
pub fn a_lease_outlives_other_changes_of_its_task(open: &Open) {
    let opened = open(Rules::Strict);
    let lease = take(&opened, 1);
    for owner in ["ana", "ana@team"] {
        commit(&*opened.store, &list(), |txn| {
            txn.put(Task { subject: "other words".into(), owner: Some(owner.into()), ..taken(1) }).unwrap();
            txn.put(task(2, "another")).unwrap();
        });
        assert_eq!(leases(&opened), slice::from_ref(&lease));
    }
}

/// A task that moves to another list leaves its lease behind, and the lease ends.
pub fn a_lease_ends_when_its_task_moves_to_another_list(open: &Open) {
    let opened = open(Rules::Strict);
    take(&opened, 1);
    let other = ListId::new("other").unwrap();
    let mut pair = opened.store.write_both(&list(), &other).unwrap();
    pair.source().remove(&id(1)).unwrap();
    pair.target().put(taken(1)).unwrap();
    pair.commit(&signature(Op::Merge)).unwrap();
    assert_eq!(leases(&opened), []);
    assert_eq!(opened.store.read(&other).unwrap().leases().unwrap(), []);
}

/// Creating, changing and ending leases alone is not a commit: no revision, no entry, no event.
pub fn a_commit_with_only_leases_is_no_revision(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 in_progress (ana)");
    let yard = Yard::new(Arc::clone(&opened.store), list(), AgentName::new("follower").unwrap());
    let mut stream = yard.follow_only(Interest::in_list(&list()), Cursor::now()).unwrap();
    type Change = fn(&mut dyn Txn);
    let changes: [(Change, usize); 3] = [
        (|txn| drop(txn.grant(new_lease(1)).unwrap()), 1),
        (|txn| txn.set_lease(Lease { ends: Some(moment(7)), ..txn.leases().unwrap().remove(0) }).unwrap(), 1),
        (|txn| txn.end_lease(&id(1)).unwrap(), 0),
    ];
    for (change, count) in changes {
        assert_eq!(commit(&*opened.store, &list(), change), None);
        assert_eq!(leases(&opened).len(), count);
    }
    assert_eq!(revision(&opened), Revision(1));
    assert_eq!(opened.store.history(&list(), &HistoryQuery::default()).unwrap().len(), 1);
    // The next commit is the first that a follower hears of.
    let next = commit(&*opened.store, &list(), |txn| txn.put(task(2, "x")).unwrap()).unwrap();
    let told = stream.next_before(Some(Instant::now() + PATIENCE)).unwrap();
    assert!(matches!(&told, Some(Happening::Commit(event)) if event.revision == next.revision), "{told:?}");
}

/// A renewal changes the end of the lease it is for, and nothing where that lease is gone.
pub fn a_renewal_is_for_one_token(open: &Open) {
    let opened = open(Rules::Strict);
    let first = take(&opened, 1);
    let renewed = |lease: &Lease, end| Lease { ends: Some(moment(end)), ..lease.clone() };
    opened.store.renew(&list(), &[renewed(&first, 2000)]).unwrap();
    assert_eq!(leases(&opened), [renewed(&first, 2000)]);
    let second = take(&opened, 1);
    opened.store.renew(&list(), &[renewed(&first, 3000)]).unwrap();
    assert_eq!(leases(&opened), [second]);
    commit(&*opened.store, &list(), |txn| txn.end_lease(&id(1)).unwrap());
    opened.store.renew(&list(), &[renewed(&first, 4000)]).unwrap();
    assert_eq!(leases(&opened), []);
    assert_eq!(revision(&opened), Revision(1), "a renewal is no commit");
}

/// A renewal does not queue behind a transaction, and a transaction that leaves the lease alone does not undo it.
pub fn a_renewal_waits_for_no_transaction(open: &Open) {
    let opened = open(Rules::Strict);
    let lease = take(&opened, 1);
    let renewed = Lease { ends: Some(moment(9000)), ..lease };
    let mut txn = opened.store.write(&list()).unwrap();
    txn.leases().unwrap();
    txn.put(task(2, "meanwhile")).unwrap();
    let (renewing, wanted) = (opened.clone(), renewed.clone());
    finishes(move || renewing.store.renew(&list(), &[wanted]).unwrap());
    txn.commit(&signature(Op::Update)).unwrap().unwrap();
    assert_eq!(leases(&opened), [renewed]);
}

/// A writer that does not want to wait gets no transaction while there is another.
pub fn a_writer_that_does_not_wait_gets_no_second_transaction(open: &Open) {
    let opened = open(Rules::Strict);
    list_builder::fill(&*opened.store, &list(), "1 pending");
    let txn = opened.store.write(&list()).unwrap();
    let asking = opened.clone();
    assert!(finishes(move || asking.store.try_write(&list()).unwrap().is_none()));
    let other = ListId::new("other").unwrap();
    assert!(opened.store.try_write(&other).unwrap().is_some(), "another list is another matter");
    drop(txn);
    let mut txn = opened.store.try_write(&list()).unwrap().expect("nobody else is at it");
    txn.put(taken(1)).unwrap();
    txn.commit(&signature(Op::Update)).unwrap().unwrap();
    assert_eq!(opened.store.read(&list()).unwrap().find(&id(1)).unwrap().task(), Some(taken(1)));
}
