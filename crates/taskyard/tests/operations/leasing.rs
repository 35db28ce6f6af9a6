//! How long a lease lives, and what it stands for when other programs and other clocks have their say.

use std::sync::Arc;
use std::time::Duration;

use taskyard::core::rules::refusal::ClaimRefusal;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, Holder, Lease, ListId, Op, Rules, Status, Task, Token};
use taskyard::liveness::World;
use taskyard::operations::{Claim, Claimed, DEFAULT_LEASE, MergeWhich, OwnerChange, Patch, UndoRange, Update};
use taskyard::store::MemoryStore;
use taskyard::{Outcome, StartLease, Yard};
use taskyard_testkit::TurnedWorld;

use super::{CLIENT, done, elsewhere, id, refused, task, yard, yard_in, yard_on};

const MINUTE: Duration = Duration::from_secs(60);

fn in_a_world(line: &str) -> (Yard, Arc<TurnedWorld>) {
    let world = Arc::new(TurnedWorld::default());
    let store = MemoryStore::new(Rules::Strict).with_clock(world.clock());
    (yard_on(store, Rules::Strict, line).in_world(Arc::clone(&world) as Arc<dyn World>), world)
}

fn for_a_minute() -> Claim {
    Claim { ttl: Some(MINUTE), ..Claim::default() }
}

fn claimed(outcome: Outcome<Claimed>) -> Claimed {
    match outcome {
        Outcome::Done(claimed) => claimed,
        Outcome::Refused(refusal) => panic!("{refusal}"),
    }
}

fn reason(outcome: Outcome<Claimed>) -> ClaimRefusal {
    match outcome {
        Outcome::Refused(refusal) => refusal.of_claim().unwrap().clone(),
        Outcome::Done(claimed) => panic!("{claimed:?}"),
    }
}

fn as_ben(yard: &Yard) -> Yard {
    yard.acting_as(AgentName::new("ben").unwrap())
}

fn ben(yard: &Yard) -> Yard {
    yard.acting_as(AgentName::new("ben").unwrap())
}

#[test]
fn starting_is_owning_and_an_agent_gets_a_lease() {
    let ana = yard("1 pending; 2 pending");
    let started = done(ana.start(&id(1)));
    assert_eq!(started.task.owner(), Some("ana"));
    let lease = started.lease.unwrap();
    assert_eq!((lease.agent.as_str(), lease.ttl), ("ana", Some(DEFAULT_LEASE)));
    let taken = Some(lease.taken);
    assert!(matches!(refused(ben(&ana).start(&id(1))), Refusal::Leased { since, .. } if since == taken));
    let to_cleo =
        Patch { status: Some(Status::InProgress), owner: Some(OwnerChange::Set("cleo".into())), ..Patch::default() };
    let given = done(ana.update(&id(2), Update { patch: to_cleo, ..Update::default() }));
    assert_eq!((given.task.owner(), given.lease), (Some("cleo"), None), "an owner that is given wins");
}

#[test]
fn what_a_person_starts_has_an_owner_and_no_lease() {
    let ana = yard("1 pending").with_start_lease(None);
    let started = done(ana.start(&id(1)));
    assert_eq!((started.task.owner(), &started.lease), (Some("ana"), &None));
    let expected = |since| Refusal::OwnedByAnother { task: id(1), owner: "ana".into(), since };
    let since = ana.owned_since(&started.task).unwrap();
    assert!(since.is_some());
    assert_eq!(refused(ben(&ana).start(&id(1))), expected(since));
    let Outcome::Refused(refusal) = ben(&ana).claim(&id(1), &Claim::default()).unwrap() else { panic!() };
    assert_eq!(refusal.of_claim().map(ClaimRefusal::as_str), Some("already_claimed"));
    let taken_over = done(ben(&ana).with_start_lease(Some(StartLease::default())).overruling().start(&id(1)));
    assert_eq!(
        (taken_over.task.owner(), taken_over.lease.map(|lease| lease.agent.to_string())),
        (Some("ben"), Some("ben".into()))
    );
    assert_eq!(done(ben(&ana).release(&id(1))).task.owner(), None);
}

#[test]
fn a_completed_task_that_is_started_is_the_actors() {
    let ana = yard("1 completed (ben)");
    assert_eq!(done(ana.start(&id(1))).task.owner(), Some("ana"));
    let client = yard_in(CLIENT, "1 pending");
    let started = done(client.start(&id(1)));
    assert_eq!((started.task.owner(), started.lease), (None, None), "the client's rules change no owner");
}

#[test]
fn looking_renews_a_lease_that_is_alive() {
    let (yard, world) = in_a_world("1 pending");
    claimed(yard.claim(&id(1), &for_a_minute()).unwrap());
    for _ in 0..3 {
        world.pass(MINUTE * 3 / 4);
        yard.list(&Default::default()).unwrap();
        assert_eq!(task(&yard, 1).owner(), Some("ana"));
    }
    assert!(matches!(
        reason(as_ben(&yard).claim(&id(1), &for_a_minute()).unwrap()),
        ClaimRefusal::AlreadyClaimed { .. }
    ));
}

#[test]
fn looking_does_not_bring_a_lease_back_that_has_ended() {
    let (yard, world) = in_a_world("1 pending");
    let token = claimed(yard.claim(&id(1), &for_a_minute()).unwrap()).lease.token;
    world.pass(MINUTE);
    // A transaction is open, so that a reader cannot record the end.
    let writing = yard.store().write(yard.list_id()).unwrap();
    yard.list(&Default::default()).unwrap();
    drop(writing);
    assert_eq!(yard.live_leases().unwrap(), []);
    assert!(matches!(refused(yard.proving(token).done(&id(1))), Refusal::StaleToken { .. }));
    let now = task(&yard, 1);
    assert_eq!((now.status, now.owner()), (Status::Pending, None));
}

