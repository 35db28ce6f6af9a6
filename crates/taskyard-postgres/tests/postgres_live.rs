//! The list in memory of a running process is what a fresh look at the database finds, whichever process changed it, and is let go when no
//! caller asks for it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::sync::Arc;
use std::time::Duration;

use taskyard::core::rules::claims::readiness::rank;
use taskyard::core::{AgentName, ListId, Rules, TaskId, Timestamp};
use taskyard::operations::{Claim, NewTask, UndoRange};
use taskyard::{Store, Yard};
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::properties::random_operations_keep_the_invariants;
use taskyard_testkit::{Random, Scale, SharedPostgres};

#[test]
fn whatever_is_done_the_invariants_hold() {
    random_operations_keep_the_invariants(
        |rules| store(&SharedPostgres::get().fresh_address(), rules),
        Rules::Strict,
        20,
    );
}

#[test]
fn the_list_in_memory_is_what_a_fresh_look_finds_whichever_process_changes_it() {
    let address = SharedPostgres::get().fresh_address();
    let yards = ["ana", "ben", "eve"].map(|agent| yard(&address, agent));
    let mut random = Random::new(11);
    for step in 0..Scale::from_environment(0.1).of(500) {
        change(&yards[random.below(yards.len())], &mut random);
        if step % 5 == 0 {
            yards.iter().for_each(|yard| assert_is_as_a_fresh_look_finds_it(yard, &address));
        }
    }
}

#[test]
fn a_transaction_sees_the_list_in_memory_as_it_began() {
    let address = SharedPostgres::get().fresh_address();
    let (ours, theirs) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&ours, &[]);
    assert_eq!(ours.store().read(&list()).unwrap().live().unwrap().unwrap().len(), 1);
    create(&theirs, &[TaskId::number(1)]);
    let mut txn = ours.store().write(&list()).unwrap();
    txn.remove(&TaskId::number(1)).unwrap();
    assert_eq!(txn.staged(), [TaskId::number(1)]);
    let live = txn.live().unwrap().unwrap();
    assert_eq!((live.revision().0, live.waiting_for(&TaskId::number(1))), (2, vec![TaskId::number(2)]));
}

#[test]
fn a_list_that_nobody_asks_for_is_let_go() {
    let address = SharedPostgres::get().fresh_address();
    let store = PostgresStore::open(&address, &address, &Surroundings::default(), Rules::Strict).unwrap();
    let store = Arc::new(store.letting_go_after(Duration::from_millis(500)));
    let yard = Yard::new(Arc::clone(&store) as Arc<dyn Store>, list(), AgentName::new("ana").unwrap());
    create(&yard, &[]);
    assert_eq!(store.lists_in_memory(), [list()]);
    let other = ListId::new("M").unwrap();
    while !store.lists_in_memory().is_empty() {
        store.read(&other).unwrap().tasks().unwrap();
    }
    // A caller that asks again finds the list as it is.
    assert_is_as_a_fresh_look_finds_it(&yard, &address);
}

fn change(yard: &Yard, random: &mut Random) {
    let open = yard.store().read(&list()).unwrap().tasks().unwrap();
    let any = |random: &mut Random| (!open.is_empty()).then(|| open[random.below(open.len())].id.clone());
    match random.below(10) {
        0..=3 => create(yard, &any(random).into_iter().collect::<Vec<_>>()),
        4 | 5 => drop(yard.claim_next(&Claim::default()).unwrap()),
        6 => drop(any(random).map(|id| yard.release(&id).unwrap())),
        7 => drop(any(random).map(|id| yard.done(&id).unwrap())),
        8 => drop(any(random).map(|id| yard.delete(&[id]).unwrap())),
        _ => drop(yard.undo(UndoRange::Newest).unwrap()),
    }
}

fn assert_is_as_a_fresh_look_finds_it(yard: &Yard, address: &str) {
    let expected = self::yard(address, "fresh").store().read(&list()).unwrap().tasks().unwrap();
    let snapshot = yard.store().read(&list()).unwrap();
    assert_eq!(snapshot.tasks().unwrap(), expected);
    let live = snapshot.live().unwrap().unwrap();
    assert_eq!((live.tasks(), live.revision()), (expected.clone(), snapshot.revision()));
    let ready: Vec<TaskId> = live.ready().map(|ready| ready.id).collect();
    let ranked: Vec<TaskId> =
        rank(&expected, None, Timestamp(0), Rules::Strict).into_iter().map(|ranked| ranked.task.id).collect();
    assert_eq!(ready, ranked);
}

fn create(yard: &Yard, blocked_by: &[TaskId]) {
    let new = NewTask { subject: "made".into(), blocked_by: blocked_by.to_vec(), ..NewTask::default() };
    drop(yard.create(new).unwrap());
}

fn store(address: &str, rules: Rules) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(address, address, &Surroundings::default(), rules).unwrap())
}

fn yard(address: &str, agent: &str) -> Yard {
    Yard::new(store(address, Rules::Strict), list(), AgentName::new(agent).unwrap())
}

fn list() -> ListId {
    ListId::new("L").unwrap()
}
