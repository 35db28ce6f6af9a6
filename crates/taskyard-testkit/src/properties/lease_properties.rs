//! Plays random sequences of agents, clocks and other programs, and checks every lease after each step.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use proptest::test_runner::{Config, TestRunner};
use taskyard::core::rules::agents::is_same_agent;
use taskyard::core::rules::leases::leasing::{DEFAULT_LEASE, holds};
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, Entry, Holder, Lease, ListId, Op, Revision, Rules, Status, Task, TaskId, Token};
use taskyard::liveness::World;
use taskyard::operations::{Claim, Claimed, Departure, Filter, NewTask, UndoRange};
use taskyard::store::{HistoryQuery, StoreClock};
use taskyard::{Outcome, Yard};

use crate::properties::lease_model::{
    AGENTS, Before, Came, Given, LeasePlayer, LeaseStep, Life, Outside, TTL, lease_sequences, stands_as_it_should,
};
use crate::properties::playing::Replay;
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

impl LeasePlayer {
    /// Does what the step says.
    pub(super) fn perform(&mut self, step: &LeaseStep, before: &Before) -> Came {
        match *step {
            LeaseStep::Create { waits_for } => {
                let blocked_by = waits_for.map(|pick| self.task(pick)).into_iter().collect();
                let new = NewTask { subject: "made".into(), blocked_by, ..NewTask::default() };
                let made = self.yard.create(new).unwrap();
                self.created += u64::from(matches!(made, Outcome::Done(_)));
                came(&made)
            }
            LeaseStep::Claim { task, agent, life, reserve, only_when_idle } => {
                let task = self.task(task);
                self.claim(Self::agent(agent), life, |yard, claim| {
                    let claim = Claim { reserve, only_when_idle, ..claim };
                    yard.claim(&task, &claim).unwrap()
                })
            }
            LeaseStep::ClaimNext { agent, life } => {
                self.claim(Self::agent(agent), life, |yard, claim| yard.claim_next(&claim).unwrap())
            }
            LeaseStep::Renew { token, agent } => {
                let Some(token) = self.token(token) else { return Came::NotWritten };
                let task = self.given[&token].task.clone();
                let yard = self.yard.acting_as(Self::agent(agent));
                let renewed = yard.renew(&task, token, None).unwrap();
                self.is_judged_by_token(&renewed, &task, token, before);
                if let Outcome::Done((_, lease)) = &renewed {
                    self.shows_life(token, lease);
                }
                self.acts(&Self::agent(agent), &renewed)
            }
            LeaseStep::Release { task, agent, proof } => {
                self.write(task, agent, proof, before, |yard, task| yard.release(task).unwrap().map(drop))
            }
            LeaseStep::Done { task, agent, proof } => {
                self.write(task, agent, proof, before, |yard, task| yard.done(task).unwrap().map(drop))
            }
            LeaseStep::Reopen { task, agent } => {
                self.write(task, agent, None, before, |yard, task| yard.reopen(task).unwrap().map(drop))
            }
            LeaseStep::Delete { task, agent } => self.write(task, agent, None, before, |yard, task| {
                yard.delete(std::slice::from_ref(task)).unwrap().map(drop)
            }),
            LeaseStep::Undo { revision, agent, force } => {
                let revision = Revision(u64::from(revision) % before.revision.0.max(1) + 1);
                let agent = Self::agent(agent);
                let yard = self.yard.acting_as(agent.clone());
                let yard = if force { yard.overruling() } else { yard };
                let undone = yard.undo(UndoRange::One(revision)).unwrap();
                if let (Outcome::Done(undone), false) = (&undone, force) {
                    for (task, _) in &undone.tasks {
                        let lease = before.counting(task).map(|lease| lease.agent.as_str());
                        let is_own = lease.is_none_or(|holder| is_same_agent(holder, agent.as_str()));
                        assert!(is_own, "{agent} took back what {lease:?} works on");
                    }
                }
                self.acts(&agent, &undone)
            }
            LeaseStep::Depart { agent } => {
                let agent = Self::agent(agent);
                let departed = self.yard.depart(&agent, Departure::Terminated).unwrap();
                let left = self.yard.store().read(self.yard.list_id()).unwrap().tasks().unwrap();
                let is_left = |task: &&Task| task.owner().is_some_and(|owner| is_same_agent(owner, agent.as_str()));
                assert_eq!(left.iter().find(|task| is_left(task) && task.status.is_open()), None);
                if departed.revision.is_some() { Came::Written } else { Came::NotWritten }
            }
            LeaseStep::Look { agent } => {
                let agent = Self::agent(agent);
                self.yard.acting_as(agent.clone()).list(&Filter::default()).unwrap();
                self.acted(&agent);
                // No transaction is open, so what was dead has come back.
                Came::Written
            }
            LeaseStep::Outside { task, owner, status } => {
                let id = self.task(task);
                let Some(task) = before.tasks.get(&id) else { return Came::NotWritten };
                let owner = owner.map(|pick| Self::agent(pick).as_str().to_owned());
                (self.outside)(self.yard.list_id(), &Task { owner, status, ..task.clone() });
                self.given
                    .values_mut()
                    .filter(|given| given.task == id)
                    .for_each(|given| given.is_changed_outside = true);
                Came::NotWritten
            }
            LeaseStep::Pass { sixteenths } => {
                self.world.pass(TTL / 16 * u32::from(sixteenths));
                Came::NotWritten
            }
            LeaseStep::SetWallClock { hours } => {
                self.world.set_wall_clock(i64::from(hours) * 3_600_000);
                Came::NotWritten
            }
            LeaseStep::EndProcess { process } => {
                if let Some(process) = self.processes.get(usize::from(process) % self.processes.len().max(1)) {
                    self.world.end_process(process);
                }
                Came::NotWritten
            }
            LeaseStep::Restart { sixteenths } => {
                self.world.restart(TTL / 16 * u32::from(sixteenths));
                Came::NotWritten
            }
            LeaseStep::Stand { place } => {
                self.world.stand(place);
                Came::NotWritten
            }
            LeaseStep::Hide { is_hidden } => {
                self.world.hide_processes(is_hidden);
                Came::NotWritten
            }
            LeaseStep::LeaveSigns => {
                self.world.leave_signs();
                Came::NotWritten
            }
        }
    }

