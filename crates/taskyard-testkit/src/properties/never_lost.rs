//! A missing task is named until it is deleted on purpose, and no new task replaces another.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use taskyard::core::dialect::foreign::{ImportFormat, Imported};
use taskyard::core::{AgentName, ListId, Op, Revision, Rules, Task, TaskId};
use taskyard::operations::{MergeWhich, NewTask, Restorable, RestoreWhich, Source, UndoRange};
use taskyard::store::{HistoryQuery, StoreError};
use taskyard::{Error, Outcome, Yard};

use super::grounds::{Documents, Folder, Ground, Held, Memory, Thing};
use crate::properties::playing::edges_are_in_order;
use crate::{Opened, Scale};

/// What another program removes without asking.
#[derive(Clone, Copy, Debug)]
pub enum Removal<'a> {
    /// These tasks.
    Tasks(&'a [TaskId]),
    /// The whole list, with the place it is in.
    Everything,
}

/// Removes from a list without asking.
pub type RemoveOutside = dyn Fn(&ListId, Removal<'_>);

/// A store, and how another program removes from it behind its back.
pub struct Removable {
    /// The store.
    pub opened: Opened,
    /// Removes from a list.
    pub remove: Box<RemoveOutside>,
}

impl fmt::Debug for Removable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.opened.fmt(formatter)
    }
}

/// Plays random sequences of outside removals, restores, undos, undos of undos, deletions and clearings, and checks after each: a task that
/// is absent and that no agent deleted on purpose is named by a restore, and what was deleted on purpose is not, nor brought back by
/// restoring everything. In the end everything missing comes back, its edges at both ends.
///
/// `cases` is multiplied with `TASKYARD_TEST_SCALE`.
pub fn what_is_missing_is_named(factory: impl Fn(Rules) -> Removable, rules: Rules, cases: usize) {
    let cases = u32::try_from(Scale::from_environment(0.06).of(cases)).unwrap_or(u32::MAX);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&vec(missing_step(), 1..40), |steps| {
        let mut player = Player::new(factory(rules), rules);
        for _ in 0..4 {
            player.play(&MissingStep::Create { blocked_by: Vec::new() });
        }
        for step in &steps {
            player.play(step);
        }
        player.restore_everything();
        Ok(())
    });
    if let Err(failure) = played {
        panic!("{failure}");
    }
}

#[derive(Clone, Debug)]
enum MissingStep {
    Create { blocked_by: Vec<u8> },
    Remove { tasks: Vec<u8>, looks: bool },
    RemoveEverything { looks: bool },
    RestoreAll,
    Restore { tasks: Vec<u8> },
    RestoreAllWithDeleted,
    UndoNewest,
    UndoOne { revision: u8 },
    UndoLatest,
    Delete { tasks: Vec<u8> },
    Clear,
    Done { task: u8 },
}

fn missing_step() -> impl Strategy<Value = MissingStep> {
    let few = || vec(any::<u8>(), 1..3);
    prop_oneof![
        6 => vec(any::<u8>(), 0..3).prop_map(|blocked_by| MissingStep::Create { blocked_by }),
        8 => (few(), any::<bool>()).prop_map(|(tasks, looks)| MissingStep::Remove { tasks, looks }),
        2 => any::<bool>().prop_map(|looks| MissingStep::RemoveEverything { looks }),
        5 => Just(MissingStep::RestoreAll),
        4 => few().prop_map(|tasks| MissingStep::Restore { tasks }),
        2 => Just(MissingStep::RestoreAllWithDeleted),
        5 => Just(MissingStep::UndoNewest),
        6 => any::<u8>().prop_map(|revision| MissingStep::UndoOne { revision }),
        8 => Just(MissingStep::UndoLatest),
        6 => few().prop_map(|tasks| MissingStep::Delete { tasks }),
        1 => Just(MissingStep::Clear),
        2 => any::<u8>().prop_map(|task| MissingStep::Done { task }),
    ]
}

/// The expected state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Unmade,
    There,
    Missing,
    Deleted,
}

