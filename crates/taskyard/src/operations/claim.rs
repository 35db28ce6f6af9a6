//! Taking a task: exactly one of all agents that want it gets it.

use std::collections::HashSet;
use std::time::Instant;

use taskyard_core::rules::agents::naming::is_same_agent;
use taskyard_core::rules::claims::claiming::{ClaimRefusal, Claimant, Resumes, judge_claim, judge_load};
use taskyard_core::rules::graph::open_tasks::OpenTasks;
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::{Event, Lease, Op, Revision, Status, Task, TaskId};

use super::choosing::Choice;
use super::claim_terms::Claim;
use super::holding_up::{open_blockers, parents_since};
use super::leases::lease_on;
use super::outcome::Outcome;
use crate::leases::{Alarm, Woken};
use crate::store::{Lookup, NewLease, Snapshot, StoreError, Txn};
use crate::{Error, Yard};

/// How often the list is looked at without a lock when other agents were faster with everything that was ready. After that it is looked at
/// under the lock, where no agent can be faster.
const LOOKS: u32 = 4;

/// What came of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The task is the agent's.
    Claimed(Box<Claimed>),
    /// It is not, and nothing has changed.
    Refused {
        /// The rule that refused it, with what stands in the way.
        refusal: ClaimRefusal,
        /// The task that was asked for, where there is one.
        task: Option<Box<Task>>,
    },
}

/// A task that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The task as it is now.
    pub task: Task,
    /// The lease that was given for it.
    pub lease: Lease,
    /// Whether the agent had it already.
    pub is_resumed: bool,
    /// Why this one, where it was chosen.
    pub why: Option<String>,
    /// The commit; none where the file already said so.
    pub revision: Option<Revision>,
    /// What else the agent's name holds, where the agent was not given that name: other agents of the name may be at work on it.
    pub also_held: Vec<TaskId>,
    /// Whether `work` started the agent for this task.
    pub is_of_run: bool,
}

/// Why not, and which task it was about.
pub(super) type Refused = (ClaimRefusal, Option<Box<Task>>);
/// What one attempt came to.
pub(super) type Attempt = Result<Claimed, Refused>;

impl Yard {
    /// Takes a task by its id.
    pub fn claim(&self, id: &TaskId, claim: &Claim) -> Result<ClaimOutcome, Error> {
        if let Some(outcome) = self.claim_in_run(Some(id))? {
            return Ok(outcome);
        }
        let claim = match self.as_teammate(claim)? {
            Ok(claim) => claim,
            Err(refusal) => return Ok(ClaimOutcome::Refused { refusal, task: None }),
        };
        let claim = claim.as_ref();
        if let Some((refusal, task)) = self.refused_at_a_glance(id, claim)? {
            return Ok(ClaimOutcome::Refused { refusal, task });
        }
        self.claim_once(|txn| self.attempt(txn, id, claim))
    }

    /// Takes the task that comes next: one the agent has already, else the best that is ready.
    pub fn claim_next(&self, claim: &Claim) -> Result<ClaimOutcome, Error> {
        if let Some(outcome) = self.claim_in_run(None)? {
            return Ok(outcome);
        }
        let claim = match self.as_teammate(claim)? {
            Ok(claim) => claim,
            Err(refusal) => return Ok(ClaimOutcome::Refused { refusal, task: None }),
        };
        let claim = claim.as_ref();
        if self.may_be_something_for(claim)? {
            // The transaction reads the list anyway, and chooses.
            let answer = self.claim_once(|txn| match self.choose_again(txn, claim)? {
                Some(Ok(candidates)) => self.attempt_first(txn, &candidates, &HashSet::new(), claim),
                Some(Err(refusal)) => Ok(Err((refusal, None))),
                None => Ok(Err((ClaimRefusal::NothingReady { for_others: 0, next_at: None }, None))),
            })?;
            if matches!(answer, ClaimOutcome::Claimed(_)) {
                return Ok(answer);
            }
        }
        for _ in 0..LOOKS {
            let (chosen, seen) = self.choose(claim)?;
            let candidates = match chosen {
                Ok(candidates) => candidates,
                Err(refusal) => return Ok(ClaimOutcome::Refused { refusal, task: None }),
            };
            let answer = self.claim_once(|txn| {
                if txn.revision() == seen {
                    return self.attempt_first(txn, &candidates, &HashSet::new(), claim);
                }
                // Other agents were at work meanwhile, and may have taken what was best.
                match self.choose_again(txn, claim)? {
                    Some(Ok(candidates)) => self.attempt_first(txn, &candidates, &HashSet::new(), claim),
                    Some(Err(refusal)) => Ok(Err((refusal, None))),
                    None => self.attempt_first(txn, &candidates, &parents_since(self, seen)?, claim),
                }
            })?;
            match answer {
                // Other agents were faster with all of them, or with the one we had; there may be something new.
                ClaimOutcome::Refused {
                    refusal:
                        ClaimRefusal::NothingReady { .. }
                        | ClaimRefusal::AlreadyClaimed { .. }
                        | ClaimRefusal::AlreadyResolved,
                    ..
                } => {}
                answer => return Ok(answer),
            }
        }
        self.claim_once(|txn| match self.candidates(&txn.tasks()?, &txn.leases()?, claim, &self.now()?) {
            Ok(candidates) => self.attempt_first(txn, &candidates, &HashSet::new(), claim),
            Err(refusal) => Ok(Err((refusal, None))),
        })
    }