    fn claim(
        &mut self,
        agent: AgentName,
        life: Life,
        claim: impl Fn(&taskyard::Yard, Claim) -> Outcome<Claimed>,
    ) -> Came {
        let process = (!matches!(life, Life::Time)).then(|| self.world.start_process());
        self.processes.extend(process.clone());
        let holder = process.clone().map(|process| match life {
            Life::Connection => Holder::Connection { process, grace: TTL / 4 },
            Life::Time | Life::Process | Life::TimeAndProcess => Holder::Process(process),
        });
        let ttl = matches!(life, Life::Time | Life::TimeAndProcess).then_some(TTL);
        let outcome = claim(&self.yard.acting_as(agent.clone()), Claim { ttl, holder, ..Claim::default() });
        self.tried(&agent);
        let Outcome::Done(claimed) = outcome else { return Came::NotWritten };
        let (lease, now) = (claimed.lease, self.world.now());
        assert!(claimed.task.owner().is_some_and(|owner| is_same_agent(owner, agent.as_str())));
        match self.given.get_mut(&lease.token) {
            Some(given) => {
                assert_eq!(given.task, lease.task);
                assert!(
                    is_same_agent(given.agent.as_str(), agent.as_str()),
                    "{agent} was given the token of {given:?}"
                );
                given.goes_on_as(&lease, TTL);
                given.acted = now;
            }
            None => {
                let greatest = self.given.keys().next_back().copied().unwrap_or_default();
                assert!(lease.token > greatest, "{} after {greatest}", lease.token);
                let (task, agent) = (lease.task, lease.agent);
                let (acted, tried) = (now.clone(), now);
                let given = Given { task, agent, is_changed_outside: false, life, ttl: TTL, acted, tried };
                self.given.insert(lease.token, given);
            }
        }
        self.acted(&agent);
        Came::Written
    }

