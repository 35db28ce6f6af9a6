//! Property tests: after random changes and thinning at random ages, everything that is promised is there, byte for
//! byte.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;
use taskyard_core::dialect::native;
use taskyard_core::rules::history::restoring::removed;
use taskyard_core::rules::history::vanishing::{Absence, Removed, Step, absences};
use taskyard_core::{AgentName, Entry, Image, Op, Revision, Rules, Status, Task, TaskId, Timestamp};

use super::stamp::Marks;
use super::thinning::Thinning;
use super::{Journal, NewEntry};
use crate::store::journal::pace::Pace;
use crate::store::{HistoryQuery, Signature};

/// What an agent or another program does to a task.
#[derive(Clone, Debug)]
enum Change {
    /// Creates or changes the task: its title, and whether it is open.
    Write(String, bool),
    /// The same by another program.
    WriteElsewhere(String, bool),
    /// Another program leaves something that cannot be parsed as a task.
    Tear,
    Delete,
    RemoveElsewhere,
    /// Undoes the revision this many before the newest.
    Undo(u64),
}

/// A step of the test.
#[derive(Clone, Debug)]
enum Act {
    /// Changes a task, after a pause.
    Change(u64, Change, i64),
    /// Packs up to the revision this many before the newest.
    Pack(u64),
    /// Thins what is older than this.
    Thin(i64),
}

fn change() -> impl Strategy<Value = Change> {
    let title = "[a-d]{1,3} [a-d]{1,3}";
    prop_oneof![
        6 => (title, any::<bool>()).prop_map(|(title, open)| Change::Write(title, open)),
        3 => (title, any::<bool>()).prop_map(|(title, open)| Change::WriteElsewhere(title, open)),
        1 => Just(Change::Tear),
        2 => Just(Change::Delete),
        2 => Just(Change::RemoveElsewhere),
        3 => (0..6_u64).prop_map(Change::Undo),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        16 => (1..5_u64, change(), 0..20_i64).prop_map(|(task, change, pause)| Act::Change(task, change, pause)),
        1 => (0..5_u64).prop_map(Act::Pack),
        1 => (0..300_i64).prop_map(Act::Thin),
    ]
}

