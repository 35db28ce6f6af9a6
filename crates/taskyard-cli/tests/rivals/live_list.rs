//! The list in memory of a running process is what a fresh look at the files finds, whatever happens to them, and a follower is told each
//! revision once, in order.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use proptest::prelude::*;
use taskyard::Yard;
use taskyard::core::dialect::native;
use taskyard::core::rules::changes::patching::Patch;
use taskyard::core::rules::claims::readiness::rank;
use taskyard::core::{AgentName, ListId, Revision, Rules, Status, Task, TaskId, Timestamp};
use taskyard::operations::{Claim, NewTask, UndoRange, Update};
use taskyard::store::HistoryQuery;
use taskyard::stream::{self as followed, Cursor, Stream};
use taskyard_testkit::{Home, OpensCounted, PATIENCE, Scale};

/// More events than the kernel keeps for one instance, which is 16,384 where it was not changed.
const MORE_THAN_THE_KERNEL_KEEPS: usize = 20_000;

/// A list on disk, a process that keeps it in memory, and two that follow it.
struct Watched {
    home: Home,
    running: Yard,
    /// Follows from the beginning to the end.
    steady: Follower,
    /// Stops and goes on again and again.
    restless: Follower,
}

/// A follower of the list.
struct Follower {
    stream: Stream,
    told: Vec<Revision>,
}

impl Follower {
    fn of(yard: &Yard) -> Self {
        let since = Cursor::after(&list(), Revision(0));
        Self { stream: yard.follow(since).unwrap(), told: Vec::new() }
    }

    fn take(&mut self, happening: followed::Happening) {
        let followed::Happening::Commit(event) = happening else { panic!("{happening:?}") };
        self.told.push(event.revision);
    }

    /// Takes in what it knows of by now.
    fn take_what_is_there(&mut self) {
        while let Some(happening) = self.stream.try_next().unwrap() {
            self.take(happening);
        }
    }

    /// Begins anew where it stopped.
    fn begin_anew(&mut self, yard: &Yard) {
        self.stream = yard.follow(self.stream.cursor()).unwrap();
    }

    fn was_told(&mut self, journal: &[Revision]) {
        while self.told.len() < journal.len() {
            let next = self.stream.next_before(Some(Instant::now() + PATIENCE)).unwrap();
            self.take(next.unwrap_or_else(|| panic!("told {:?} of {journal:?}", self.told)));
        }
        assert_eq!(self.told, journal);
        assert_eq!(self.stream.try_next().unwrap(), None);
    }
}

impl Watched {
    fn new() -> Self {
        let home = Home::in_memory(env!("CARGO_BIN_EXE_taskyard"));
        let running = yard(&home);
        let (steady, restless) = (Follower::of(&running), Follower::of(&running));
        let watched = Self { home, running, steady, restless };
        // A process that looks only once keeps nothing.
        for _ in 0..2 {
            watched.create(&watched.running, &[]);
            watched.running.store().read(&list()).unwrap().tasks().unwrap();
        }
        watched
    }

    fn directory(&self) -> PathBuf {
        self.home.list("L")
    }

    fn create(&self, yard: &Yard, blocked_by: &[TaskId]) {
        let new = NewTask { subject: "made".into(), blocked_by: blocked_by.to_vec(), ..NewTask::default() };
        // What it is to wait for may be gone.
        drop(yard.create(new).unwrap());
    }

    /// Returns another process's view of the list: nothing of it is kept.
    fn elsewhere(&self) -> Yard {
        yard(&self.home)
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
            rank(&expected, None, Timestamp(0), Rules::Strict).into_iter().map(|ranked| ranked.task.id).collect();
        assert_eq!(ready, ranked);
    }

    /// Each revision of the journal was told once, in order.
    fn assert_was_told(&mut self) {
        let journal = self.elsewhere().store().history(&list(), &HistoryQuery::default()).unwrap();
        let mut revisions: Vec<Revision> = journal.iter().map(|entry| entry.revision).collect();
        revisions.dedup();
        self.steady.was_told(&revisions);
        self.restless.was_told(&revisions);
    }
}

fn list() -> ListId {
    ListId::new("L").unwrap()
}

fn yard(home: &Home) -> Yard {
    Yard::new(Arc::new(home.store()), list(), AgentName::new("ana").unwrap())
}

