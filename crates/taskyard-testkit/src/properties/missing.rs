//! What is missing is named until an agent deletes it on purpose, whatever else happens.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::test_runner::{Config, TestRunner};
use taskyard::core::{AgentName, ListId, Op, Revision, Rules, TaskId};
use taskyard::operations::{NewTask, Restorable, RestoreWhich, UndoRange};
use taskyard::store::HistoryQuery;
use taskyard::{Outcome, Yard};

use super::invariants::edges_are_in_order;
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
    let played = TestRunner::new(config).run(&vec(step(), 1..40), |steps| {
        let mut player = Player::new(factory(rules), rules);
        for _ in 0..4 {
            player.play(&Step::Create { blocked_by: Vec::new() });
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
enum Step {
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

fn step() -> impl Strategy<Value = Step> {
    let few = || vec(any::<u8>(), 1..3);
    prop_oneof![
        6 => vec(any::<u8>(), 0..3).prop_map(|blocked_by| Step::Create { blocked_by }),
        8 => (few(), any::<bool>()).prop_map(|(tasks, looks)| Step::Remove { tasks, looks }),
        2 => any::<bool>().prop_map(|looks| Step::RemoveEverything { looks }),
        5 => Just(Step::RestoreAll),
        4 => few().prop_map(|tasks| Step::Restore { tasks }),
        2 => Just(Step::RestoreAllWithDeleted),
        5 => Just(Step::UndoNewest),
        6 => any::<u8>().prop_map(|revision| Step::UndoOne { revision }),
        8 => Just(Step::UndoLatest),
        6 => few().prop_map(|tasks| Step::Delete { tasks }),
        1 => Just(Step::Clear),
        2 => any::<u8>().prop_map(|task| Step::Done { task }),
    ]
}

/// How a task stands, as far as the player has seen to it.
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

    fn play(&mut self, step: &Step) {
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

    fn check(&self, step: &Step) {
        let tasks = self.yard.store().read(self.yard.list_id()).unwrap().tasks().unwrap();
        let there: BTreeSet<TaskId> = tasks.into_iter().map(|task| task.id).collect();
        assert_eq!(there, self.those(&[Standing::There]), "what is there after {step:?}");
        assert_eq!(ids(self.yard.restorable().unwrap()), self.those(&[Standing::Missing]), "missing after {step:?}");
        let absent = self.those(&[Standing::Missing, Standing::Deleted]);
        assert_eq!(ids(self.yard.restorable_with_deleted().unwrap()), absent, "absent after {step:?}");
    }

    /// Does what the step says, and returns the revision it made.
    fn perform(&mut self, step: &Step) -> Option<Revision> {
        let yard = self.yard.clone();
        match step {
            Step::Create { blocked_by } => {
                let there = self.those(&[Standing::There]);
                let blocked_by = self.tasks(blocked_by).into_iter().filter(|task| there.contains(task)).collect();
                let new = NewTask { subject: "made".into(), blocked_by, ..NewTask::default() };
                let created = yard.create(new).unwrap().done().unwrap();
                self.made.push(created.task.id.clone());
                self.stand([created.task.id], Standing::There);
                Some(created.revision)
            }
            Step::Remove { tasks, looks } => {
                let there = self.those(&[Standing::There]);
                let tasks: Vec<TaskId> = self.tasks(tasks).into_iter().filter(|task| there.contains(task)).collect();
                (self.remove)(yard.list_id(), Removal::Tasks(&tasks));
                self.stand(tasks.clone(), Standing::Missing);
                if *looks && !tasks.is_empty() { self.look() } else { None }
            }
            Step::RemoveEverything { looks } => {
                (self.remove)(yard.list_id(), Removal::Everything);
                let there = self.those(&[Standing::There]);
                self.stand(there.clone(), Standing::Missing);
                if *looks && !there.is_empty() { self.look() } else { None }
            }
            Step::RestoreAll => {
                let restored = yard.restore(RestoreWhich::All).unwrap().done().unwrap();
                let tasks: BTreeSet<TaskId> = restored.tasks.into_iter().map(|task| task.id).collect();
                assert_eq!(tasks, self.those(&[Standing::Missing]), "restoring everything brings back what is missing");
                self.stand(tasks, Standing::There);
                restored.revision
            }
            Step::Restore { tasks } => {
                let tasks = self.tasks(tasks);
                let missing = self.those(&[Standing::Missing]);
                let outcome = yard.restore(RestoreWhich::Some(tasks.clone())).unwrap();
                let may = tasks.iter().all(|task| missing.contains(task));
                assert_eq!(matches!(outcome, Outcome::Done(_)), may, "{tasks:?} of {missing:?}");
                let restored = outcome.done().ok()?;
                self.stand(tasks, Standing::There);
                restored.revision
            }
            Step::RestoreAllWithDeleted => {
                let restored = yard.restore_with_deleted(RestoreWhich::All).unwrap().done().unwrap();
                self.stand(restored.tasks.into_iter().map(|task| task.id), Standing::There);
                restored.revision
            }
            Step::UndoNewest => self.undo(UndoRange::Newest),
            Step::UndoOne { revision } => {
                let place = usize::from(*revision) % self.before.len().max(1);
                let revision = self.before.keys().nth(place).copied()?;
                self.undo(UndoRange::One(revision))
            }
            Step::UndoLatest => {
                let latest = *self.before.keys().next_back()?;
                self.undo(UndoRange::One(latest))
            }
            Step::Delete { tasks } => {
                let tasks = self.tasks(tasks);
                let deleted = yard.delete(&tasks).unwrap().done().ok()?;
                assert!(!self.rules.is_client() || deleted.missing.is_empty());
                self.stand(tasks, Standing::Deleted);
                Some(deleted.revision)
            }
            Step::Clear => {
                let cleared = yard.clear().unwrap().done().unwrap();
                let gone = self.those(&[Standing::There, Standing::Missing]);
                assert_eq!(cleared.tasks.len() + cleared.missing.len(), gone.len());
                self.stand(gone, Standing::Deleted);
                cleared.revision
            }
            Step::Done { task } => {
                let task = self.tasks(&[*task]).pop()?;
                yard.done(&task).unwrap().done().ok()?.revision
            }
        }
    }

    /// Takes revisions back: the tasks stand as they did before them.
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
        self.play(&Step::RestoreAll);
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
