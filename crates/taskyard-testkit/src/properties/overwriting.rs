//! Whatever lies in the place of a list, no new task is put in the place of another.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any};
use proptest::prop_oneof;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use taskyard::core::dialect::foreign::{ImportFormat, Imported};
use taskyard::core::{AgentName, ListId, Rules, Task, TaskId};
use taskyard::operations::{MergeWhich, NewTask, RestoreWhich, Source, UndoRange};
use taskyard::store::{HistoryQuery, StoreError};
use taskyard::{Error, Outcome, Yard};

use super::grounds::{Documents, Folder, Ground, Held, Memory, Thing};
use crate::Scale;

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
enum Step {
    /// Another program puts something there.
    Lay {
        away: bool,
        stem: &'static str,
        thing: Thing,
    },
    /// Another program takes it away.
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

fn step() -> impl Strategy<Value = Step> {
    let stem = || select(STEMS.to_vec());
    let thing = prop_oneof![
        6 => Just(Thing::Task), 1 => Just(Thing::Garbage), 1 => Just(Thing::Empty), 1 => Just(Thing::Directory),
        1 => Just(Thing::LinkToNothing),
    ];
    prop_oneof![
        12 => (any::<bool>(), stem(), thing).prop_map(|(away, stem, thing)| Step::Lay { away, stem, thing }),
        3 => stem().prop_map(|stem| Step::Take { stem }),
        1 => stem().prop_map(|text| Step::Mark { text }),
        4 => Just(Step::Look),
        6 => Just(Step::Create { id: None }),
        2 => stem().prop_map(|stem| Step::Create { id: Some(stem) }),
        4 => vec(stem(), 1..4).prop_map(|ids| Step::Import { ids }),
        4 => any::<u8>().prop_map(|pick| Step::Delete { pick }),
        3 => Just(Step::RestoreAll),
        3 => stem().prop_map(|stem| Step::Restore { stem }),
        5 => (0..4_u8).prop_map(|back| Step::Undo { back }),
        3 => Just(Step::Merge),
    ]
}

/// Plays random sequences of what other programs lay there and what we make, import, delete, bring back, take back and move,
/// and sees after each that nothing has changed that the operation does not name. `cases` is multiplied with
/// `TASKYARD_TEST_SCALE`.
pub fn nothing_new_replaces_what_is_there(terrain: Terrain, rules: Rules, cases: usize) {
    let cases = u32::try_from(Scale::from_environment(0.06).of(cases)).unwrap_or(u32::MAX);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&vec(step(), 1..24), |steps| {
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

    fn play(&self, step: &Step) {
        let home = self.yard.list_id();
        match step {
            Step::Lay { away, stem, thing } => self.ground.lay(if *away { &self.away } else { home }, stem, *thing),
            Step::Take { stem } => self.ground.take(home, stem),
            Step::Mark { text } => self.ground.mark(home, text),
            Step::Look => drop(self.yard.store().read(home).unwrap().tasks().unwrap()),
            _ => {
                let before = self.ground.held(home);
                let (named, was_done) = self.perform(step);
                let after = self.ground.held(home);
                self.check(step, &before, &after, &named, was_done);
            }
        }
    }

    fn check(&self, step: &Step, before: &Held, after: &Held, named: &BTreeSet<TaskId>, was_done: bool) {
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
    fn perform(&self, step: &Step) -> (BTreeSet<TaskId>, bool) {
        let yard = &self.yard;
        let none = BTreeSet::new;
        match step {
            Step::Create { id } => {
                let id = id.map(TaskId::stored);
                let new = NewTask { id, subject: "new".into(), ..NewTask::default() };
                (none(), was_done(yard.create(new)))
            }
            Step::Import { ids } => {
                let unique: BTreeSet<&str> = ids.iter().copied().collect();
                let tasks = unique.into_iter().map(|id| Task::new(TaskId::stored(id), format!("imported {id}")));
                // Each comes from a source of its own: nothing is changed that came before.
                let name = format!("{:?}", yard.store().read(yard.list_id()).unwrap().revision());
                let source = Source { format: ImportFormat::Jsonl, name };
                (none(), was_done(yard.import(&Imported::of(tasks.collect()), &source)))
            }
            Step::Delete { pick } => {
                let tasks = yard.store().read(yard.list_id()).unwrap().tasks().unwrap();
                let Some(task) = tasks.get(usize::from(*pick) % tasks.len().max(1)) else { return (none(), false) };
                (BTreeSet::from([task.id.clone()]), was_done(yard.delete(std::slice::from_ref(&task.id))))
            }
            Step::RestoreAll => (none(), was_done(yard.restore(RestoreWhich::All))),
            Step::Restore { stem } => (none(), was_done(yard.restore(RestoreWhich::Some(vec![TaskId::stored(*stem)])))),
            Step::Undo { back } => {
                let entries = yard.store().history(yard.list_id(), &HistoryQuery::default()).unwrap();
                let mut revisions: Vec<_> = entries.iter().map(|entry| entry.revision).collect();
                revisions.dedup();
                let Some(revision) = revisions.iter().rev().nth(usize::from(*back)) else { return (none(), false) };
                let of = entries.iter().filter(|entry| entry.revision == *revision);
                let named = of.map(|entry| entry.task.clone()).collect();
                (named, was_done(yard.undo(UndoRange::One(*revision))))
            }
            Step::Merge => (none(), was_done(yard.merge(&self.away, yard.list_id(), MergeWhich::All))),
            Step::Lay { .. } | Step::Take { .. } | Step::Mark { .. } | Step::Look => (none(), false),
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
