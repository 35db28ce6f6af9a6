//! Chooses the task that an agent could claim next.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use taskyard_core::live::LiveList;
use taskyard_core::rules::claims::claiming::{Candidate, Claimant, Resumes, candidates, held, is_given_up, judge_load};
use taskyard_core::rules::claims::readiness::{Ranked, rank};
use taskyard_core::rules::history::vanishing::Gone;
pub use taskyard_core::rules::leases::leasing::DEFAULT_LEASE;
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::rules::looking::query::{Query, Surroundings, Times};
use taskyard_core::rules::refusal::{ClaimRefusal, Refusal};
use taskyard_core::{Holder, Lease, Moment, ProcessMark, Revision, Task, TaskId, Timestamp};

use super::reading::Reading;
use crate::store::{StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// How many of the best candidates are taken from a list in memory. If other agents claim all of them first, it is
/// asked again.
const BEST: usize = 4;

/// The candidates, best first, and the other tasks held under the agent's name if it was not given explicitly.
pub(super) type Choice = (Vec<Candidate>, Vec<TaskId>);

impl Yard {
    /// Returns the candidates for the agent and the revision they were read at. Tasks of expired leases are released
    /// first.
    pub(super) fn choose(&self, claim: &Claim) -> Result<(Outcome<Choice>, Revision), Error> {
        let (mut list, now) = (self.store().read(self.list_id())?, self.now()?);
        let mut leases = list.leases()?;
        if !self.are_alive(&leases, &now) {
            drop(list);
            self.record_ended_leases()?;
            list = self.store().read(self.list_id())?;
            leases = list.leases()?;
        }
        if let Some(live) = list.live()? {
            let (chosen, revision) = (self.candidates_in_memory(&live, &leases, claim, &now), live.revision());
            let unowned = if chosen.is_err() { live.unowned_in_progress() } else { Vec::new() };
            // The list in memory is locked while `live` exists.
            drop(live);
            let chosen = self.or_of_ended_sessions(chosen, &unowned, &leases, claim)?;
            return Ok((chosen, revision));
        }
        drop(list);
        let reading = self.look()?;
        let leases: Vec<Lease> = reading.leases.into_iter().map(|(lease, _)| lease).collect();
        let chosen = self.candidates(&reading.tasks, &leases, claim, &now);
        let chosen = self.or_of_ended_sessions(chosen, &reading.tasks, &leases, claim)?;
        Ok((chosen, reading.revision))
    }

    /// If nothing else is available, returns the tasks that the client's own tools left in progress for sessions that
    /// have ended.
    fn or_of_ended_sessions(
        &self,
        chosen: Result<Choice, ClaimRefusal>,
        tasks: &[Task],
        leases: &[Lease],
        claim: &Claim,
    ) -> Result<Outcome<Choice>, StoreError> {
        if !matches!(chosen, Err(ClaimRefusal::NothingReady { .. })) {
            return Ok(chosen.map_err(Refusal::from).into());
        }
        let left = self.of_ended_sessions(tasks, leases)?;
        let free = left.into_iter().filter(|abandoned| abandoned.is_free).map(|abandoned| abandoned.task);
        let wanted = free.filter(|task| !claim.passed_over.contains(&task.id) && !claim.gives_up(task));
        let why = "left in progress by a session that has ended".to_owned();
        let candidate = |task: Task| Candidate { task: task.id, why: why.clone(), is_resumed: false };
        let candidates: Vec<Candidate> = wanted.map(candidate).collect();
        Ok(if candidates.is_empty() {
            chosen.map_err(Refusal::from).into()
        } else {
            Outcome::Done((candidates, Vec::new()))
        })
    }

    /// Returns the candidates within a transaction; `None` if the list is not in memory.
    pub(super) fn choose_again(&self, txn: &dyn Txn, claim: &Claim) -> Result<Option<Outcome<Choice>>, StoreError> {
        let (leases, now) = (txn.leases()?, self.now()?);
        let chosen = |live: &LiveList| self.candidates_in_memory(live, &leases, claim, &now).map_err(Refusal::from);
        Ok(txn.live()?.map(|live| chosen(&live).into()))
    }

    /// Returns the candidates of a list that was read.
    pub(super) fn candidates(
        &self,
        tasks: &[Task],
        leases: &[Lease],
        claim: &Claim,
        now: &Moment,
    ) -> Result<Choice, ClaimRefusal> {
        let claimant = Claimant { resumes: self.resumes(leases, claim, now), ..self.claimant(claim) };
        if claim.only_when_idle {
            judge_load(tasks, None, &claimant, self.rules())?;
        }
        let mut passed_over = claim.passed_over.clone();
        let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        let stands = |lease: &&Lease| by_id.get(&lease.task).is_some_and(|task| holds(lease, task));
        let held_elsewhere = leases.iter().filter(|lease| self.is_held_by_another(lease, claim, now));
        passed_over.extend(held_elsewhere.filter(stands).map(|lease| lease.task.clone()));
        passed_over.extend(tasks.iter().filter(|task| claim.gives_up(task)).map(|task| task.id.clone()));
        if !claim.query.is_empty() {
            let times = self.times_for(&claim.query);
            let is_unwanted = |task: &&Task| claim.passes_over(task, times.get(&task.id).copied(), now.wall);
            passed_over.extend(tasks.iter().filter(is_unwanted).map(|task| task.id.clone()));
        }
        let also_held = match claim.resuming {
            Resuming::All => Vec::new(),
            Resuming::FromEndedServer | Resuming::Nothing => self.held_in(tasks),
        };
        Ok((candidates(tasks, &claimant, &passed_over, now.wall, self.rules())?, also_held))
    }

    /// Returns the candidates of a list in memory.
    pub(super) fn candidates_in_memory(
        &self,
        live: &LiveList,
        leases: &[Lease],
        claim: &Claim,
        now: &Moment,
    ) -> Result<Choice, ClaimRefusal> {
        let claimant = Claimant { resumes: self.resumes(leases, claim, now), ..self.claimant(claim) };
        let own = || live.tasks_of(self.actor(), self.rules());
        if claim.only_when_idle {
            judge_load(&own(), None, &claimant, self.rules())?;
        }
        let is_held_elsewhere = |task: &Task| {
            let on_it = leases.iter().filter(|lease| lease.task == task.id && holds(lease, task));
            on_it.into_iter().any(|lease| self.is_held_by_another(lease, claim, now))
        };
        let times = self.times_for(&claim.query);
        let is_passed_over = |task: &Task| {
            // A task without an owner has no holder.
            let is_held = task.owner().is_some() && is_held_elsewhere(task);
            let is_unwanted =
                || !claim.query.is_empty() && claim.passes_over(task, times.get(&task.id).copied(), now.wall);
            claim.passed_over.contains(&task.id) || claim.gives_up(task) || is_held || is_unwanted()
        };
        let also_held = match claim.resuming {
            Resuming::All => Vec::new(),
            Resuming::FromEndedServer | Resuming::Nothing => own().into_iter().map(|task| task.id).collect(),
        };
        Ok((live.candidates(&claimant, is_passed_over, BEST, self.rules())?, also_held))
    }

    /// Returns which of its own tasks the agent resumes. An agent named after its session resumes the tasks held by a
    /// server of that session that has ended: no other agent with that name can be working on them through it.
    fn resumes(&self, leases: &[Lease], claim: &Claim, now: &Moment) -> Resumes {
        let has_ended = |lease: &&Lease| matches!(self.world().judge_at(lease, now), LeaseState::Lapsing(_));
        match claim.resuming {
            Resuming::All => Resumes::All,
            Resuming::FromEndedServer => {
                Resumes::Only(leases.iter().filter(has_ended).map(|lease| lease.task.clone()).collect())
            }
            Resuming::Nothing => Resumes::Only(HashSet::new()),
        }
    }

    /// Returns whether a lease is bound to the client in which an agent runs.
    pub(super) fn is_of_client(&self, holder: &Holder, client: Option<&ProcessMark>) -> bool {
        client.is_some_and(|client| self.world().lives_with(holder, client))
    }

    fn held_in(&self, tasks: &[Task]) -> Vec<TaskId> {
        held(tasks, self.actor(), self.rules()).map(|task| task.id.clone()).collect()
    }

    /// Returns the open tasks that the agent owns.
    pub fn held(&self) -> Result<Vec<TaskId>, Error> {
        Ok(self.held_in(&self.look()?.tasks))
    }

    /// Returns whether a lease is bound to another process than the one that claims. An agent that claims without a
    /// process of its own may be working for the one that holds the lease, like an agent started by `work`. A process
    /// that has ended does not count against a new one with the same name, and the shell and the server of one client
    /// count as one agent.
    pub(super) fn is_held_by_another(&self, lease: &Lease, claim: &Claim, now: &Moment) -> bool {
        let is_another = match (&lease.holder, &claim.holder) {
            (Some(holding), Some(asking)) => {
                holding.process() != asking.process() && !self.is_of_client(holding, claim.client.as_ref())
            }
            (_, None) | (None, _) => false,
        };
        is_another && matches!(self.world().judge_at(lease, now), LeaseState::Live | LeaseState::Unseen(_))
    }
}

/// The terms of a claim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The roles of the agent.
    pub roles: Vec<String>,
    /// How many tasks the agent may have in progress.
    pub limit: Option<usize>,
    /// Whether to claim only if the agent has no other task.
    pub only_when_idle: bool,
    /// Whether to become the owner without starting the task.
    pub reserve: bool,
    /// Whether to start the task with client rules as well. By default they only set the owner.
    pub always_begins: bool,
    /// How long the lease lives without being renewed; `None` if it does not expire by time.
    pub ttl: Option<Duration>,
    /// The process that the lease is bound to; `None` if it is bound to none.
    pub holder: Option<Holder>,
    /// The client in which the agent runs. Leases bound to that client or one of its servers do not count as another
    /// agent's of the same name.
    pub client: Option<ProcessMark>,
    /// Tasks to skip this time.
    pub passed_over: HashSet<TaskId>,
    /// How many more attempts a failed task gets; `None` for any number.
    pub retries: Option<u64>,
    /// Which of its own tasks the agent resumes when it claims the next one.
    pub resuming: Resuming,
    /// The condition that the next task must meet.
    pub query: Query,
}