/// A journal, everything ever written to it, and the terms by which it was thinned.
struct World {
    journal: Journal,
    all: Vec<Entry>,
    now: i64,
    /// For each thinning, the horizon, and the time before which things were old.
    thinned: Vec<(Revision, Timestamp)>,
    /// The tasks whose last state was no longer promised at some thinning, with the revision that left it.
    may_be_gone: HashSet<(TaskId, Revision)>,
    _place: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let sidecar = place.path().join("lists").join("x");
        crate::private::make_directory(&sidecar).unwrap();
        let journal = Journal::open(&sidecar, place.path()).unwrap();
        Self { journal, all: Vec::new(), now: 1_000, thinned: Vec::new(), may_be_gone: HashSet::new(), _place: place }
    }

    fn newest(&self) -> u64 {
        self.all.last().map_or(0, |entry| entry.revision.0)
    }

    fn state(&self, task: &TaskId, until: u64) -> Option<Image> {
        let mut past = self.all.iter().filter(|entry| entry.task == *task && entry.revision.0 <= until);
        past.next_back().and_then(|entry| entry.after.clone())
    }

    fn change(&mut self, task: u64, change: &Change) {
        let id = TaskId::number(task);
        let before = self.state(&id, u64::MAX);
        let written = |title: &str, is_open: bool| {
            let status = if is_open { Status::Pending } else { Status::Completed };
            let task = Task { status, description: "what it is about, ".repeat(20), ..Task::new(id.clone(), title) };
            native::write(before.as_ref(), &task, Rules::Strict).ok()
        };
        let (op, after, undoes) = match change {
            Change::Write(title, open) if before.is_none() => (Op::Create, written(title, *open), Vec::new()),
            Change::Write(title, open) => (Op::Update, written(title, *open), Vec::new()),
            Change::WriteElsewhere(title, open) => match before {
                Some(_) => (Op::ChangedElsewhere, written(title, *open), Vec::new()),
                None => (Op::CreatedElsewhere, written(title, *open), Vec::new()),
            },
            Change::Tear => {
                (Op::ChangedElsewhere, Some(Image::new(format!("{{{}", self.now).into_bytes())), Vec::new())
            }
            // For a missing task this records that its absence is intended.
            Change::Delete => (Op::Delete, None, Vec::new()),
            Change::RemoveElsewhere if before.is_none() => return,
            Change::RemoveElsewhere => (Op::RemovedElsewhere, None, Vec::new()),
            Change::Undo(back) => {
                let revision = Revision(self.newest().saturating_sub(*back));
                let thinned = self.thinned.iter().map(|(horizon, _)| *horizon).max().unwrap_or_default();
                let Some(undone) = self.all.iter().find(|entry| entry.revision == revision) else { return };
                // An undo is refused if the task is no longer as the revision left it.
                if undone.task != id || revision <= thinned || undone.after != before {
                    return;
                }
                (Op::Undo, undone.before.clone(), vec![revision])
            }
        };
        let revision = Revision(self.newest() + 1);
        let mut signature = Signature::new(AgentName::elsewhere(), op);
        signature.undoes.clone_from(&undoes);
        let entry = NewEntry { task: &id, op, before: before.as_ref(), after: after.as_ref(), inode: None, mode: None };
        let transaction = self.journal.begin().unwrap();
        self.journal.append(revision, Timestamp(self.now), &signature, &[entry]).unwrap();
        self.journal.end(transaction).unwrap();
        let read = self.journal.select(&HistoryQuery { since: Revision(revision.0 - 1), ..HistoryQuery::default() });
        self.all.extend(read.unwrap());
    }

    fn thin(&mut self, age: i64) {
        let moment = Timestamp(self.now - age);
        let old = self.all.iter().rfind(|entry| entry.at < moment);
        let horizon = old.map_or(Revision(0), |entry| entry.revision);
        let thinning = Thinning { horizon, gone_until: horizon, list_is_gone: false, named: &HashSet::new() };
        self.journal.thin_out(&thinning, &Pace::straight_on()).unwrap();
        self.thinned.push((horizon, moment));
        self.may_be_gone.extend(self.released(moment));
    }

    fn check(&self) {
        self.journal.recent_images.replace(Default::default());
        let left = self.journal.select(&HistoryQuery::default()).unwrap();
        let horizon = self.thinned.iter().map(|(horizon, _)| *horizon).max().unwrap_or_default();
        let young = |entries: &[Entry]| -> Vec<Entry> {
            entries.iter().filter(|entry| entry.revision > horizon).cloned().collect()
        };
        assert!(young(&left) == young(&self.all), "what is young is all there");
        let (before, after) = (by_task(&self.all), by_task(&left));
        for (task, past) in &before {
            let at = |past: &[Entry]| {
                past.iter().rfind(|entry| entry.revision <= horizon).and_then(|entry| entry.after.clone())
            };
            let left = after.get(task).cloned().unwrap_or_default();
            assert!(at(&left) == at(past), "what task {task} was at the end");
            replays(&left);
        }
        self.check_removed(&left);
        let whole =
            super::damage::first_fault(&self.journal.database, super::layout::FORMAT, Marks::default()).unwrap();
        assert_eq!(whole, None);
        let standing = self.journal.standing().unwrap();
        assert_eq!(standing.newest.0, self.newest());
        let highest = self.all.iter().filter_map(|entry| entry.task.as_number()).max().unwrap_or(0);
        assert_eq!(standing.highest_number, highest);
    }

    /// Checks that every removed task whose time has not passed, and every open one that no agent deleted, can be
    /// restored to its last state, and that no other task is reported as missing.
    fn check_removed(&self, left: &[Entry]) {
        let told = |entries: &[Entry]| -> Vec<(TaskId, Image, Absence)> {
            let told = |Removed { task, image, absence, .. }: Removed| (task.id, image, as_meant(absence));
            removed(entries, &self.present()).into_iter().map(told).collect()
        };
        let (all, left) = (told(&self.all), told(left));
        for (task, image, absence) in &left {
            let is_told = all.contains(&(task.clone(), image.clone(), *absence));
            assert!(is_told, "that {} is {absence:?} is told and never was so", text(image));
        }
        for removed in removed(&self.all, &self.present()) {
            let told = (removed.task.id.clone(), removed.image.clone(), as_meant(removed.absence));
            let may_be_gone = self.may_be_gone.contains(&(removed.task.id.clone(), self.left_in(&removed)));
            assert!(may_be_gone || left.contains(&told), "{} {:?}", text(&removed.image), removed.absence);
        }
    }

    /// Returns the removed tasks whose last state is not promised when everything that disappeared before `moment` is
    /// thinned.
    fn released(&self, moment: Timestamp) -> Vec<(TaskId, Revision)> {
        let is_released = |gone: &Removed| {
            let is_replaced = gone.absence == Absence::Replaced;
            let past = self.all.iter().rfind(|entry| entry.task == gone.task.id);
            let last = if is_replaced { gone.entry.at } else { past.map_or(gone.entry.at, |last| last.at) };
            let nobody_meant_it = is_replaced || gone.is_missing();
            last < moment && !(nobody_meant_it && gone.task.status.is_open())
        };
        let gone = removed(&self.all, &self.present()).into_iter().filter(is_released);
        gone.map(|gone| (gone.task.id.clone(), self.left_in(&gone))).collect()
    }

    /// Returns the revision that left the last state of a removed task.
    fn left_in(&self, gone: &Removed) -> Revision {
        let left_it = |entry: &&Entry| entry.task == gone.task.id && entry.after.as_ref() == Some(&gone.image);
        let is_before = |entry: &&Entry| gone.absence != Absence::Replaced || entry.revision < gone.since;
        self.all.iter().filter(is_before).rfind(left_it).map_or(gone.since, |entry| entry.revision)
    }

    fn present(&self) -> HashSet<TaskId> {
        let tasks = self.all.iter().map(|entry| entry.task.clone());
        tasks.filter(|task| self.state(task, u64::MAX).is_some()).collect()
    }
}

