//! Playing random sequences of agents, clocks and other programs, and what must hold of leases after each.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use proptest::test_runner::{Config, TestRunner};
use taskyard::Yard;
use taskyard::core::rules::agents::naming::is_same_agent;
use taskyard::core::rules::leases::leasing::holds;
use taskyard::core::{AgentName, Entry, ListId, Op, Revision, Rules, Status, Task, TaskId, Token};
use taskyard::liveness::World;
use taskyard::store::HistoryQuery;
use taskyard::store::StoreClock;

use super::invariants::Replay;
use super::lease_player::{AGENTS, Before, Came, LeasePlayer, Outside};
use super::lease_standing::stands_as_it_should;
use super::lease_steps::{LeaseStep, lease_sequences};
use crate::{Opened, Scale, TurnedWorld};

/// Plays random sequences of claims, renewals, releases, completions, removals, undos, departures, expiries and outside changes
/// by several agents, and checks after each step:
///
/// at most one lease per task; tokens only grow; a token counts exactly while its lease is alive and its task is its agent's, and is
/// refused otherwise; what an ended lease held is pending and without an owner in the journal after the next write; a lease lives for its
/// time whatever the wall clock is set to, and with its process, from whichever machine or container a reader looks, or by the signs of
/// life of that process where it cannot be seen; every owner has a reason in the journal, and the journal replays to the list.
pub fn leases_keep_their_promises<T: Into<Opened>>(factory: impl Fn(StoreClock) -> (T, Outside), cases: usize) {
    let cases = u32::try_from(Scale::from_environment(0.06).of(cases)).unwrap_or(u32::MAX);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&lease_sequences(), |steps| {
        let world = Arc::new(TurnedWorld::default());
        let (opened, outside) = factory(world.clock());
        let mut player = LeasePlayer::new(world, opened.into(), outside);
        for step in std::iter::repeat_n(&LeaseStep::Create { waits_for: None }, 4).chain(&steps) {
            player.play(step);
        }
        Ok(())
    });
    if let Err(failure) = played {
        panic!("{failure}");
    }
}

impl LeasePlayer {
    fn new(world: Arc<TurnedWorld>, opened: Opened, outside: Outside) -> Self {
        let list = ListId::new("home").unwrap();
        let actor = AgentName::new("player").unwrap();
        let yard = Yard::new(Arc::clone(&opened.store), list.clone(), actor);
        let yard = yard.with_rules(Rules::Strict).in_world(Arc::clone(&world) as Arc<dyn World>);
        Self {
            yard,
            world,
            outside,
            given: BTreeMap::new(),
            processes: Vec::new(),
            created: 0,
            reasons: HashMap::new(),
            told: Revision(0),
            replay: Replay::of(&list),
            _opened: opened,
        }
    }

    fn play(&mut self, step: &LeaseStep) {
        let before = self.before();
        let came = self.perform(step, &before);
        self.owners_have_reasons();
        self.replay.comes_to_the_present(self.yard.store());
        self.leases_are_in_order(step);
        if came == Came::Written {
            self.ended_leases_gave_their_tasks_back(&before, step);
        }
    }

    fn before(&self) -> Before {
        let list = self.yard.store().read(self.yard.list_id()).unwrap();
        let leases = list.leases().unwrap();
        let leases = leases
            .into_iter()
            .map(|lease| (self.world.judge_at(&lease, &self.world.now()), lease))
            .map(|(state, lease)| (lease, state));
        let tasks = list.tasks().unwrap().into_iter().map(|task| (task.id.clone(), task));
        Before { leases: leases.collect(), tasks: tasks.collect(), revision: list.revision() }
    }