/// Which of its own tasks an agent resumes when it claims the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resuming {
    /// All: the agent's name was given explicitly.
    #[default]
    All,
    /// Those held by an ended server of its own session: the agent is named after its session, and other agents may
    /// share the name.
    FromEndedServer,
    /// None: the agent is named after its login or its session, and other agents may share the name.
    Nothing,
}

impl Claim {
    /// Returns whether a task does not match the query.
    pub(super) fn passes_over(&self, task: &Task, times: Option<Times>, now: Timestamp) -> bool {
        !self.query.is_true_of(task, &Candidacy { times, now })
    }

    /// Returns whether a task failed too often to be chosen.
    pub(super) fn gives_up(&self, task: &Task) -> bool {
        self.retries.is_some_and(|retries| is_given_up(task, retries))
    }
}

impl Default for Claim {
    fn default() -> Self {
        Self {
            roles: Vec::new(),
            limit: None,
            only_when_idle: false,
            reserve: false,
            always_begins: false,
            ttl: Some(DEFAULT_LEASE),
            holder: None,
            client: None,
            passed_over: HashSet::new(),
            retries: None,
            resuming: Resuming::All,
            query: Query::default(),
        }
    }
}

impl Claim {
    /// Returns whether the agent's other tasks may be a reason to refuse the claim.
    pub(super) fn depends_on_load(&self) -> bool {
        self.only_when_idle || self.limit.is_some()
    }
}

