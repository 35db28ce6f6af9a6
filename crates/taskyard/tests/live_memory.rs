//! How much memory a list takes in a running process, and that it is given back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::alloc::System;
use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use cap::Cap;
use taskyard::Store;
use taskyard::core::dialect::native;
use taskyard::core::{ListId, Rules, Status, Task, TaskId};
use taskyard::store::{FileStore, FileStoreOptions};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What one test takes is not to be counted in another.
static ALONE: Mutex<()> = Mutex::new(());

const TASKS: u64 = 4_000;

/// Writes tasks of many lengths that wait for each other, and returns how many bytes their files have.
fn write_tasks(directory: &std::path::Path) -> usize {
    fs::create_dir_all(directory).unwrap();
    let mut size = 0;
    for number in 1..=TASKS {
        let task = Task {
            description: "words ".repeat((number % 50) as usize),
            status: Status::ALL[(number % 3) as usize],
            owner: (number % 3 == 1).then(|| format!("agent{}", number % 20)),
            blocked_by: (number.saturating_sub(number % 4)..number).filter(|id| *id > 0).map(TaskId::number).collect(),
            ..Task::new(TaskId::number(number), format!("Task {number} of a list that is looked at all day"))
        };
        let image = native::write(None, &task, Rules::Strict).unwrap();
        size += image.bytes().len();
        fs::write(directory.join(format!("{number}.json")), image.bytes()).unwrap();
    }
    size
}

fn list() -> ListId {
    ListId::new("L").unwrap()
}

fn open(folder: &tempfile::TempDir) -> FileStore {
    let (tasks, data) = (folder.path().join("tasks"), Some(folder.path().join("data")));
    FileStore::open(FileStoreOptions { tasks, data, rules: Rules::Strict })
}

/// Asks often enough for the list to be kept.
fn ask(store: &FileStore) {
    for _ in 0..3 {
        assert_eq!(store.read(&list()).unwrap().tasks().unwrap().len() as u64, TASKS);
    }
}

#[test]
fn task_takes_at_most_1_5_times_its_file_plus_200_bytes() {
    let _alone = ALONE.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let size = write_tasks(&folder.path().join("tasks/L"));
    // What a store takes whatever its lists are is not the tasks'.
    ask(&open(&folder));
    let before = ALLOCATOR.allocated();
    let store = open(&folder);
    ask(&store);
    let taken = ALLOCATOR.allocated() - before;
    let most = size + size / 2 + 200 * TASKS as usize;
    println!("{TASKS} tasks, files of {size} bytes: {taken} bytes in memory, {most} at most");
    assert_eq!(store.lists_in_memory(), [(list(), size)]);
    assert!(taken <= most, "{taken} bytes for files of {size} bytes, more than {most}");
}

#[test]
fn a_list_that_nobody_asks_for_is_let_go() {
    let _alone = ALONE.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let size = write_tasks(&folder.path().join("tasks/L"));
    let store = open(&folder).letting_go_after(Duration::from_millis(500));
    let before = ALLOCATOR.allocated();
    ask(&store);
    assert_eq!(store.lists_in_memory(), [(list(), size)]);
    let kept = ALLOCATOR.allocated() - before;
    let other = ListId::new("M").unwrap();
    while !store.lists_in_memory().is_empty() {
        store.read(&other).unwrap().tasks().unwrap();
    }
    let left = ALLOCATOR.allocated().saturating_sub(before);
    assert!(left < kept / 4, "{left} bytes of {kept} are left");
    // A caller that asks again finds the list as it is.
    ask(&store);
}

#[test]
fn ten_thousand_lists_that_come_and_go_leave_nothing() {
    let _alone = ALONE.lock().unwrap();
    let count = taskyard_testkit::Scale::from_environment(0.05).of(10_000);
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).letting_go_after(Duration::from_millis(1));
    let open_and_close = |number: usize| {
        let list = ListId::new(format!("session-{number}")).unwrap();
        assert!(store.read(&list).unwrap().tasks().unwrap().is_empty());
    };
    (0..100).for_each(open_and_close);
    let before = ALLOCATOR.allocated();
    (100..count).for_each(open_and_close);
    let grown = ALLOCATOR.allocated().saturating_sub(before);
    assert!(grown < 256 * 1024, "{grown} bytes more after {count} lists");
}