type Standings = BTreeMap<TaskId, Standing>;

struct Player {
    yard: Yard,
    rules: Rules,
    remove: Box<RemoveOutside>,
    made: Vec<TaskId>,
    standings: Standings,
    /// What each revision did to the standing of tasks: how they stood before it.
    before: BTreeMap<Revision, Standings>,
    _opened: Opened,
}

impl Player {
    fn new(store: Removable, rules: Rules) -> Self {
        let Removable { opened, remove } = store;
        let actor = AgentName::new("player").unwrap();
        let yard = Yard::new(Arc::clone(&opened.store), ListId::new("home").unwrap(), actor).with_rules(rules);
        let (made, standings, before) = (Vec::new(), Standings::new(), BTreeMap::new());
        Self { yard, rules, remove, made, standings, before, _opened: opened }
    }

    fn play(&mut self, step: &MissingStep) {
        let was = self.standings.clone();
        let revision = self.perform(step);
        if let Some(revision) = revision {
            let changed = self.standings.iter().filter(|(task, now)| was.get(*task) != Some(now));
            let stood = |task: &TaskId| was.get(task).copied().unwrap_or(Standing::Unmade);
            let before = changed.map(|(task, _)| (task.clone(), stood(task))).collect();
            self.before.insert(revision, before);
        }
        self.check(step);
    }

    fn check(&self, step: &MissingStep) {
        let tasks = self.yard.store().read(self.yard.list_id()).unwrap().tasks().unwrap();
        let there: BTreeSet<TaskId> = tasks.into_iter().map(|task| task.id).collect();
        assert_eq!(there, self.those(&[Standing::There]), "what is there after {step:?}");
        assert_eq!(ids(self.yard.restorable().unwrap()), self.those(&[Standing::Missing]), "missing after {step:?}");
        let absent = self.those(&[Standing::Missing, Standing::Deleted]);
        assert_eq!(ids(self.yard.restorable_with_deleted().unwrap()), absent, "absent after {step:?}");
    }

    /// Does what the step says, and returns the revision it made.
    fn perform(&mut self, step: &MissingStep) -> Option<Revision> {
        let yard = self.yard.clone();
        match step {
            MissingStep::Create { blocked_by } => {
                let there = self.those(&[Standing::There]);
                let blocked_by = self.tasks(blocked_by).into_iter().filter(|task| there.contains(task)).collect();
                let new = NewTask { subject: "made".into(), blocked_by, ..NewTask::default() };
                let created = yard.create(new).unwrap().done().unwrap();
                self.made.push(created.task.id.clone());
                self.stand([created.task.id], Standing::There);
                Some(created.revision)
            }
            MissingStep::Remove { tasks, looks } => {
                let there = self.those(&[Standing::There]);
                let tasks: Vec<TaskId> = self.tasks(tasks).into_iter().filter(|task| there.contains(task)).collect();
                (self.remove)(yard.list_id(), Removal::Tasks(&tasks));
                self.stand(tasks.clone(), Standing::Missing);
                if *looks && !tasks.is_empty() { self.look() } else { None }
            }
            MissingStep::RemoveEverything { looks } => {
                (self.remove)(yard.list_id(), Removal::Everything);
                let there = self.those(&[Standing::There]);
                self.stand(there.clone(), Standing::Missing);
                if *looks && !there.is_empty() { self.look() } else { None }
            }
            MissingStep::RestoreAll => {
                let restored = yard.restore(RestoreWhich::All).unwrap().done().unwrap();
                let tasks: BTreeSet<TaskId> = restored.tasks.into_iter().map(|task| task.id).collect();
                assert_eq!(tasks, self.those(&[Standing::Missing]), "restoring everything brings back what is missing");
                self.stand(tasks, Standing::There);
                restored.revision
            }
            MissingStep::Restore { tasks } => {
                let tasks = self.tasks(tasks);
                let missing = self.those(&[Standing::Missing]);
                let outcome = yard.restore(RestoreWhich::Some(tasks.clone())).unwrap();
                let may = tasks.iter().all(|task| missing.contains(task));
                assert_eq!(matches!(outcome, Outcome::Done(_)), may, "{tasks:?} of {missing:?}");
                let restored = outcome.done().ok()?;
                self.stand(tasks, Standing::There);
                restored.revision
            }
            MissingStep::RestoreAllWithDeleted => {
                let restored = yard.restore_with_deleted(RestoreWhich::All).unwrap().done().unwrap();
                self.stand(restored.tasks.into_iter().map(|task| task.id), Standing::There);
                restored.revision
            }
            MissingStep::UndoNewest => self.undo(UndoRange::Newest),
            MissingStep::UndoOne { revision } => {
                let place = usize::from(*revision) % self.before.len().max(1);
                let revision = self.before.keys().nth(place).copied()?;
                self.undo(UndoRange::One(revision))
            }
            MissingStep::UndoLatest => {
                let latest = *self.before.keys().next_back()?;
                self.undo(UndoRange::One(latest))
            }
            MissingStep::Delete { tasks } => {
                let tasks = self.tasks(tasks);
                let deleted = yard.delete(&tasks).unwrap().done().ok()?;
                assert!(!self.rules.is_client() || deleted.missing.is_empty());
                self.stand(tasks, Standing::Deleted);
                Some(deleted.revision)
            }
            MissingStep::Clear => {
                let cleared = yard.clear().unwrap().done().unwrap();
                let gone = self.those(&[Standing::There, Standing::Missing]);
                assert_eq!(cleared.tasks.len() + cleared.missing.len(), gone.len());
                self.stand(gone, Standing::Deleted);
                cleared.revision
            }
            MissingStep::Done { task } => {
                let task = self.tasks(&[*task]).pop()?;
                yard.done(&task).unwrap().done().ok()?.revision
            }
        }
    }