#[test]
fn lease_outliving_its_connection_still_has_an_end() {
    for ask_again in [claim_again as fn(&Yard, Token) -> Lease, renew] {
        let (yard, world) = in_a_world("1 pending");
        let process = world.start_process();
        let holder = Some(Holder::Connection { process: process.clone(), grace: MINUTE });
        let lease = claimed(yard.claim(&id(1), &Claim { ttl: None, holder, ..Claim::default() }).unwrap()).lease;
        world.end_process(&process);
        yard.return_ended_leases().unwrap();
        assert_eq!(ask_again(&yard, lease.token).token, lease.token);
        world.pass(MINUTE * 600);
        yard.return_ended_leases().unwrap();
        assert_eq!(task(&yard, 1).owner(), None);
    }
}

fn claim_again(yard: &Yard, _: Token) -> Lease {
    claimed(yard.claim(&id(1), &for_a_minute()).unwrap()).lease
}

fn renew(yard: &Yard, token: Token) -> Lease {
    done(yard.renew(&id(1), token, None)).1
}

#[test]
fn freed_task_is_next_although_old_holder_lives() {
    let (yard, world) = in_a_world("1 pending");
    let holding = |process| Claim { ttl: None, holder: Some(Holder::Process(process)), ..Claim::default() };
    claimed(yard.claim_next(&holding(world.start_process())).unwrap());
    // The client writes files; no lease ends with that.
    let lease = yard.lease(&id(1)).unwrap().unwrap();
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        txn.put(Task { owner: None, status: Status::Pending, ..task_without(1) }).unwrap();
    });
    elsewhere(&yard, Op::ChangedElsewhere, |txn| {
        txn.grant(taskyard::store::NewLease {
            task: lease.task.clone(),
            agent: lease.agent.clone(),
            ttl: lease.ttl,
            holder: lease.holder.clone(),
        })
        .unwrap();
    });
    let won = claimed(as_ben(&yard).claim_next(&holding(world.start_process())).unwrap());
    assert_eq!((won.task.id, won.task.owner), (id(1), Some("ben".into())));
}

fn task_without(number: u64) -> Task {
    Task::new(id(number), "free again")
}

#[test]
fn a_late_writer_learns_who_has_the_task_now() {
    let (yard, world) = in_a_world("1 pending");
    let token = claimed(yard.claim(&id(1), &for_a_minute()).unwrap()).lease.token;
    world.pass(MINUTE);
    let ben = claimed(as_ben(&yard).claim_next(&for_a_minute()).unwrap());
    assert!(ben.lease.token > token);
    let late = refused(yard.proving(token).done(&id(1)));
    assert_eq!(late.to_string(), format!("token {token} is no longer valid for task 1: ben has it now"));
    assert!(matches!(refused(yard.done(&id(1))), Refusal::Leased { .. }));
}

#[test]
fn a_clock_that_people_set_neither_ends_nor_prolongs_a_lease() {
    const DAY: i64 = 86_400_000;
    for by in [DAY, -DAY] {
        let (yard, world) = in_a_world("1 pending");
        claimed(yard.claim(&id(1), &for_a_minute()).unwrap());
        world.set_wall_clock(by);
        world.pass(MINUTE - Duration::from_millis(1));
        as_ben(&yard).return_ended_leases().unwrap();
        assert_eq!(task(&yard, 1).owner(), Some("ana"));
        world.pass(Duration::from_millis(1));
        as_ben(&yard).return_ended_leases().unwrap();
        assert_eq!(task(&yard, 1).owner(), None);
    }
}

#[test]
fn what_a_restart_of_the_machine_ends() {
    let (yard, world) = in_a_world("1 pending; 2 pending");
    claimed(yard.claim(&id(1), &for_a_minute()).unwrap());
    let holder = Some(Holder::Process(world.start_process()));
    claimed(yard.claim(&id(2), &Claim { ttl: None, holder, ..Claim::default() }).unwrap());
    // Less than the minute and the margin of 30 seconds.
    world.restart(MINUTE * 5 / 4);
    as_ben(&yard).return_ended_leases().unwrap();
    assert_eq!((task(&yard, 1).owner(), task(&yard, 2).owner()), (Some("ana"), None));
    world.pass(MINUTE / 4);
    as_ben(&yard).return_ended_leases().unwrap();
    assert_eq!(task(&yard, 1).owner(), None);
}

#[test]
fn what_somebody_works_on_is_not_taken_back_by_another() {
    let (yard, _) = in_a_world("1 pending");
    let taken = claimed(yard.claim(&id(1), &for_a_minute()).unwrap()).revision.unwrap();
    let ben = as_ben(&yard);
    assert!(matches!(refused(ben.undo(UndoRange::One(taken))), Refusal::Leased { .. }));
    done(ben.overruling().undo(UndoRange::One(taken)));
    assert_eq!((task(&yard, 1).owner(), yard.live_leases().unwrap()), (None, vec![]));
    let again = claimed(yard.claim(&id(1), &for_a_minute()).unwrap()).revision.unwrap();
    done(yard.undo(UndoRange::One(again)));
}

#[test]
fn what_somebody_works_on_is_not_moved_away() {
    let ana = yard("1 pending");
    claimed(ana.claim(&id(1), &Claim::default()).unwrap());
    let ben = as_ben(&ana);
    let away = ListId::new("away").unwrap();
    let moved = |yard: &Yard| yard.merge(yard.list_id(), &away, MergeWhich::All);
    assert!(matches!(refused(moved(&ben)), Refusal::Leased { .. }));
    assert_eq!(done(moved(&ben.overruling())).tasks.len(), 1);
    assert_eq!(ben.live_leases().unwrap(), []);
}