/// If the creation of a task is undone and nothing older is kept, it is unknown that the task had been deleted before.
/// It does not count as missing in either case.
fn as_meant(absence: Absence) -> Absence {
    if absence == Absence::Unmade { Absence::Deleted } else { absence }
}

fn text(image: &Image) -> String {
    String::from_utf8_lossy(image.bytes()).chars().take(60).collect()
}

fn by_task(entries: &[Entry]) -> BTreeMap<TaskId, Vec<Entry>> {
    let mut tasks: BTreeMap<TaskId, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        tasks.entry(entry.task.clone()).or_default().push(entry.clone());
    }
    tasks
}

/// Fails if an entry and the one before it disagree on whether the task exists between them.
fn replays(past: &[Entry]) {
    for pair in past.windows(2) {
        let is_note = pair[1].before.is_none() && pair[1].after.is_none();
        assert!(is_note || pair[0].after.is_some() == pair[1].before.is_some());
    }
    let steps: Vec<Step> = past.iter().map(Step::from).collect();
    assert_eq!(absences(&steps).len(), past.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_promised_is_there_after_thinning_at_random_ages(acts in prop::collection::vec(act(), 1..90)) {
        let mut world = World::new();
        for act in &acts {
            match act {
                Act::Change(task, change, pause) => {
                    world.now += pause;
                    world.change(*task, change);
                }
                Act::Pack(back) => {
                    let until = Revision(world.newest().saturating_sub(*back));
                    world.journal.pack(Revision(0), until).unwrap();
                }
                Act::Thin(age) => {
                    world.thin(*age);
                    world.check();
                }
            }
        }
        world.thin(40);
        world.check();
        world.thin(0);
        world.check();
    }
}