    /// Undoes revisions: the tasks become what they were before.
    fn undo(&mut self, range: UndoRange) -> Option<Revision> {
        let undone = self.yard.undo(range).unwrap().done().ok()?;
        for revision in undone.revisions.iter().map(|signed| signed.revision) {
            let before = self.before.get(&revision).unwrap_or_else(|| panic!("nobody made revision {revision}"));
            self.standings.extend(before.clone());
        }
        Some(undone.revision)
    }

    /// Lets the store notice what happened, and returns the revision that has it. A store may leave it to the next look.
    fn look(&self) -> Option<Revision> {
        let entries = self.yard.history(&HistoryQuery::default()).unwrap();
        entries.last().filter(|last| last.op == Op::RemovedElsewhere).map(|last| last.revision)
    }

    fn restore_everything(&mut self) {
        self.play(&MissingStep::RestoreAll);
        if !self.rules.is_client() {
            edges_are_in_order(&self.yard.store().read(self.yard.list_id()).unwrap().tasks().unwrap());
        }
    }

    fn stand(&mut self, tasks: impl IntoIterator<Item = TaskId>, standing: Standing) {
        self.standings.extend(tasks.into_iter().map(|task| (task, standing)));
    }

    fn those(&self, wanted: &[Standing]) -> BTreeSet<TaskId> {
        self.standings.iter().filter(|(_, standing)| wanted.contains(standing)).map(|(task, _)| task.clone()).collect()
    }

    fn tasks(&self, picks: &[u8]) -> Vec<TaskId> {
        let made = |pick: &u8| self.made.get(usize::from(*pick) % self.made.len().max(1)).cloned();
        let picked: BTreeSet<TaskId> = picks.iter().filter_map(made).collect();
        picked.into_iter().collect()
    }
}

fn ids(restorable: Vec<Restorable>) -> BTreeSet<TaskId> {
    restorable.into_iter().map(|restorable| restorable.task.id).collect()
}

/// A store whose lists are laid with whatever a hostile or careless program leaves there.
#[derive(Clone, Copy, Debug)]
pub enum Terrain {
    /// The reference store.
    Memory,
    /// Claude Code's own files.
    Files,
    /// Documents.
    Documents,
    /// Teaching folders.
    Teaching,
}