    fn leases_are_in_order(&self, step: &LeaseStep) {
        let now = self.before();
        let mut last: Option<&TaskId> = None;
        for (lease, state) in &now.leases {
            assert!(last.is_none_or(|last| *last < lease.task), "two leases on task {}", lease.task);
            last = Some(&lease.task);
            let given = self.given.get(&lease.token).unwrap_or_else(|| panic!("nobody was given {lease:?}"));
            assert_eq!((&given.task, given.agent.as_str()), (&lease.task, lease.agent.as_str()));
            let task = now.tasks.get(&lease.task);
            // Another program's word is not known to the store before a process of ours writes.
            assert!(
                given.is_changed_outside || task.is_some_and(|task| holds(lease, task)),
                "{lease:?} after {step:?}"
            );
            given.lives_as_it_should(lease, state, &self.world.now(), step);
            stands_as_it_should(lease, state, &self.world, step);
        }
    }

    fn ended_leases_gave_their_tasks_back(&self, before: &Before, step: &LeaseStep) {
        let now = self.before();
        for (lease, state) in &now.leases {
            assert!(state.is_alive(), "{lease:?} is there after {step:?}");
        }
        let since = HistoryQuery { since: before.revision, ..HistoryQuery::default() };
        let new = self.yard.store().history(self.yard.list_id(), &since).unwrap();
        for (lease, _) in before.leases.iter().filter(|(_, state)| !state.is_alive()) {
            let Some(task) = before.tasks.get(&lease.task).filter(|task| holds(lease, task)) else { continue };
            let came_back = |entry: &&Entry| entry.op == Op::Expire && entry.task == task.id;
            let entry = new.iter().find(came_back).unwrap_or_else(|| panic!("{lease:?} did not end with {step:?}"));
            let after = entry.after.as_ref().unwrap().task(&task.id).unwrap();
            assert_eq!((after.status, after.owner()), (Status::Pending, None));
            assert!(is_same_agent(entry.actor.as_str(), lease.agent.as_str()));
        }
    }

    /// Reads what is new in the journal and finds who or what made each owner.
    fn owners_have_reasons(&mut self) {
        let new = HistoryQuery { since: self.told, ..HistoryQuery::default() };
        for entry in self.yard.store().history(self.yard.list_id(), &new).unwrap() {
            self.told = entry.revision;
            let owner = |image: &Option<taskyard::core::Image>| {
                let task = image.as_ref().map(|image| image.task(&entry.task).unwrap());
                task.and_then(|task| task.owner().map(str::to_owned))
            };
            let (had, has) = (owner(&entry.before), owner(&entry.after));
            if had == has {
                continue;
            }
            if let Some(owner) = &has {
                match entry.op {
                    Op::Claim => assert!(is_same_agent(owner, entry.actor.as_str()), "{entry:?}"),
                    // What is put back was given before, and taken back by another program.
                    Op::CreatedElsewhere | Op::ChangedElsewhere | Op::Undo | Op::PutBack => {}
                    other => panic!("{other} gave task {} to {owner}", entry.task),
                }
            }
            self.reasons.insert(entry.task.clone(), has.map(|_| entry.clone()));
        }
        for (id, task) in self.before().tasks {
            let reason = self.reasons.get(&id).and_then(Option::as_ref);
            let by_reason = reason.map(|entry| entry.after.as_ref().unwrap().task(&id).unwrap());
            let owner = by_reason.as_ref().and_then(Task::owner);
            assert_eq!(task.owner(), owner, "the journal does not say who gave task {id} to its owner");
        }
    }

    pub(super) fn agent(pick: u8) -> AgentName {
        AgentName::new(AGENTS[usize::from(pick) % AGENTS.len()]).unwrap()
    }

    /// Picks a task: one of those that ever were, or one that never was.
    pub(super) fn task(&self, pick: u8) -> TaskId {
        TaskId::number(u64::from(pick) % (self.created + 1) + 1)
    }

    /// Picks a token that was ever given.
    pub(super) fn token(&self, pick: u8) -> Option<Token> {
        let count = self.given.len();
        (count > 0).then(|| *self.given.keys().nth(usize::from(pick) % count).unwrap())
    }
}