/// Something that happens to a list.
#[derive(Clone, Debug)]
enum Happening {
    Create(bool, Vec<TaskId>),
    Done(bool, TaskId),
    ClaimNext(bool),
    Delete(bool, TaskId),
    /// A process of ours is killed at a step of its commit.
    Killed(u8, TaskId),
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
        2 => (1..30_u8, id()).prop_map(|(step, id)| Happening::Killed(step, id)),
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
        Happening::Killed(step, id) => {
            let mut command = watched.home.command(&format!("update {id} --subject killed --add-blocks 1"));
            command.env("TASKYARD_FAILPOINTS", format!("any*{step}=kill"));
            drop(command.output());
        }
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
    #![proptest_config(ProptestConfig { cases: u32::try_from(Scale::from_environment(0.05).of(200)).unwrap(), ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_it_is_what_a_fresh_look_finds(happenings in prop::collection::vec(happening(), 1..30)) {
        let mut watched = Watched::new();
        for (number, happening) in happenings.into_iter().enumerate() {
            happen(&watched, happening);
            watched.steady.take_what_is_there();
            // One reads what there is, leaves the rest, and stops.
            if number % 2 == 0 {
                watched.restless.take_what_is_there();
            }
            watched.assert_is_as_a_fresh_look_finds_it();
            watched.restless.begin_anew(&watched.running);
        }
        watched.assert_was_told();
    }
}

#[test]
fn what_the_kernel_could_not_keep_is_looked_at() {
    let mut watched = Watched::new();
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
    watched.assert_was_told();
}

#[test]
fn an_edge_that_was_turned_round_is_turned_back() {
    let watched = Watched::new();
    let (one, two) = (TaskId::number(1), TaskId::number(2));
    let running = &watched.running;
    running.depend(&one, std::slice::from_ref(&two)).unwrap().done().unwrap();
    let turn = Update { add_blocked_by: vec![one.clone()], remove_blocks: vec![one.clone()], ..Update::default() };
    running.update(&two, turn).unwrap().done().unwrap();
    running.undo(UndoRange::Newest).unwrap().done().unwrap();
    let found = running.store().read(&list()).unwrap().find(&one).unwrap().task().unwrap();
    assert_eq!(found.blocked_by, [two]);
    watched.assert_is_as_a_fresh_look_finds_it();
}

#[test]
fn a_change_by_another_program_costs_the_reading_of_one_file() {
    let watched = Watched::new();
    let count = Scale::from_environment(0.1).of(10_000);
    for number in 3..=count as u64 {
        let id = TaskId::number(number);
        fs::write(watched.directory().join(format!("{id}.json")), file(&id, Status::Pending, Vec::new())).unwrap();
    }
    let subject = |id: u64| {
        let snapshot = watched.running.store().read(&list()).unwrap();
        let live = snapshot.live().unwrap().expect("the list is kept in memory");
        live.task(&TaskId::number(id)).unwrap().subject
    };
    subject(1);
    let opens = OpensCounted::of(&watched.directory());
    let asking = || {
        opens.take();
        subject(1);
        opens.take_files()
    };
    for round in 0..5 {
        // What was written this instant is looked at until it can be recorded.
        while !asking().is_empty() {}
        let (id, name) = (7 + round, format!("round {round}"));
        let task = Task::new(TaskId::number(id), name.clone());
        let text = native::write(None, &task, Rules::Strict).unwrap();
        fs::write(watched.directory().join(format!("{id}.json")), text.bytes()).unwrap();
        opens.take();
        assert_eq!(subject(id), name, "it is in the very next answer");
        assert_eq!(opens.take_files(), [format!("{id}.json")], "of {count} files");
    }
}

#[test]
fn foreign_commit_costs_no_read_and_next_write_one() {
    let watched = Watched::new();
    let (id, elsewhere) = (TaskId::number(1), watched.elsewhere());
    let subject = || {
        let snapshot = watched.running.store().read(&list()).unwrap();
        let live = snapshot.live().unwrap().expect("the list is kept in memory");
        live.task(&id).unwrap().subject
    };
    subject();
    let opens = OpensCounted::of(&watched.directory());
    let opened_by_asking = |expected: &str| {
        opens.take();
        assert_eq!(subject(), expected);
        opens.take()
    };
    let idle = opened_by_asking("made");
    for round in 0..20 {
        let ours = format!("ours {round}");
        let patch = Patch { subject: Some(ours.clone()), ..Patch::default() };
        elsewhere.update(&id, Update { patch, ..Update::default() }).unwrap().done().unwrap();
        // The directory is opened once more, and no file.
        assert_eq!(opened_by_asking(&ours), idle + 1, "round {round}");
        let patch = Patch { subject: Some(format!("{ours}, at once changed")), ..Patch::default() };
        elsewhere.update(&id, Update { patch, ..Update::default() }).unwrap().done().unwrap();
        // In place, of the same length, and within the same tick of the clock.
        let path = watched.directory().join("1.json");
        let text = fs::read_to_string(&path).unwrap().replace("ours", "THEY");
        fs::write(&path, text).unwrap();
        assert!(opened_by_asking(&format!("THEY {round}, at once changed")) > idle + 1, "round {round}");
        // What was written this instant is looked at until it can be recorded.
        while opened_by_asking(&format!("THEY {round}, at once changed")) > idle {}
    }
    watched.assert_is_as_a_fresh_look_finds_it();
}
