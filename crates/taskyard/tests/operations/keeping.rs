//! Leases that are kept alive while an agent works, and changes that do not wait long for other writers.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use taskyard::core::rules::leases::leasing::Loss;
use taskyard::core::{AgentName, ListId, Rules};
use taskyard::operations::{Claim, Claimed, NewTask};
use taskyard::store::{FileStore, FileStoreOptions, MemoryStore, Store, StoreError};
use taskyard::{Error, Outcome, Yard};
use taskyard_testkit::{PATIENCE, is_once_within, list_builder};

use super::lost_answers::BadLine;
use super::{done, id, yard};

/// Long enough for a keeper on a busy machine to renew the lease in time.
const TTL: Duration = Duration::from_secs(4);

fn claimed(yard: &Yard) -> Claimed {
    let claim = Claim { ttl: Some(TTL), ..Claim::default() };
    let Outcome::Done(claimed) = yard.claim(&id(1), &claim).unwrap() else { panic!("it is free") };
    claimed
}

fn other(yard: &Yard) -> Yard {
    yard.acting_as(AgentName::new("bo").unwrap())
}

#[test]
fn a_kept_lease_outlives_its_time_until_its_keeper_is_finished() {
    let yard = yard("1 pending");
    let claimed = claimed(&yard);
    let keeper = yard.keep(&claimed.lease, |loss| panic!("{loss}")).unwrap();
    let ends = |yard: &Yard| yard.lease(&id(1)).unwrap().unwrap().ends.unwrap().wall;
    let given = ends(&yard);
    while ends(&yard).0 < given.0 + 2 * TTL.as_millis() as i64 {
        assert!(matches!(other(&yard).claim(&id(1), &Claim::default()).unwrap(), Outcome::Refused(_)));
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(keeper.finish(), None);
    done(yard.proving(claimed.lease.token).done(&id(1)));
}

#[test]
fn a_keeper_of_a_lease_is_told_when_it_is_lost() {
    let yard = yard("1 pending");
    let claimed = claimed(&yard);
    let (tell, hear) = mpsc::channel();
    let keeper = yard.keep(&claimed.lease, move |loss| tell.send(loss.clone()).unwrap()).unwrap();
    done(other(&yard).overruling().release(&id(1)));
    assert!(matches!(other(&yard).claim(&id(1), &Claim::default()).unwrap(), Outcome::Done(_)));
    assert_eq!(hear.recv_timeout(PATIENCE).unwrap(), Loss::TakenBy("bo".into()));
    assert_eq!(keeper.finish(), Some(Loss::TakenBy("bo".into())));
}

#[test]
fn an_agent_that_completed_its_task_has_lost_nothing() {
    let yard = yard("1 pending");
    let claimed = claimed(&yard);
    let keeper = yard.keep(&claimed.lease, |loss| panic!("{loss}")).unwrap();
    done(yard.done(&id(1)));
    thread::sleep(TTL);
    assert_eq!(keeper.finish(), None);
}

#[test]
fn lease_in_unreachable_store_is_lost_after_its_ttl() {
    let store = MemoryStore::new(Rules::Strict);
    list_builder::fill(&store, &ListId::new("L").unwrap(), "1 pending");
    let line = Arc::new(BadLine::new(store));
    let yard = Yard::new(Arc::clone(&line) as _, ListId::new("L").unwrap(), AgentName::new("ana").unwrap());
    let started = Instant::now();
    let claimed = claimed(&yard);
    let (tell, hear) = mpsc::channel();
    let _keeper = yard.keep(&claimed.lease, move |loss| tell.send(loss.clone()).unwrap()).unwrap();
    line.cut_off();
    assert_eq!(hear.recv_timeout(PATIENCE).unwrap(), Loss::NotRenewed);
    assert!(started.elapsed() >= TTL, "it was given up before its time was over");
}

#[test]
fn a_change_waits_for_others_as_long_as_its_yard_says() {
    let folder = tempfile::tempdir().unwrap();
    let (tasks, data) = (folder.path().join("tasks"), Some(folder.path().join("data")));
    let options = FileStoreOptions { tasks, data, rules: Rules::Strict };
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new(Rules::Strict)), Arc::new(FileStore::open(options))];
    for store in stores {
        let list = ListId::new("L").unwrap();
        let yard = Yard::new(Arc::clone(&store), list.clone(), AgentName::new("ana").unwrap());
        let new = || NewTask { subject: "New".into(), ..NewTask::default() };
        done(yard.create(new()));
        let impatient = yard.with_patience(Duration::from_millis(150));
        let turn = store.write(&list).unwrap();
        // A yard that nobody told waits twice as long.
        is_once_within(Duration::from_secs(6), "giving up", || {
            let started = Instant::now();
            let error = impatient.create(new()).unwrap_err();
            assert!(matches!(&error, Error::Store(StoreError::Busy { .. })), "{error}");
            assert!(started.elapsed() >= Duration::from_millis(150), "{error}");
            started.elapsed()
        });
        drop(turn);
        done(impatient.create(new()));
    }
}
