//! Leases on disk: what other handles and other releases find.

use std::path::PathBuf;
use std::sync::Arc;

use taskyard::core::dialect::native;
use taskyard::core::{AgentName, ListId, Rules, Task, TaskId, Token};
use taskyard::operations::{Claim, Claimed, NewTask};
use taskyard::store::{FileStore, FileStoreOptions, HistoryQuery, StoreClock, StoreError};
use taskyard::{Error, Outcome, Yard};
use taskyard_testkit::properties::{Outside, leases_keep_their_promises};
use taskyard_testkit::{Opened, images, list_builder, make_first_format, make_second_format, set_format};
use tempfile::TempDir;

#[test]
fn leases_keep_their_promises_whatever_happens() {
    leases_keep_their_promises(files, 200);
}

fn files(clock: StoreClock) -> (Opened, Outside) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("tasks");
    let options =
        FileStoreOptions { tasks: directory.clone(), data: Some(folder.path().join("data")), rules: Rules::Strict };
    let outside = move |list: &ListId, task: &Task| {
        let image = native::write(None, task, Rules::Strict).unwrap();
        let file = directory.join(list.directory()).join(format!("{}.json", task.id.file_stem()));
        std::fs::write(file, image.bytes()).unwrap();
    };
    (Opened::keeping(Arc::new(FileStore::open(options).with_clock(clock)), folder), Box::new(outside))
}

fn open(folder: &TempDir) -> Yard {
    let (tasks, data) = (folder.path().join("tasks"), Some(folder.path().join("data")));
    let store = FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict });
    Yard::new(Arc::new(store), list(), AgentName::new("ana").unwrap())
}

fn sidecar(folder: &TempDir) -> PathBuf {
    let (tasks, data) = (folder.path().join("tasks"), Some(folder.path().join("data")));
    FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict }).sidecar_of(&list()).unwrap()
}

fn list() -> ListId {
    ListId::new("L").unwrap()
}

fn claim(yard: &Yard, number: u64) -> Claimed {
    match yard.claim(&TaskId::number(number), &Claim::default()).unwrap() {
        Outcome::Done(claimed) => claimed,
        Outcome::Refused(refusal) => panic!("{refusal}"),
    }
}

#[test]
fn leases_survive_reopening_and_tokens_grow_across_handles() {
    let folder = tempfile::tempdir().unwrap();
    list_builder::fill(open(&folder).store(), &list(), "1 pending; 2 pending; 3 pending");
    let one = open(&folder);
    let first = claim(&one, 1);
    let two = open(&folder);
    let second = claim(&two, 2);
    assert!(second.lease.token > first.lease.token);
    one.release(&TaskId::number(1)).unwrap().done().unwrap();
    two.release(&TaskId::number(2)).unwrap().done().unwrap();
    let third = claim(&one, 3);
    assert!(third.lease.token > second.lease.token, "no lease was left to count on from");
    drop((one, two));
    assert_eq!(open(&folder).live_leases().unwrap(), [third.lease]);
}

#[test]
fn second_format_journal_is_upgraded_with_its_leases() {
    let folder = tempfile::tempdir().unwrap();
    let yard = open(&folder);
    list_builder::fill(yard.store(), &list(), "1 pending; 2 pending");
    let first = claim(&yard, 1);
    drop(yard);
    make_second_format(&sidecar(&folder));
    let yard = open(&folder);
    assert_eq!(yard.live_leases().unwrap(), std::slice::from_ref(&first.lease));
    let second = claim(&yard, 2);
    assert_eq!(second.lease.token, Token(first.lease.token.0 + 1));
    assert_eq!(open(&folder).live_leases().unwrap(), [first.lease, second.lease]);
}

#[test]
fn first_format_journal_is_upgraded_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let yard = open(&folder);
    list_builder::fill(yard.store(), &list(), "1 pending; 2 completed <- 1; 3 in_progress (ana)");
    yard.delete(&[TaskId::number(2)]).unwrap().done().unwrap();
    let everything = |yard: &Yard| {
        let mut history = yard.store().history(&list(), &HistoryQuery::default()).unwrap();
        // The first format kept no attempts.
        history.iter_mut().for_each(|entry| entry.attempt = None);
        (history, images(&*yard.store().read(&list()).unwrap()))
    };
    let before = everything(&yard);
    drop(yard);
    make_first_format(&sidecar(&folder));
    let yard = open(&folder);
    assert_eq!(everything(&yard), before);
    assert_eq!(yard.live_leases().unwrap(), []);
    let claimed = claim(&yard, 1);
    assert_eq!(claimed.revision.unwrap().0, before.0.last().unwrap().revision.0 + 1);
    assert!(claimed.lease.token > Token(10_000_000_000_000), "it gave none out before: {:?}", claimed.lease.token);
    assert_eq!(
        yard.create(NewTask { subject: "next".into(), ..NewTask::default() }).unwrap().done().unwrap().task.id,
        TaskId::number(4)
    );
    let (history, _) = everything(&yard);
    assert_eq!(history[..before.0.len()], before.0);
    assert_eq!(open(&folder).live_leases().unwrap(), [claimed.lease]);
}

#[test]
fn many_who_find_a_journal_of_the_first_format_upgrade_it_once() {
    let folder = tempfile::tempdir().unwrap();
    list_builder::fill(open(&folder).store(), &list(), "1 pending; 2 pending; 3 pending; 4 pending");
    make_first_format(&sidecar(&folder));
    std::thread::scope(|scope| {
        for number in 1..=4 {
            let yard = open(&folder);
            scope.spawn(move || claim(&yard, number));
        }
    });
    let mut tokens: Vec<u64> = open(&folder).live_leases().unwrap().iter().map(|lease| lease.token.0).collect();
    tokens.sort_unstable();
    assert!(tokens.len() == 4 && tokens.windows(2).all(|two| two[0] + 1 == two[1]), "{tokens:?}");
}

#[test]
fn a_journal_of_a_newer_format_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    list_builder::fill(open(&folder).store(), &list(), "1 pending");
    set_format(&sidecar(&folder), 99);
    let yard = open(&folder);
    let Err(Error::Store(StoreError::NewerJournal { format: 99, .. })) =
        yard.claim(&TaskId::number(1), &Claim::default())
    else {
        panic!("a claim wrote to a journal it does not understand");
    };
    assert_eq!(yard.store().read(&list()).unwrap().tasks().unwrap().len(), 1, "its tasks can be read all the same");
}