/// Names that are numbers, nearly numbers, and too large to be counted on from.
const STEMS: [&str; 30] = [
    "1",
    "2",
    "3",
    "4",
    "7",
    "007",
    "7x",
    "12x",
    "1e3",
    "-1",
    "0",
    "00",
    "٣",
    "１",
    ".5",
    "..5",
    " 6",
    "tasks[1]",
    "a b",
    "9007199254740989",
    "9007199254740990",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1794754403000000000",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
    "task_1_0000",
];

#[derive(Clone, Debug)]
enum OverwritingStep {
    /// Another program puts something there.
    Lay {
        away: bool,
        stem: &'static str,
        thing: Thing,
    },
    /// Another program removes it.
    Take {
        stem: &'static str,
    },
    /// Another program writes the mark.
    Mark {
        text: &'static str,
    },
    /// A reader looks, and what other programs did is journaled.
    Look,
    Create {
        id: Option<&'static str>,
    },
    Import {
        ids: Vec<&'static str>,
    },
    Delete {
        pick: u8,
    },
    RestoreAll,
    Restore {
        stem: &'static str,
    },
    Undo {
        back: u8,
    },
    Merge,
}

fn overwriting_step() -> impl Strategy<Value = OverwritingStep> {
    let stem = || select(STEMS.to_vec());
    let thing = prop_oneof![
        6 => Just(Thing::Task), 1 => Just(Thing::Garbage), 1 => Just(Thing::Empty), 1 => Just(Thing::Directory),
        1 => Just(Thing::LinkToNothing),
    ];
    prop_oneof![
        12 => (any::<bool>(), stem(), thing).prop_map(|(away, stem, thing)| OverwritingStep::Lay { away, stem, thing }),
        3 => stem().prop_map(|stem| OverwritingStep::Take { stem }),
        1 => stem().prop_map(|text| OverwritingStep::Mark { text }),
        4 => Just(OverwritingStep::Look),
        6 => Just(OverwritingStep::Create { id: None }),
        2 => stem().prop_map(|stem| OverwritingStep::Create { id: Some(stem) }),
        4 => vec(stem(), 1..4).prop_map(|ids| OverwritingStep::Import { ids }),
        4 => any::<u8>().prop_map(|pick| OverwritingStep::Delete { pick }),
        3 => Just(OverwritingStep::RestoreAll),
        3 => stem().prop_map(|stem| OverwritingStep::Restore { stem }),
        5 => (0..4_u8).prop_map(|back| OverwritingStep::Undo { back }),
        3 => Just(OverwritingStep::Merge),
    ]
}

/// Plays random sequences of what other programs lay there and what we make, import, delete, bring back, take back and move,
/// and sees after each that nothing has changed that the operation does not name. `cases` is multiplied with
/// `TASKYARD_TEST_SCALE`.
pub fn nothing_new_replaces_what_is_there(terrain: Terrain, rules: Rules, cases: usize) {
    let cases = u32::try_from(Scale::from_environment(0.06).of(cases)).unwrap_or(u32::MAX);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&vec(overwriting_step(), 1..24), |steps| {
        let ground: Box<dyn Ground> = match terrain {
            Terrain::Memory => Box::new(Memory::new(rules)),
            Terrain::Files => Box::new(Folder::of_the_client(rules)),
            Terrain::Documents => Box::new(Documents::new(rules)),
            Terrain::Teaching => Box::new(Folder::of_teaching(rules)),
        };
        let world = World::new(ground, rules);
        steps.iter().for_each(|step| world.play(step));
        Ok(())
    });
    if let Err(failure) = played {
        panic!("{failure}");
    }
}

struct World {
    ground: Box<dyn Ground>,
    yard: Yard,
    away: ListId,
}

impl World {
    fn new(ground: Box<dyn Ground>, rules: Rules) -> Self {
        let actor = AgentName::new("player").unwrap();
        let yard = Yard::new(Arc::clone(ground.store()), ListId::new("home").unwrap(), actor).with_rules(rules);
        Self { ground, yard, away: ListId::new("away").unwrap() }
    }