    /// Returns the task for which `work` started this process, and whether the run still holds it; `None` if there is no run, or no such task.
    pub fn task_of_run(&self) -> Result<Option<(Task, bool)>, Error> {
        let Some(run) = self.run() else { return Ok(None) };
        if let Some(ClaimOutcome::Claimed(claimed)) = self.claim_in_run(None)? {
            return Ok(Some((claimed.task, true)));
        }
        let task = self.store().read(self.list_id())?.find(&run.task)?.task();
        Ok(task.map(|task| (task, false)))
    }

    /// Answers a claim made in a run of `work`: with the task of the run, as long as the run holds it, and with a refusal if another is wanted.
    /// `None` if there is no run, or if its task is no longer held and another may be claimed.
    pub(super) fn claim_in_run(&self, id: Option<&TaskId>) -> Result<Option<ClaimOutcome>, Error> {
        let Some(run) = self.run() else { return Ok(None) };
        let list = self.store().read(self.list_id())?;
        let task = list.find(&run.task)?.task();
        let lease = list.leases()?.into_iter().find(|lease| (&lease.task, lease.token) == (&run.task, run.token));
        let lease = lease.filter(|lease| task.as_ref().is_some_and(|task| holds(lease, task)));
        let lease = match lease {
            Some(lease) if self.judge(&lease)?.is_alive() => Some(lease),
            _ => None,
        };
        let is_of_run = id.is_none_or(|id| *id == run.task);
        let refused = |is_over, task| ClaimOutcome::Refused {
            refusal: ClaimRefusal::OutsideRun { task: run.task.clone(), is_over },
            task,
        };
        Ok(match (task, lease) {
            (Some(task), Some(lease)) if is_of_run => Some(ClaimOutcome::Claimed(Box::new(Claimed {
                task,
                lease,
                is_resumed: true,
                why: None,
                revision: None,
                also_held: Vec::new(),
                is_of_run,
            }))),
            (_, Some(_)) => {
                let wanted = id.map(|id| list.find(id)).transpose()?.and_then(Lookup::task);
                Some(refused(false, wanted.map(Box::new)))
            }
            // With a new lease the token of the run would prove nothing.
            (Some(task), None) if id.is_some() && is_of_run && task.status.is_open() => {
                Some(refused(true, Some(Box::new(task))))
            }
            _ => None,
        })
    }

    /// Tells whether there is something to take in the list as this process last saw it, in memory. A list that is not in memory is looked at
    /// first.
    fn may_be_something_for(&self, claim: &Claim) -> Result<bool, Error> {
        let Some(list) = self.store().recollect(self.list_id()) else { return Ok(false) };
        let (leases, now) = (list.leases()?, self.now()?);
        let Some(live) = list.live()? else { return Ok(false) };
        let chosen = self.candidates_in_memory(&live, &leases, claim, &now);
        Ok(chosen.is_ok_and(|(candidates, _)| !candidates.is_empty()))
    }

