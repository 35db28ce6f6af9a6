//! The list in memory of a running process is what a fresh look at the files finds, whatever happens to them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use taskyard::Yard;
use taskyard::core::dialect::native;
use taskyard::core::rules::readiness::rank;
use taskyard::core::{AgentName, ListId, Rules, Status, Task, TaskId};
use taskyard::operations::{Claim, NewTask};
use taskyard::store::{FileStore, FileStoreOptions};
use taskyard_testkit::Scale;

/// More events than the kernel keeps for one instance, which is 16,384 where nobody changed it.
const MORE_THAN_THE_KERNEL_KEEPS: usize = 20_000;

/// A list on disk, and a process that keeps it in memory.
struct Watched {
    folder: tempfile::TempDir,
    running: Yard,
}

impl Watched {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let running = yard(folder.path().to_owned());
        let watched = Self { folder, running };
        // A process that looks only once keeps nothing.
        for _ in 0..2 {
            watched.create(&watched.running, &[]);
            watched.running.store().read(&list()).unwrap().tasks().unwrap();
        }
        watched
    }

    fn directory(&self) -> PathBuf {
        self.folder.path().join("tasks/L")
    }

    fn create(&self, yard: &Yard, blocked_by: &[TaskId]) {
        let new = NewTask { subject: "made".into(), blocked_by: blocked_by.to_vec(), ..NewTask::default() };
        // What it is to wait for may be gone.
        drop(yard.create(new).unwrap());
    }

    /// Returns another process's view of the list: nothing of it is kept.
    fn elsewhere(&self) -> Yard {
        yard(self.folder.path().to_owned())
    }

    fn assert_is_as_a_fresh_look_finds_it(&self) {
        let expected = self.elsewhere().store().read(&list()).unwrap().tasks().unwrap();
        let snapshot = self.running.store().read(&list()).unwrap();
        assert_eq!(snapshot.tasks().unwrap(), expected);
        let Some(live) = snapshot.live().unwrap() else {
            assert!(!self.directory().exists(), "the list is not kept in memory");
            return;
        };
        assert_eq!(live.tasks(), expected);
        let ready: Vec<TaskId> = live.ready().map(|ready| ready.id).collect();
        let ranked: Vec<TaskId> =
            rank(&expected, None, Rules::Strict).into_iter().map(|ranked| ranked.task.id).collect();
        assert_eq!(ready, ranked);
    }
}

fn list() -> ListId {
    ListId::new("L").unwrap()
}

fn yard(root: PathBuf) -> Yard {
    let options = FileStoreOptions { tasks: root.join("tasks"), data: Some(root.join("data")), rules: Rules::Strict };
    Yard::new(Arc::new(FileStore::open(options)), list(), AgentName::new("ana").unwrap())
}

/// Something that happens to a list.
#[derive(Clone, Debug)]
enum Happening {
    Create(bool, Vec<TaskId>),
    Done(bool, TaskId),
    ClaimNext(bool),
    Delete(bool, TaskId),
    WrittenInPlace(TaskId, Status, Vec<TaskId>),
    Replaced(TaskId, Status),
    Removed(TaskId),
    Torn(TaskId),
    Hidden(TaskId),
    DirectoryGone,
    MovedAwayAndBack,
    ManyFiles,
    Nothing,
}

fn happening() -> impl Strategy<Value = Happening> {
    let id = || (1..9_u64).prop_map(TaskId::number);
    let ids = move || prop::collection::vec((1..9_u64).prop_map(TaskId::number), 0..3);
    let status = || prop_oneof![Just(Status::Pending), Just(Status::InProgress), Just(Status::Completed)];
    prop_oneof![
        4 => (any::<bool>(), ids()).prop_map(|(here, ids)| Happening::Create(here, ids)),
        4 => (any::<bool>(), id()).prop_map(|(here, id)| Happening::Done(here, id)),
        3 => any::<bool>().prop_map(Happening::ClaimNext),
        1 => (any::<bool>(), id()).prop_map(|(here, id)| Happening::Delete(here, id)),
        4 => (id(), status(), ids()).prop_map(|(id, status, ids)| Happening::WrittenInPlace(id, status, ids)),
        2 => (id(), status()).prop_map(|(id, status)| Happening::Replaced(id, status)),
        2 => id().prop_map(Happening::Removed),
        1 => id().prop_map(Happening::Torn),
        1 => id().prop_map(Happening::Hidden),
        1 => Just(Happening::DirectoryGone),
        1 => Just(Happening::MovedAwayAndBack),
        1 => Just(Happening::ManyFiles),
        1 => Just(Happening::Nothing),
    ]
}

