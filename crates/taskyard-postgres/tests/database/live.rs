//! The list in memory of a running process is what a fresh look at the database finds, whichever process changed it, and is let go when no
//! caller asks for it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard::core::rules::claims::readiness::rank;
use taskyard::core::{AgentName, Entry, ListId, Op, Revision, Rules, Task, TaskId, Timestamp};
use taskyard::operations::{Claim, NewTask, UndoRange, Update, Updated};
use taskyard::store::{ExpectedReads, HistoryQuery, Signature};
use taskyard::stream::{Cursor, Happening};
use taskyard::{Outcome, Store, Yard};
use taskyard_postgres::{PostgresStore, Surroundings};
use taskyard_testkit::properties::random_operations_keep_the_invariants;
use taskyard_testkit::{CountingProxy, Random, Scale, SharedPostgres, finishes, wait_until};

#[test]
fn whatever_is_done_the_invariants_hold() {
    random_operations_keep_the_invariants(
        |rules| store(&SharedPostgres::get().fresh_address(), rules),
        Rules::Strict,
        20,
    );
}

#[test]
fn list_in_memory_equals_a_fresh_read_after_any_change() {
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
fn threads_that_ask_within_transactions_go_on() {
    let address = SharedPostgres::get().fresh_address();
    let store = store(&address, Rules::Strict);
    finishes(move || {
        let threads = ["one", "two", "three"].map(|name| {
            let (store, list) = (Arc::clone(&store), ListId::new(name).unwrap());
            thread::spawn(move || {
                for _ in 0..10 {
                    let txn = store.write(&list).unwrap();
                    // Another connection is needed for each.
                    assert_eq!(store.history(&list, &HistoryQuery::default()).unwrap(), []);
                    drop(txn);
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
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

#[test]
fn a_follower_has_in_memory_what_a_fresh_look_finds() {
    let address = SharedPostgres::get().fresh_address();
    let [ours, ben, eve] = ["ana", "ben", "eve"].map(|agent| yard(&address, agent));
    create(&ben, &[]);
    let mut stream = ours.follow(Cursor::after(&list(), Revision(0))).unwrap();
    let (mut random, mut heard): (_, Vec<Entry>) = (Random::new(12), Vec::new());
    for _ in 0..Scale::from_environment(0.1).of(300) {
        change([&ours, &ben, &eve][random.below(3)], &mut random);
        let fresh = store(&address, Rules::Strict);
        let expected = fresh.read(&list()).unwrap();
        wait_until("the follower to hear of it", || {
            while let Some(happening) = stream.try_next().unwrap() {
                let Happening::Commit(event) = happening else { panic!("only commits are followed: {happening:?}") };
                heard.extend(event.entries);
            }
            let recollected = ours.store().recollect(&list()).unwrap();
            // Leases also change without a commit.
            heard.last().is_some_and(|entry| entry.revision == expected.revision())
                && recollected.revision() == expected.revision()
                && recollected.tasks().unwrap() == expected.tasks().unwrap()
                && recollected.leases().unwrap() == expected.leases().unwrap()
        });
    }
    assert_eq!(heard, store(&address, Rules::Strict).history(&list(), &HistoryQuery::default()).unwrap());
}

#[test]
fn a_list_that_is_renamed_is_followed_with_its_history() {
    let address = SharedPostgres::get().fresh_address();
    let (ours, theirs) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&theirs, &[]);
    create(&theirs, &[TaskId::number(1)]);
    let named = ListId::new("M").unwrap();
    // This process knows both names, the other one as that of a list whose tasks have moved away.
    for (from, into) in [(list(), named.clone()), (named.clone(), list()), (list(), named.clone())] {
        for list in [&from, &into] {
            ours.store().read(list).unwrap().tasks().unwrap();
        }
        let newest = ours.store().read(&into).unwrap().revision();
        let mut stream = ours.on(into.clone()).follow(Cursor::after(&into, newest)).unwrap();
        assert_eq!(theirs.rename_list(&from, &into).unwrap().done().unwrap().len(), 2);
        let mut heard: Vec<Entry> = Vec::new();
        wait_until("the follower to hear of it", || {
            while let Some(Happening::Commit(event)) = stream.try_next().unwrap() {
                heard.extend(event.entries);
            }
            heard.last().is_some_and(|entry| entry.op == Op::Rename)
        });
        for list in [&from, &into] {
            let [known, fresh] = [ours.store(), &*store(&address, Rules::Strict)].map(|store| {
                let snapshot = store.read(list).unwrap();
                (snapshot.tasks().unwrap(), snapshot.revision())
            });
            assert_eq!(known, fresh);
        }
        let newer = HistoryQuery { since: newest, ..HistoryQuery::default() };
        assert_eq!(heard, store(&address, Rules::Strict).history(&into, &newer).unwrap());
        create(&theirs.on(into.clone()), &[]);
        theirs.on(into).undo(UndoRange::Newest).unwrap().done().unwrap();
    }
    // What was done under the first name is taken back under the last one.
    assert!(theirs.on(named).undo(UndoRange::One(Revision(2))).unwrap().done().is_ok());
}

#[test]
fn a_commit_too_large_to_be_told_is_read() {
    let address = SharedPostgres::get().fresh_address();
    let (ours, theirs) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&theirs, &[]);
    let mut stream = ours.follow(Cursor::now()).unwrap();
    let description = "x".repeat(20_000);
    let new = NewTask { subject: "large".into(), description: description.clone(), ..NewTask::default() };
    drop(theirs.create(new).unwrap());
    let Some(Happening::Commit(event)) = stream.next().transpose().unwrap() else { panic!("it was committed") };
    assert_eq!(event.revision, Revision(2));
    let found = ours.store().recollect(&list()).unwrap().find(&TaskId::number(2)).unwrap().task().unwrap();
    assert_eq!(found.description, description);
}

#[test]
fn a_list_is_not_read_again_after_an_import() {
    let server = SharedPostgres::get();
    let proxy = CountingProxy::before(server.cluster());
    let store = store(&proxy.address(&server.fresh_address()), Rules::Strict);
    let mut txn = store.write(&list()).unwrap();
    for number in 1..=6_000 {
        txn.put(Task::new(TaskId::number(number), format!("task {number}"))).unwrap();
    }
    txn.commit(&Signature::new(AgentName::new("ana").unwrap(), Op::Import)).unwrap();
    proxy.reset();
    assert_eq!(store.read(&list()).unwrap().tasks().unwrap().len(), 6_000);
    let bytes = proxy.bytes_answered();
    assert!(bytes < 20_000, "{bytes} bytes were read");
}

/// What a process that knows the channel may tell of the next commit of a list at its first revision.
fn forged(cluster_schema: &str, entries: &Value, leases: &Value) -> Value {
    let known = SharedPostgres::get().cluster().sql(&format!(
        "SELECT epoch || ' ' || head || ' ' || c.version FROM {cluster_schema}.yard, {cluster_schema}.lists, {cluster_schema}.lease_clocks c"
    ));
    let [epoch, head] = [0, 1].map(|place| known.split(' ').nth(place).unwrap());
    let is_commit = entries.as_array().is_some_and(|entries| !entries.is_empty());
    let attempt = if is_commit { "f".repeat(32) } else { head.to_owned() };
    json!({
        "epoch": epoch, "base": 1, "baseAttempt": head, "revision": if is_commit { 2 } else { 1 }, "attempt": attempt,
        "at": 1, "user": "eve", "actor": "eve", "op": "update", "undoes": [], "entries": entries, "leases": leases,
        "token": 0, "mark": 0.0,
    })
}

#[test]
fn a_commit_that_was_only_told_is_taken_back() {
    let server = SharedPostgres::get();
    let address = server.fresh_address();
    let schema = address.split_once("schema=").unwrap().1.to_owned();
    let (ours, theirs) = (yard(&address, "ana"), yard(&address, "ben"));
    create(&theirs, &[]);
    let epochs = || server.cluster().sql(&format!("SELECT count(*) FROM {schema}.epochs"));
    let before = epochs();
    let mut stream = ours.follow(Cursor::now()).unwrap();
    wait_until("the follower to have read the list", || {
        let _ = stream.try_next().unwrap();
        ours.store().recollect(&list()).is_some_and(|list| list.revision() == Revision(1))
    });
    let image = r#"{"id":"1","subject":"forged","description":"","status":"completed","blocks":[],"blockedBy":[]}"#;
    let body = json!({ "agent": "eve", "taken": 1, "ttl": null, "holder": null }).to_string();
    let lease = json!({ "token": 7, "body": body, "ends": null });
    for told in [
        forged(&schema, &json!([{ "task": "1", "after": image, "remark": null }]), &Value::Null),
        forged(&schema, &json!([]), &json!({ "base": 0, "changed": { "1": lease }, "beats": false })),
    ] {
        let channel = server.cluster().sql(&format!("SELECT channel FROM {schema}.commit_channels"));
        let told = told.to_string().replace('\'', "''");
        wait_until("the notification to be heard", || {
            // Again and again: the follower may not listen yet.
            server.cluster().sql(&format!("NOTIFY {channel}, '{told}'"));
            let _ = stream.try_next().unwrap();
            let seen = ours.store().recollect(&list()).unwrap();
            seen.revision() == Revision(2) || !seen.leases().unwrap().is_empty()
        });
        // Whoever asks finds the list as it is.
        let found = ours.store().read(&list()).unwrap();
        assert_eq!((found.revision(), found.leases().unwrap().len()), (Revision(1), 0));
        assert_eq!(found.find(&TaskId::number(1)).unwrap().task().unwrap().subject, "made");
    }
    assert_eq!(epochs(), before, "nothing was lost");
    assert!(matches!(ours.claim(&TaskId::number(1), &Claim::default()).unwrap(), Outcome::Done(_)));
    wait_until("the follower to hear of the claim", || {
        let told = stream.try_next().unwrap();
        matches!(told, Some(Happening::Commit(event)) if event.entries[0].op == Op::Claim)
    });
}

#[test]
fn a_change_that_reads_on_demand_is_the_same() {
    let server = SharedPostgres::get();
    let (whole, on_demand) = (server.fresh_address(), server.fresh_address());
    let mut random = Random::new(13);
    for step in 0..Scale::from_environment(0.1).of(600) {
        let (deed, first, second) = (random.below(8), 1 + random.below(12), 1 + random.below(12));
        let ids = [first, second].map(|number| TaskId::number(number as u64));
        let named = if deed == 0 && step % 3 == 0 { Vec::new() } else { ids[..1].to_vec() };
        let [known, read] = [&whole, &on_demand].map(|address| {
            let yard = yard(address, "ana");
            let call = (*address == on_demand).then(|| {
                let expected = ExpectedReads {
                    list: Some(list()),
                    tasks: Some(named.clone()),
                    is_change: true,
                    ..ExpectedReads::default()
                };
                yard.store().begin_call(expected).unwrap()
            });
            let outcome = change_one(&yard, deed, step % 3, &ids);
            drop(call);
            outcome
        });
        assert_eq!(known, read, "step {step}: {deed} {ids:?}");
    }
    let tasks = |address: &str| yard(address, "ana").store().read(&list()).unwrap().tasks().unwrap();
    assert_eq!(tasks(&whole), tasks(&on_demand));
}

#[test]
fn ties_of_an_older_list_are_written_by_its_first_commit() {
    let server = SharedPostgres::get();
    let address = server.fresh_address();
    let new = yard(&address, "ana");
    create(&new, &[]);
    create(&new, &[TaskId::number(1)]);
    let older = server.in_first_version(&address);
    let on_demand = || {
        let yard = yard(&older, "ana");
        let tasks = Some(vec![TaskId::number(1)]);
        let expected = ExpectedReads { list: Some(list()), tasks, is_change: true, ..ExpectedReads::default() };
        let call = yard.store().begin_call(expected).unwrap();
        (yard, call)
    };
    let schema = older.split_once("schema=").unwrap().1;
    for deed in [1, 4, 1] {
        let (yard, call) = on_demand();
        let told = change_one(&yard, deed, 0, &[TaskId::number(1), TaskId::number(2)]);
        drop(call);
        assert_eq!(told.ends_with("[#2] []"), deed == 1, "{told}");
        assert_eq!(server.cluster().sql(&format!("SELECT count(*) FROM {schema}.ties")), "2");
    }
}

/// Makes a change, and says what came of it.
fn change_one(yard: &Yard, deed: usize, kind: usize, [id, other]: &[TaskId; 2]) -> String {
    let updated = |outcome: Outcome<Updated>| match outcome {
        Outcome::Done(Updated { task, now_ready, open_blockers, .. }) => {
            format!("{task:?} {now_ready:?} {open_blockers:?}")
        }
        Outcome::Refused(refusal) => format!("{refusal:?}"),
    };
    match deed {
        0 => {
            let mut new = NewTask { subject: "made".into(), ..NewTask::default() };
            match kind {
                0 => {}
                1 => new.blocked_by = vec![id.clone()],
                _ => new.metadata = Some([("parent".to_owned(), json!(id.as_str()))].into_iter().collect()),
            }
            match yard.create(new).unwrap() {
                Outcome::Done(created) => format!("{:?}", created.task),
                Outcome::Refused(refusal) => format!("{refusal:?}"),
            }
        }
        1 | 2 => updated(yard.done(id).unwrap()),
        3 => match yard.claim(id, &Claim { limit: (kind > 0).then_some(kind), ..Claim::default() }).unwrap() {
            Outcome::Done(claimed) => format!("{:?}", claimed.task),
            Outcome::Refused(refusal) => format!("{refusal:?}"),
        },
        4 => updated(yard.reopen(id).unwrap()),
        5 => format!("{:?}", yard.delete(std::slice::from_ref(id)).unwrap().map(|_| ())),
        6 => updated(yard.update(id, Update { add_blocked_by: vec![other.clone()], ..Update::default() }).unwrap()),
        _ => updated(yard.start(id).unwrap()),
    }
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