    /// Makes one attempt at a claim in a transaction, and looks whether what was won is ours.
    fn claim_once(
        &self,
        mut attempt: impl FnMut(&mut dyn Txn) -> Result<Attempt, StoreError>,
    ) -> Result<ClaimOutcome, Error> {
        let mut refused: Option<Refused> = None;
        let outcome = self.transact(Op::Claim, |txn, _| {
            let attempted = attempt(txn)?;
            refused = attempted.as_ref().err().cloned();
            Ok(attempted)
        });
        match (outcome, refused) {
            // Nothing but a sign of life was to be written beside a refusal.
            (Err(Error::Store(StoreError::Unfinished { .. })), Some((refusal, task))) => {
                Ok(ClaimOutcome::Refused { refusal, task })
            }
            (outcome, _) => self.concluded(outcome?),
        }
    }

    /// Takes the task that comes next, sleeping until there is one, until the moment given, or until the alarm is stopped.
    ///
    /// The alarm must have been set on this yard's list before; nothing that happens after that is missed.
    pub fn claim_next_in_time(
        &self,
        claim: &Claim,
        alarm: &mut Alarm,
        until: Option<Instant>,
    ) -> Result<ClaimOutcome, Error> {
        loop {
            // Who is in the team may change while it waits.
            let yard = self.for_one_call();
            yard.take_out_ended_meanwhile();
            let answer = yard.claim_next(claim)?;
            let ClaimOutcome::Refused { refusal: ClaimRefusal::NothingReady { next_at, .. }, .. } = answer else {
                return Ok(answer);
            };
            match alarm.wait_at_most(self, until, next_at)? {
                Woken::LookAgain => {}
                Woken::TimedOut | Woken::Stopped => return Ok(answer),
            }
        }
    }

    /// Looks whether what was won is ours. A process that slept past the life of its locks between its commit and the file has lost to the
    /// agent that took the task meanwhile: that agent was told so first, and the file is its own.
    ///
    /// The claim exists: where the look fails, it is not told as one that failed.
    pub(super) fn confirmed(&self, claimed: Claimed, commit: Option<&Event>) -> Result<ClaimOutcome, Error> {
        let confirmed = |claimed| Ok(ClaimOutcome::Claimed(Box::new(claimed)));
        if self.rehearses() {
            return confirmed(claimed);
        }
        if self.store().care().is_none() {
            // Where there are no files, only the process that commits has them.
            if let Some(holder) = &claimed.lease.holder {
                self.holds_now(holder);
            }
            return confirmed(claimed);
        }
        let found = self.store().read(self.list_id()).and_then(|list| list.find(&claimed.task.id));
        let found = found.map_err(|cause| StoreError::unfinished(commit.cloned(), cause))?;
        let Lookup::Found(task, _) = found else { return confirmed(claimed) };
        let refusal = match task.owner() {
            Some(owner) if is_same_agent(owner, self.actor().as_str()) => {
                if let Some(holder) = &claimed.lease.holder {
                    self.holds_now(holder);
                }
                return confirmed(claimed);
            }
            Some(owner) => ClaimRefusal::AlreadyClaimed { by: owner.to_owned(), free_at: None },
            None if task.status == Status::Completed => ClaimRefusal::AlreadyResolved,
            // It was ours for a moment, and was given back since.
            None => return confirmed(claimed),
        };
        self.give_up(&claimed.lease);
        Ok(ClaimOutcome::Refused { refusal, task: Some(task) })
    }

    fn concluded(&self, outcome: Outcome<(Attempt, Option<Event>)>) -> Result<ClaimOutcome, Error> {
        match outcome {
            Outcome::Done((Ok(claimed), commit)) => {
                let revision = commit.as_ref().map(|commit| commit.revision);
                self.confirmed(Claimed { revision, ..claimed }, commit.as_ref())
            }
            Outcome::Done((Err((refusal, task)), _)) => Ok(ClaimOutcome::Refused { refusal, task }),
            // The attempt refuses nothing in this way.
            Outcome::Refused(_) => Ok(ClaimOutcome::Refused { refusal: ClaimRefusal::TaskNotFound, task: None }),
        }
    }

    /// Ends a lease on a task that turned out to be another agent's.
    fn give_up(&self, lease: &Lease) {
        let given_up = self.transact(Op::Release, |txn, _| {
            let is_it = |other: &Lease| (&other.task, other.token) == (&lease.task, lease.token);
            if txn.leases()?.iter().any(is_it) {
                txn.end_lease(&lease.task)?;
            }
            Ok(())
        });
        if let Err(error) = given_up {
            tracing::debug!(%error, "a lease that was lost is left to end by itself");
        }
    }

