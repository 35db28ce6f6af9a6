//! What is old is thinned out, and a process that knew the list before learns all the same what it is now.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, ListId, Op, Revision, Rules, Task, TaskId};
use taskyard::operations::{NewTask, UndoRange};
use taskyard::store::{HistoryQuery, Signature, ThinOut, ThinnedOut};
use taskyard::{Outcome, Store, Yard};
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::{SharedPostgres, wait_for, wait_or};

#[test]
fn of_a_task_its_making_and_its_last_state_stay() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address);
    create(&yard, "kept");
    create(&yard, "deleted");
    for number in 0..10 {
        rename(&yard, 1, &format!("kept {number}"));
        rename(&yard, 2, &format!("deleted {number}"));
    }
    // A process that knows the list as it is now, and is asked only when all of it is old.
    let behind = self::yard(&address);
    assert_eq!(subjects(&behind), ["kept 9", "deleted 9"]);
    yard.delete(&[TaskId::number(2)]).unwrap().done().unwrap();
    rename(&yard, 1, "kept for good");
    let before = history(&yard);
    let dry = ThinOut { is_dry: true, ..everything() };
    assert_eq!(thin_until(&yard, &dry, 22).lists[0].entries, 22);
    assert_eq!(history(&yard), before);
    thin_until(&yard, &everything(), 22);
    let kept: Vec<(u64, Op)> = history(&yard).iter().map(|entry| (entry.0.0, entry.1)).collect();
    assert_eq!(kept, [(1, Op::Create), (24, Op::Update)]);
    assert_eq!(subjects(&behind), ["kept for good"]);
    assert_eq!(subjects(&self::yard(&address)), ["kept for good"]);
    let entries = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
    assert_eq!(entries[1].before, entries[0].after, "a replay gives what is there");
    let undone = yard.undo(UndoRange::One(Revision(5))).unwrap();
    assert!(matches!(undone, Outcome::Refused(Refusal::RevisionThinned { .. })), "{undone:?}");
    assert!(matches!(yard.undo(UndoRange::Newest).unwrap(), Outcome::Refused(Refusal::NothingToUndo)));
    create(&yard, "new");
    assert_eq!(subjects(&behind), ["kept for good", "new"]);
    assert_eq!(history(&yard).last().unwrap().0, Revision(25), "the revisions go on");
    assert_eq!(care(&yard).thinned(yard.list_id()).unwrap(), Revision(24));
    // What was done once is not done again.
    let again = care(&yard).thin_out(&everything()).unwrap();
    assert_eq!(again.lists, []);
}

#[test]
fn what_is_young_stays_to_the_letter() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address);
    create(&yard, "young");
    rename(&yard, 1, "still young");
    let before = history(&yard);
    let terms = ThinOut { keep: Duration::from_secs(3600), ..ThinOut::default() };
    assert_eq!(care(&yard).thin_out(&terms).unwrap(), ThinnedOut::default());
    assert_eq!(history(&yard), before);
}

#[test]
fn a_task_that_nobody_deleted_goes_when_it_is_named() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address);
    create(&yard, "vanished");
    create(&yard, "there");
    let mut txn = yard.store().write(yard.list_id()).unwrap();
    txn.remove(&TaskId::number(1)).unwrap();
    txn.commit(&Signature::new(AgentName::new("ana").unwrap(), Op::Update)).unwrap();
    create(&yard, "last");
    care(&yard).thin_out(&everything()).unwrap();
    let told = |yard: &Yard| history(yard).iter().filter(|entry| entry.2 == TaskId::number(1)).count();
    assert!(told(&yard) > 0, "nobody deleted it on purpose");
    let named = Some((yard.list_id().clone(), HashSet::from([TaskId::number(1)])));
    let forget = || {
        let forgotten = care(&yard).thin_out(&ThinOut { named: named.clone(), ..everything() }).unwrap();
        assert!(forgotten.lists.iter().all(|list| list.forgotten == [TaskId::number(1)]), "{forgotten:?}");
        (told(&yard) == 0).then_some(())
    };
    wait_or(forget, || format!("{:?}", history(&yard)));
}

