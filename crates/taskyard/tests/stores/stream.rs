//! The one stream of what happens, over files and in memory.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use taskyard::core::{AgentName, ListId, Op, Revision};
use taskyard::operations::NewTask;
use taskyard::store::{FileStore, FileStoreOptions, MemoryStore, Store};
use taskyard::stream::{Cursor, Happening, Interest, Stream};
use taskyard::{Error, Yard};
use taskyard_testkit::{PATIENCE, rules_under_test};

fn list(name: &str) -> ListId {
    ListId::new(name).unwrap()
}

fn files(root: &Path) -> Arc<dyn Store> {
    let (tasks, data) = (root.join("tasks"), Some(root.join("data")));
    Arc::new(FileStore::open(FileStoreOptions { tasks, data, rules: rules_under_test() }))
}

fn yard(store: Arc<dyn Store>, name: &str) -> Yard {
    Yard::new(store, list(name), AgentName::new("ana").unwrap()).with_rules(rules_under_test())
}

fn create(yard: &Yard) {
    yard.create(NewTask { subject: "made".into(), ..NewTask::default() }).unwrap().done().unwrap();
}

fn next(stream: &mut Stream) -> String {
    in_words(stream.next_before(Some(Instant::now() + PATIENCE)).unwrap().expect("something happened"))
}

fn in_words(happening: Happening) -> String {
    match happening {
        Happening::Commit(event) => format!("{} {} {}", event.list, event.revision.0, event.entries[0].op),
        Happening::ListCame(list) => format!("{list} came"),
        Happening::ListWent(list) => format!("{list} went"),
        other => panic!("{other:?}"),
    }
}

/// Calls with a store of files and one in memory; of the files the directory is told.
fn everywhere(test: impl Fn(Arc<dyn Store>, Option<&Path>)) {
    test(Arc::new(MemoryStore::new(rules_under_test())), None);
    let folder = tempfile::tempdir().unwrap();
    test(files(folder.path()), Some(folder.path()));
}

#[test]
fn follower_of_all_lists_hears_of_new_lists_and_commits() {
    everywhere(|store, _| {
        let [one, two] = ["one", "two"].map(|name| yard(Arc::clone(&store), name));
        create(&one);
        let mut stream = one.follow_only(Interest::in_everything(), Cursor::now()).unwrap();
        create(&one);
        assert_eq!(next(&mut stream), "one 2 create");
        create(&two);
        create(&two);
        assert_eq!(
            [next(&mut stream), next(&mut stream), next(&mut stream)],
            ["two came", "two 1 create", "two 2 create"]
        );
        create(&one);
        assert_eq!(next(&mut stream), "one 3 create");
    });
}

#[test]
fn a_list_that_is_removed_went_and_one_that_comes_again_came() {
    let folder = tempfile::tempdir().unwrap();
    let one = yard(files(folder.path()), "one");
    create(&one);
    let mut stream = one.follow_only(Interest::in_everything(), Cursor::now()).unwrap();
    let directory = folder.path().join("tasks/one");
    fs::rename(&directory, folder.path().join("away")).unwrap();
    let mut told = Vec::new();
    while told.last().is_none_or(|told| told != "one went") {
        told.push(next(&mut stream));
    }
    fs::rename(folder.path().join("away"), &directory).unwrap();
    while told.last().is_none_or(|told| told != "one came") {
        told.push(next(&mut stream));
    }
    assert_eq!(told.iter().filter(|told| told.ends_with("went") || told.ends_with("came")).count(), 2, "{told:?}");
}

#[test]
fn follower_resuming_with_cursor_gets_each_revision_once() {
    everywhere(|store, _| {
        let yard = yard(store, "L");
        let mut cursor = Cursor::after(&list("L"), Revision(0));
        let mut told = Vec::new();
        for round in 0..20 {
            let mut stream = yard.follow(cursor).unwrap();
            create(&yard);
            create(&yard);
            // Some is read, and some is left to the next stream.
            for _ in 0..1 + round % 3 {
                told.extend(stream.try_next().unwrap().map(in_words));
            }
            cursor = stream.cursor();
        }
        let mut stream = yard.follow(cursor).unwrap();
        while told.len() < 40 {
            told.push(next(&mut stream));
        }
        let expected: Vec<String> = (1..=40).map(|revision| format!("L {revision} {}", Op::Create)).collect();
        assert_eq!(told, expected);
    });
}

#[test]
fn a_long_past_is_told_in_order_and_then_what_happens() {
    let yard = yard(Arc::new(MemoryStore::new(rules_under_test())), "L");
    (0..1000).for_each(|_| create(&yard));
    let mut stream = yard.follow(Cursor::after(&list("L"), Revision(0))).unwrap();
    for revision in 1..=1000 {
        assert_eq!(next(&mut stream), format!("L {revision} create"));
    }
    create(&yard);
    assert_eq!(next(&mut stream), "L 1001 create");
}

#[test]
fn what_another_program_writes_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let yard = yard(files(folder.path()), "L");
    create(&yard);
    let mut stream = yard.follow(Cursor::now()).unwrap();
    let path = folder.path().join("tasks/L/1.json");
    let text = fs::read_to_string(&path).unwrap().replace("\"made\"", "\"changed\"");
    fs::write(&path, text).unwrap();
    assert_eq!(next(&mut stream), "L 2 changed_elsewhere");
}

#[test]
fn a_list_that_is_not_there_yet_can_be_followed() {
    everywhere(|store, root| {
        let yard = yard(store, "L");
        let mut stream = yard.follow(Cursor::now()).unwrap();
        assert_eq!(stream.try_next().unwrap(), None);
        match root {
            None => create(&yard),
            // Another process makes it.
            Some(root) => create(&self::yard(files(root), "L")),
        }
        assert_eq!(next(&mut stream), "L 1 create");
    });
}

#[test]
fn stopping_ends_the_waiting_of_another_thread() {
    let yard = yard(Arc::new(MemoryStore::new(rules_under_test())), "L");
    let stream = yard.follow(Cursor::now()).unwrap();
    let control = stream.control();
    let waiting = std::thread::spawn(move || stream.collect::<Result<Vec<_>, Error>>());
    control.stop();
    assert_eq!(waiting.join().unwrap().unwrap(), []);
}

#[test]
fn nobody_waits_longer_than_it_wanted_to() {
    let yard = yard(Arc::new(MemoryStore::new(rules_under_test())), "L");
    let mut stream = yard.follow(Cursor::now()).unwrap();
    let until = Instant::now() + std::time::Duration::from_millis(20);
    assert_eq!(stream.next_before(Some(until)).unwrap(), None);
    assert!(Instant::now() >= until);
}
