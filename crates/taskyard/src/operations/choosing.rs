//! What an agent could take next.

use std::collections::{HashMap, HashSet};

use taskyard_core::live::LiveList;
use taskyard_core::rules::claims::claiming::{
    Candidate, ClaimRefusal, Claimant, Resumes, candidates, held, judge_load,
};
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::{Holder, Lease, Moment, ProcessMark, Revision, Task, TaskId};

use super::claim_terms::{Claim, Resuming};
use crate::store::{StoreError, Txn};
use crate::{Error, Yard};

/// Of a list in memory, so many of the best are looked at. Where other agents were faster meanwhile, it is asked again.
const BEST: usize = 4;

/// What could be taken next, best first, and what else the agent's name holds, where the agent was not given that name.
pub(super) type Choice = (Vec<Candidate>, Vec<TaskId>);

impl Yard {
    /// Looks at the list, and returns what the agent could take next, with the revision that was seen. What leases hold that have ended
    /// comes back before.
    pub(super) fn choose(&self, claim: &Claim) -> Result<(Result<Choice, ClaimRefusal>, Revision), Error> {
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
            // The list in memory is locked while it is asked.
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

    /// Returns what the client's own tools have in progress for sessions that have ended, if nothing else could be taken.
    fn or_of_ended_sessions(
        &self,
        chosen: Result<Choice, ClaimRefusal>,
        tasks: &[Task],
        leases: &[Lease],
        claim: &Claim,
    ) -> Result<Result<Choice, ClaimRefusal>, StoreError> {
        if !matches!(chosen, Err(ClaimRefusal::NothingReady { .. })) {
            return Ok(chosen);
        }
        let left = self.of_ended_sessions(tasks, leases)?;
        let free = left.into_iter().filter(|abandoned| abandoned.is_free).map(|abandoned| abandoned.task);
        let wanted = free.filter(|task| !claim.passed_over.contains(&task.id) && !claim.gives_up(task));
        let why = "left in progress by a session that has ended".to_owned();
        let candidate = |task: Task| Candidate { task: task.id, why: why.clone(), is_resumed: false };
        let candidates: Vec<Candidate> = wanted.map(candidate).collect();
        Ok(if candidates.is_empty() { chosen } else { Ok((candidates, Vec::new())) })
    }

    /// Returns what the agent could take next now that it is a writer's turn; none where the list is not in memory.
    pub(super) fn choose_again(
        &self,
        txn: &dyn Txn,
        claim: &Claim,
    ) -> Result<Option<Result<Choice, ClaimRefusal>>, StoreError> {
        let (leases, now) = (txn.leases()?, self.now()?);
        Ok(txn.live()?.map(|live| self.candidates_in_memory(&live, &leases, claim, &now)))
    }

    /// Returns what the agent could take next of a list as it was read.
    pub(super) fn candidates(
        &self,
        tasks: &[Task],
        leases: &[Lease],
        claim: &Claim,
        now: &Moment,
    ) -> Result<Choice, ClaimRefusal> {
        let claimant = Claimant { resumes: self.resumes(leases, claim, now), ..self.claimant(claim) };
        if claim.only_when_idle {
            judge_load(tasks, &TaskId::stored(""), &claimant, self.rules())?;
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

    /// Does the same for a list in memory.
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
            judge_load(&own(), &TaskId::stored(""), &claimant, self.rules())?;
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

    /// Returns which tasks of its own the agent is given again. An agent that has the name of its session goes on with what a server of
    /// that session held that has ended: no other agent of the name can be at work through it.
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

    /// Tells whether a lease lives with the client in which an agent runs.
    pub(super) fn is_of_client(&self, holder: &Holder, client: Option<&ProcessMark>) -> bool {
        client.is_some_and(|client| self.world().lives_with(holder, client))
    }

    fn held_in(&self, tasks: &[Task]) -> Vec<TaskId> {
        held(tasks, self.actor(), self.rules()).map(|task| task.id.clone()).collect()
    }

    /// Returns the open tasks that are the agent's.
    pub fn held(&self) -> Result<Vec<TaskId>, Error> {
        Ok(self.held_in(&self.look()?.tasks))
    }

    /// Tells whether a lease lives with another process than the one that asks. An agent that asks without a process of its own may be
    /// working for the one that holds it, as an agent does that `work` has started. A process that has ended holds nothing against a new
    /// one of the same name, and the shell and the server of one client are one agent.
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