/// A candidate as a query sees it.
struct Candidacy {
    times: Option<Times>,
    now: Timestamp,
}

impl Surroundings for Candidacy {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn is_ready(&self, _: &Task) -> bool {
        // Only ready tasks are offered, apart from those the agent has already started.
        true
    }

    fn is_blocked(&self, _: &Task) -> bool {
        false
    }

    fn times(&self, _: &Task) -> Option<Times> {
        self.times
    }
}

/// The tasks that can start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The ready tasks, best first: by priority, then overdue ones, then by the length of the chain they block, then by
    /// number.
    pub ranked: Vec<Ranked>,
    /// Tasks in progress for a session that has ended. `claim` takes them over.
    pub stale: Vec<Task>,
    /// What is gone, if no task file is left although no agent deleted the tasks.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Returns at most `limit` tasks that can start now; `None` for all.
    pub fn ready(&self, limit: Option<usize>) -> Result<Ready, Error> {
        let Reading { tasks, leases, missing, gone, .. } = self.look()?;
        let leases: Vec<Lease> = leases.into_iter().map(|(lease, _)| lease).collect();
        let stale = self.of_ended_sessions(&tasks, &leases)?;
        let stale = stale.into_iter().map(|abandoned| abandoned.task).collect();
        let now = self.now()?.wall;
        if missing.is_empty() {
            return Ok(Ready { ranked: rank(&tasks, limit, now, self.rules()), stale, gone });
        }
        let mut ranked = rank(&tasks, None, now, self.rules());
        ranked.retain(|ranked| !missing.contains_key(&ranked.task.id));
        ranked.truncate(limit.unwrap_or(usize::MAX));
        Ok(Ready { ranked, stale, gone })
    }
}