    pub(super) fn claimant(&self, claim: &Claim) -> Claimant {
        Claimant {
            agent: self.actor().clone(),
            roles: claim.roles.clone(),
            limit: claim.limit,
            only_when_idle: claim.only_when_idle,
            resumes: Resumes::All,
        }
    }

    /// Looks without a lock whether there is any point in waiting for one. What it refuses was so at a moment since we were
    /// asked, which is all that any answer can say.
    fn refused_at_a_glance(&self, id: &TaskId, claim: &Claim) -> Result<Option<Refused>, Error> {
        if let Some(list) = self.store().recollect(self.list_id())
            && self.refused_on(&*list, id, claim)?.is_none()
        {
            // The transaction reads the list anyway, and judges.
            return Ok(None);
        }
        if self.store().reads_on_demand(self.list_id()) {
            return Ok(None);
        }
        self.refused_on(&*self.store().read(self.list_id())?, id, claim)
    }

    fn refused_on(&self, list: &dyn Snapshot, id: &TaskId, claim: &Claim) -> Result<Option<Refused>, Error> {
        let Lookup::Found(task, _) = list.find(id)? else { return Ok(Some((ClaimRefusal::TaskNotFound, None))) };
        let is_owned = task.owner().is_some_and(|owner| !is_same_agent(owner, self.actor().as_str()));
        let lease = if is_owned { list.leases()?.into_iter().find(|lease| lease.task == task.id) } else { None };
        let state = lease.map(|lease| self.judge(&lease)).transpose()?;
        // Its lease may have ended; then it is about to come back.
        if state.as_ref().is_some_and(|state| !state.is_alive()) {
            return Ok(None);
        }
        let claimant = self.claimant(claim);
        if let Err(refusal) = judge_claim(&task, &open_blockers(list, &task, self.rules())?, &claimant, self.rules()) {
            return Ok(Some((until_free(refusal, state.as_ref()), Some(task))));
        }
        if !claim.depends_on_load() {
            return Ok(None);
        }
        // What else the agent has is only a reason where the task could be had at that same moment.
        let tasks = list.tasks()?;
        let Some(task) = tasks.iter().find(|other| other.id == task.id) else { return Ok(None) };
        let blockers = OpenTasks::of(&tasks, self.rules()).blockers(task);
        let could_be_had = judge_claim(task, &blockers, &claimant, self.rules()).is_ok();
        let refusal = judge_load(&tasks, &task.id, &claimant, self.rules()).err().filter(|_| could_be_had);
        Ok(refusal.map(|refusal| (refusal, Some(Box::new(task.clone())))))
    }

    /// Takes the first of these that can still be taken, and has not become a parent since.
    fn attempt_first(
        &self,
        txn: &mut dyn Txn,
        (candidates, held): &Choice,
        parents: &HashSet<TaskId>,
        claim: &Claim,
    ) -> Result<Attempt, StoreError> {
        for candidate in candidates.iter().filter(|candidate| !parents.contains(&candidate.task)) {
            // It may have failed once more since we looked, or have become something else than is wanted.
            let now = self.now()?.wall;
            let is_unwanted = |task: &Task| !claim.query.asks_for_times() && claim.passes_over(task, None, now);
            if txn.find(&candidate.task)?.task().is_some_and(|task| claim.gives_up(&task) || is_unwanted(&task)) {
                continue;
            }
            match self.attempt(txn, &candidate.task, claim)? {
                Ok(claimed) => {
                    let also_held = held.iter().filter(|id| **id != claimed.task.id).cloned().collect();
                    return Ok(Ok(Claimed { why: Some(candidate.why.clone()), also_held, ..claimed }));
                }
                Err((refusal @ ClaimRefusal::AgentBusy { .. }, _)) => return Ok(Err((refusal, None))),
                Err(_) => {}
            }
        }
        Ok(Err((ClaimRefusal::NothingReady { for_others: 0, next_at: None }, None)))
    }