    fn play(&self, step: &OverwritingStep) {
        let home = self.yard.list_id();
        match step {
            OverwritingStep::Lay { away, stem, thing } => {
                self.ground.lay(if *away { &self.away } else { home }, stem, *thing)
            }
            OverwritingStep::Take { stem } => self.ground.take(home, stem),
            OverwritingStep::Mark { text } => self.ground.mark(home, text),
            OverwritingStep::Look => drop(self.yard.store().read(home).unwrap().tasks().unwrap()),
            _ => {
                let before = self.ground.held(home);
                let (named, was_done) = self.perform(step);
                let after = self.ground.held(home);
                self.check(step, &before, &after, &named, was_done);
            }
        }
    }

    fn check(&self, step: &OverwritingStep, before: &Held, after: &Held, named: &BTreeSet<TaskId>, was_done: bool) {
        for (name, contents) in before {
            let may_change = was_done && named.iter().any(|id| self.ground.is_name_of(name, id));
            assert!(
                may_change || self.ground.is_kept((name, contents), after, named),
                "{step:?} changed {name}:\n{contents}\n{after:#?}"
            );
        }
        assert!(was_done || before == after, "{step:?} was refused and changed something");
    }

    /// Does what the step says; returns the tasks it names, and whether it was done.
    fn perform(&self, step: &OverwritingStep) -> (BTreeSet<TaskId>, bool) {
        let yard = &self.yard;
        let none = BTreeSet::new;
        match step {
            OverwritingStep::Create { id } => {
                let id = id.map(TaskId::stored);
                let new = NewTask { id, subject: "new".into(), ..NewTask::default() };
                (none(), was_done(yard.create(new)))
            }
            OverwritingStep::Import { ids } => {
                let unique: BTreeSet<&str> = ids.iter().copied().collect();
                let tasks = unique.into_iter().map(|id| Task::new(TaskId::stored(id), format!("imported {id}")));
                // Each comes from a source of its own: nothing is changed that came before.
                let name = format!("{:?}", yard.store().read(yard.list_id()).unwrap().revision());
                let source = Source { format: ImportFormat::Jsonl, name };
                (none(), was_done(yard.import(&Imported::of(tasks.collect()), &source)))
            }
            OverwritingStep::Delete { pick } => {
                let tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
                let Some(task) = tasks.get(usize::from(*pick) % tasks.len().max(1)) else { return (none(), false) };
                (BTreeSet::from([task.id.clone()]), was_done(yard.delete(std::slice::from_ref(&task.id))))
            }
            OverwritingStep::RestoreAll => (none(), was_done(yard.restore(RestoreWhich::All))),
            OverwritingStep::Restore { stem } => {
                (none(), was_done(yard.restore(RestoreWhich::Some(vec![TaskId::stored(*stem)]))))
            }
            OverwritingStep::Undo { back } => {
                let entries = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
                let mut revisions: Vec<_> = entries.iter().map(|entry| entry.revision).collect();
                revisions.dedup();
                let Some(revision) = revisions.iter().rev().nth(usize::from(*back)) else { return (none(), false) };
                let of = entries.iter().filter(|entry| entry.revision == *revision);
                let named = of.map(|entry| entry.task.clone()).collect();
                (named, was_done(yard.undo(UndoRange::One(*revision))))
            }
            OverwritingStep::Merge => (none(), was_done(yard.merge(&self.away, yard.list_id(), MergeWhich::All))),
            OverwritingStep::Lay { .. }
            | OverwritingStep::Take { .. }
            | OverwritingStep::Mark { .. }
            | OverwritingStep::Look => (none(), false),
        }
    }
}

/// Tells whether an operation was done: a refusal and a list that is full are answers, everything else is a failure.
fn was_done<T>(outcome: Result<Outcome<T>, Error>) -> bool {
    match outcome {
        Ok(Outcome::Done(_)) => true,
        Ok(Outcome::Refused(_)) | Err(Error::Store(StoreError::Taken { .. } | StoreError::NoNumberLeft)) => false,
        Err(error) => panic!("{error}"),
    }
}