fn file(id: &TaskId, status: Status, blocked_by: Vec<TaskId>) -> Vec<u8> {
    let task = Task { status, blocked_by, ..Task::new(id.clone(), "by another program") };
    native::write(None, &task, Rules::Strict).unwrap().bytes().to_vec()
}

fn happen(watched: &Watched, happening: Happening) {
    let directory = watched.directory();
    let path = |id: &TaskId| directory.join(format!("{id}.json"));
    let of = |is_here: bool| if is_here { watched.running.clone() } else { watched.elsewhere() };
    match happening {
        Happening::Create(is_here, ids) => watched.create(&of(is_here), &ids),
        Happening::Done(is_here, id) => drop(of(is_here).done(&id).unwrap()),
        Happening::ClaimNext(is_here) => drop(of(is_here).claim_next(&Claim::default()).unwrap()),
        Happening::Delete(is_here, id) => drop(of(is_here).delete(&[id]).unwrap()),
        // Another program makes no directory of its own here.
        _ if !directory.exists() => {}
        Happening::WrittenInPlace(id, status, ids) => fs::write(path(&id), file(&id, status, ids)).unwrap(),
        Happening::Replaced(id, status) => {
            fs::write(directory.join("new"), file(&id, status, Vec::new())).unwrap();
            fs::rename(directory.join("new"), path(&id)).unwrap();
        }
        Happening::Removed(id) => drop(fs::remove_file(path(&id))),
        Happening::Torn(id) => fs::write(path(&id), "{\"id\": \"").unwrap(),
        Happening::Hidden(id) => drop(fs::rename(path(&id), directory.join(format!(".{id}.json")))),
        Happening::DirectoryGone => fs::remove_dir_all(&directory).unwrap(),
        Happening::MovedAwayAndBack => {
            let away = directory.with_file_name("away");
            fs::rename(&directory, &away).unwrap();
            fs::rename(&away, &directory).unwrap();
        }
        Happening::ManyFiles => {
            for number in 0..5_000 {
                fs::write(directory.join(format!("no-task-{number}")), "").unwrap();
            }
            for number in 0..5_000 {
                fs::remove_file(directory.join(format!("no-task-{number}"))).unwrap();
            }
        }
        Happening::Nothing => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: u32::try_from(Scale::from_environment(0.1).of(200)).unwrap(), ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_is_what_a_fresh_look_finds(happenings in prop::collection::vec(happening(), 1..30)) {
        let watched = Watched::new();
        for happening in happenings {
            happen(&watched, happening);
            watched.assert_is_as_a_fresh_look_finds_it();
        }
    }
}

#[test]
fn what_the_kernel_could_not_keep_is_looked_at() {
    let watched = Watched::new();
    watched.assert_is_as_a_fresh_look_finds_it();
    let id = TaskId::number(1);
    let path = watched.directory().join("1.json");
    for number in 0..MORE_THAN_THE_KERNEL_KEEPS / 2 {
        // Events that are alike and follow each other are kept once.
        fs::write(&path, file(&id, Status::ALL[number % 3], Vec::new())).unwrap();
        fs::write(watched.directory().join(format!("no-task-{number}")), "").unwrap();
    }
    fs::write(watched.directory().join("2.json"), file(&TaskId::number(2), Status::Completed, vec![id])).unwrap();
    watched.assert_is_as_a_fresh_look_finds_it();
}