    /// Judges a claim on what is there, and stages it.
    pub(super) fn attempt(&self, txn: &mut dyn Txn, id: &TaskId, claim: &Claim) -> Result<Attempt, StoreError> {
        if claim.only_when_idle {
            // The client decides this under the list's lock, too.
            txn.lock_list()?;
        }
        let Lookup::Found(task, _) = txn.find(id)? else { return Ok(Err((ClaimRefusal::TaskNotFound, None))) };
        let claimant = self.claimant(claim);
        let blockers = open_blockers(txn, &task, self.rules())?;
        if let Err(refusal) = judge_claim(&task, &blockers, &claimant, self.rules()) {
            return Ok(Err((refusal, Some(task))));
        }
        if claim.depends_on_load()
            && let Err(refusal) = judge_load(&self.tasks_that_count(txn)?, &task.id, &claimant, self.rules())
        {
            return Ok(Err((refusal, Some(task))));
        }
        let (present, now) = (lease_on(txn, &task)?, self.now()?);
        let is_taken = |lease: &&Lease| self.is_held_by_another(lease, claim, &now);
        if let Some(lease) = present.as_ref().filter(is_taken) {
            let refusal = ClaimRefusal::AlreadyClaimed { by: lease.agent.as_str().to_owned(), free_at: None };
            return Ok(Err((refusal, Some(task))));
        }
        let after = self.taken(&task, claim);
        if after != *task {
            txn.put(after)?;
        }
        let lease = match present {
            // The same agent asks again: it has the task, and its token goes on counting.
            Some(lease) if self.goes_on_with(&lease, claim) => {
                let lease = match self.world().judge_at(&lease, &now) {
                    // The agent that asks lives, and its server does not: from now on the lease lives by time, or with the client.
                    LeaseState::Lapsing(_) => Lease { holder: claim.holder.clone(), ttl: claim.ttl, ..lease },
                    // Older releases gave one that outlived its connection an end, and no time of its own to begin anew.
                    _ => Lease { ttl: lease.ttl.or(lease.ends.as_ref().and(claim.ttl)), ..lease },
                };
                let ends = lease.ttl.map(|ttl| now.after(ttl)).or(lease.ends);
                let lease = Lease { ends, ..lease };
                txn.set_lease(lease.clone())?;
                lease
            }
            Some(_) | None => txn.grant(NewLease {
                task: task.id.clone(),
                agent: self.actor().clone(),
                ttl: claim.ttl,
                holder: claim.holder.clone(),
            })?,
        };
        let is_resumed = task.owner().is_some();
        let task = txn.find(id)?.task().unwrap_or(*task);
        let (why, revision, also_held) = (None, None, Vec::new());
        Ok(Ok(Claimed { task, lease, is_resumed, why, revision, also_held, is_of_run: false }))
    }

    /// Tells whether a lease stays the same when its agent claims the task again: its token goes on counting.
    fn goes_on_with(&self, lease: &Lease, claim: &Claim) -> bool {
        let is_of_client =
            || lease.holder.as_ref().is_some_and(|holder| self.is_of_client(holder, claim.client.as_ref()));
        claim.holder.is_none() || lease.holder == claim.holder || is_of_client()
    }

    /// Returns the tasks among which those are that are the agent's.
    fn tasks_that_count(&self, list: &dyn Txn) -> Result<Vec<Task>, StoreError> {
        let own = list.live()?.map(|live| live.tasks_of(self.actor(), self.rules()));
        own.map_or_else(|| list.open_tasks_of(&[self.actor().as_str()]), Ok)
    }

    /// Returns a task as it is when the agent has it. The client only writes the owner of its own tasks.
    fn taken(&self, task: &Task, claim: &Claim) -> Task {
        let owner = task.owner().map_or_else(|| self.actor().as_str().to_owned(), str::to_owned);
        let begins = !claim.reserve && (claim.always_begins || !self.rules().is_client());
        let status = if begins { Status::InProgress } else { task.status };
        Task { owner: Some(owner), status, ..task.clone() }
    }
}

/// Says when a task comes back whose holder's server has ended.
fn until_free(refusal: ClaimRefusal, state: Option<&LeaseState>) -> ClaimRefusal {
    match (refusal, state) {
        (ClaimRefusal::AlreadyClaimed { by, .. }, Some(LeaseState::Lapsing(end))) => {
            ClaimRefusal::AlreadyClaimed { by, free_at: Some(end.wall) }
        }
        (refusal, _) => refusal,
    }
}