#[test]
fn a_server_whose_clock_jumped_thins_nothing_unconfirmed() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address);
    create(&yard, "kept");
    create(&yard, "deleted");
    yard.delete(&[TaskId::number(2)]).unwrap().done().unwrap();
    let before = history(&yard);
    let year = ThinOut { keep: Duration::from_secs(365 * 86_400), ..ThinOut::default() };
    // A clock that is two years ahead, or behind, of everything that happened.
    for (shift, is_behind) in [("- 2 * 365", false), ("+ 4 * 365", true)] {
        sql(&address, &format!("UPDATE @.changes SET at = at {shift} * 86400000::bigint"));
        let thinned = care(&yard).thin_out(&year).unwrap();
        let doubt = thinned.doubt.unwrap();
        assert_eq!(doubt.now < doubt.last, is_behind, "{doubt}");
        assert_eq!((thinned.lists, history(&yard)), (Vec::new(), before.clone()));
    }
    sql(&address, "UPDATE @.changes SET at = at - 4 * 365 * 86400000::bigint");
    let thinned = care(&yard).thin_out(&ThinOut { is_confirmed: true, ..year }).unwrap();
    assert_eq!((thinned.lists[0].entries, thinned.doubt), (1, None), "{:?}", history(&yard));
}

#[test]
fn work_under_an_old_server_clock_keeps_its_history() {
    let address = SharedPostgres::get().fresh_address();
    let yard = yard(&address);
    create(&yard, "kept");
    create(&yard, "deleted");
    yard.delete(&[TaskId::number(2)]).unwrap().done().unwrap();
    sql(&address, "UPDATE @.changes SET at = at - 6 * 365 * 86400000::bigint");
    // The clock is set right.
    rename(&yard, 1, "kept for good");
    let before = history(&yard);
    let year = ThinOut { keep: Duration::from_secs(365 * 86_400), ..ThinOut::default() };
    assert_eq!(care(&yard).thin_out(&year).unwrap(), ThinnedOut::default());
    assert_eq!(history(&yard), before);
    // Where something happened every day, time has passed.
    for number in 0..20 {
        rename(&yard, 1, &format!("again {number}"));
    }
    sql(&address, "UPDATE @.changes SET at = at - (24 - revision) * 20 * 86400000::bigint WHERE revision > 3");
    let thinned = care(&yard).thin_out(&year).unwrap();
    assert!(thinned.lists[0].entries > 2, "{:?}", history(&yard));
    assert!(history(&yard).len() > 15, "{:?}", history(&yard));
}

/// Changes the tables, of which `@` is the schema.
fn sql(address: &str, sql: &str) {
    let schema = address.rsplit_once('=').unwrap().1;
    SharedPostgres::get().cluster().sql(&sql.replace('@', schema));
}

/// Thins out until so many entries are old: what happened within this millisecond is not.
fn thin_until(yard: &Yard, terms: &ThinOut, entries: u64) -> ThinnedOut {
    let mut gone = 0;
    wait_for(&format!("{entries} entries to go"), || {
        let thinned = care(yard).thin_out(terms).unwrap();
        let some: u64 = thinned.lists.iter().map(|list| list.entries).sum();
        gone = if terms.is_dry { some } else { gone + some };
        assert!(gone <= entries, "{gone} went");
        (gone == entries).then_some(thinned)
    })
}

fn everything() -> ThinOut {
    ThinOut { keep: Duration::ZERO, ..ThinOut::default() }
}

fn care(yard: &Yard) -> &dyn taskyard::store::SharedCare {
    yard.store().shared_care().unwrap()
}

fn history(yard: &Yard) -> Vec<(Revision, Op, TaskId)> {
    let entries = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
    entries.into_iter().map(|entry| (entry.revision, entry.op, entry.task)).collect()
}

fn subjects(yard: &Yard) -> Vec<String> {
    let tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
    tasks.into_iter().map(|task| task.subject).collect()
}

fn create(yard: &Yard, subject: &str) {
    yard.create(NewTask { subject: subject.into(), ..NewTask::default() }).unwrap().done().unwrap();
}

fn rename(yard: &Yard, number: u64, subject: &str) {
    let mut txn = yard.store().write(yard.list_id()).unwrap();
    let task = txn.find(&TaskId::number(number)).unwrap().task().unwrap();
    txn.put(Task { subject: subject.into(), ..task }).unwrap();
    txn.commit(&Signature::new(AgentName::new("ana").unwrap(), Op::Update)).unwrap();
}

fn yard(address: &str) -> Yard {
    let store = PostgresStore::open(address, address, &Surroundings::default(), Rules::Strict).unwrap();
    Yard::new(Arc::new(store) as Arc<dyn Store>, ListId::new("L").unwrap(), AgentName::new("ana").unwrap())
}