    /// Makes a change that a lease may forbid, and checks that it is forbidden exactly then.
    fn write(
        &mut self,
        task: u8,
        agent: u8,
        proof: Option<u8>,
        before: &Before,
        change: impl Fn(&taskyard::Yard, &TaskId) -> Outcome<()>,
    ) -> Came {
        let agent = Self::agent(agent);
        let yard = self.yard.acting_as(agent.clone());
        let token = proof.and_then(|pick| self.token(pick));
        let task = token.map_or_else(|| self.task(task), |token| self.given[&token].task.clone());
        let outcome = change(&token.map_or_else(|| yard.clone(), |token| yard.proving(token)), &task);
        match token {
            Some(token) => self.is_judged_by_token(&outcome, &task, token, before),
            None => {
                let is_anothers = |lease: &&Lease| !is_same_agent(lease.agent.as_str(), agent.as_str());
                let forbids = self.counting(&task, before).filter(is_anothers);
                let is_leased = matches!(&outcome, Outcome::Refused(Refusal::Leased { .. }));
                assert_eq!(is_leased, forbids.is_some(), "{outcome:?} under {forbids:?}");
            }
        }
        self.acts(&agent, &outcome)
    }

    /// A token counts while its lease is alive and its task is its agent's; otherwise it is late.
    fn is_judged_by_token<T: std::fmt::Debug>(
        &self,
        outcome: &Outcome<T>,
        task: &TaskId,
        token: Token,
        before: &Before,
    ) {
        let counts = self.counting(task, before).is_some_and(|lease| lease.token == token);
        match outcome {
            Outcome::Done(_) => assert!(counts, "a late token {token} was taken"),
            Outcome::Refused(Refusal::StaleToken { .. }) => assert!(!counts, "token {token} counts and was refused"),
            Outcome::Refused(Refusal::NoSuchTask { .. }) => assert!(!before.tasks.contains_key(task)),
            Outcome::Refused(other) => assert!(counts, "{other} hides that token {token} is late"),
        }
    }

    /// Returns the lease on a task that counted when the step was judged. If another program wrote to the task without knowing of the
    /// lease, its write may have been put back first.
    fn counting<'a>(&self, task: &TaskId, before: &'a Before) -> Option<&'a Lease> {
        let since = HistoryQuery { since: before.revision, ..HistoryQuery::default() };
        let new = self.yard.store().history(self.yard.list_id(), &since).unwrap();
        let put_back = new.iter().find(|entry| entry.op == Op::PutBack && entry.task == *task);
        let Some(entry) = put_back else { return before.counting(task) };
        let after = entry.after.as_ref().unwrap().task(task).unwrap();
        let mut alive = before.leases.iter().filter(|(_, state)| state.is_alive()).map(|(lease, _)| lease);
        alive.find(|lease| lease.task == *task && holds(lease, &after))
    }

    fn acts<T>(&mut self, agent: &AgentName, outcome: &Outcome<T>) -> Came {
        match came(outcome) {
            Came::Written => self.acted(agent),
            Came::NotWritten => self.tried(agent),
        }
        came(outcome)
    }

    fn acted(&mut self, agent: &AgentName) {
        let now = self.world.now();
        for given in self.of(agent) {
            given.acted.clone_from(&now);
        }
        self.tried(agent);
    }

    fn tried(&mut self, agent: &AgentName) {
        let now = self.world.now();
        for given in self.of(agent) {
            given.tried.clone_from(&now);
        }
    }

    fn of(&mut self, agent: &AgentName) -> impl Iterator<Item = &mut Given> {
        let agent = agent.clone();
        self.given.values_mut().filter(move |given| is_same_agent(given.agent.as_str(), agent.as_str()))
    }

    fn shows_life(&mut self, token: Token, lease: &Lease) {
        let now = self.world.now();
        if let Some(given) = self.given.get_mut(&token) {
            given.goes_on_as(lease, DEFAULT_LEASE);
            (given.acted, given.tried) = (now.clone(), now);
        }
    }
}

fn came<T>(outcome: &Outcome<T>) -> Came {
    if matches!(outcome, Outcome::Done(_)) { Came::Written } else { Came::NotWritten }
}
