//! Claims tasks: if several agents want a task, exactly one gets it.

use std::collections::HashSet;
use std::time::Instant;

use taskyard_core::rules::agents::is_same_agent;
use taskyard_core::rules::claims::claiming::{Claimant, Resumes, judge_claim, judge_load};
use taskyard_core::rules::graph::dependencies::OpenTasks;
use taskyard_core::rules::graph::parts::{Named, blockers_above, with_those_above};
use taskyard_core::rules::history::vanishing::Gone;
use taskyard_core::rules::leases::leasing::{LeaseState, holds};
use taskyard_core::rules::refusal::{ClaimRefusal, Refusal};
use taskyard_core::{Event, Lease, Op, Revision, Rules, Status, Task, TaskId};

use crate::lease_watch::{Alarm, Woken};
use crate::operations::lease_upkeep::lease_on;
use crate::operations::next::{Choice, Claim, Resuming};
use crate::operations::outcome::{Possible, once};
use crate::store::{HistoryQuery, Lookup, NewLease, Snapshot, StoreError, Txn};
use crate::{Error, Outcome, Yard};

/// How many attempts choose a task without holding the lock, if other agents take every ready task first. After that
/// the choice is made under the lock, where no other agent can interfere.
const LOOKS: u32 = 4;
/// No candidate is left.
const NONE_READY: ClaimRefusal = ClaimRefusal::NothingReady { for_others: 0, next_at: None };

/// A claimed task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The task as it is now.
    pub task: Task,
    /// The lease granted for it.
    pub lease: Lease,
    /// Whether the agent already had it.
    pub is_resumed: bool,
    /// Why this task was chosen; `None` if the caller named it.
    pub why: Option<String>,
    /// The commit; `None` if the file already had this state.
    pub revision: Option<Revision>,
    /// Other tasks held under the agent's name, if the name was not given explicitly: another agent with the same name
    /// may be working on them.
    pub also_held: Vec<TaskId>,
    /// Whether `work` started the agent for this task.
    pub is_of_run: bool,
}

impl Yard {
    /// Claims a task by its id.
    pub fn claim(&self, id: &TaskId, claim: &Claim) -> Result<Outcome<Claimed>, Error> {
        if let Some(outcome) = self.claim_in_run(Some(id))? {
            return Ok(outcome);
        }
        let claim = match self.as_teammate(claim, Some(id))? {
            Outcome::Done(claim) => claim,
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
        };
        let claim = claim.as_ref();
        if let Some(refusal) = self.refused_at_a_glance(id, claim)? {
            return Ok(Outcome::Refused(refusal));
        }
        self.claim_once(|txn| self.attempt(txn, id, claim))
    }

    /// Claims the next task: one the agent already has, otherwise the best ready one.
    pub fn claim_next(&self, claim: &Claim) -> Result<Outcome<Claimed>, Error> {
        if let Some(outcome) = self.claim_in_run(None)? {
            return Ok(outcome);
        }
        let claim = match self.as_teammate(claim, None)? {
            Outcome::Done(claim) => claim,
            Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
        };
        let claim = claim.as_ref();
        if self.may_be_something_for(claim)? {
            // The transaction reads the list anyway, so it makes the choice.
            let answer = self.claim_once(|txn| match self.choose_again(txn, claim)? {
                Some(Outcome::Done(candidates)) => self.attempt_first(txn, &candidates, &HashSet::new(), claim),
                Some(Outcome::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
                None => Ok(Outcome::refused(NONE_READY)),
            })?;
            if matches!(answer, Outcome::Done(_)) {
                return Ok(answer);
            }
        }
        for _ in 0..LOOKS {
            let (chosen, seen) = self.choose(claim)?;
            let candidates = match chosen {
                Outcome::Done(candidates) => candidates,
                Outcome::Refused(refusal) => return Ok(Outcome::Refused(refusal)),
            };
            let answer = self.claim_once(|txn| {
                if txn.revision() == seen {
                    return self.attempt_first(txn, &candidates, &HashSet::new(), claim);
                }
                // Other agents have written in the meantime, and may have taken the best task.
                match self.choose_again(txn, claim)? {
                    Some(Outcome::Done(candidates)) => self.attempt_first(txn, &candidates, &HashSet::new(), claim),
                    Some(Outcome::Refused(refusal)) => Ok(Outcome::Refused(refusal)),
                    None => self.attempt_first(txn, &candidates, &parents_since(self, seen)?, claim),
                }
            })?;
            match answer.refusal().and_then(Refusal::of_claim) {
                // Other agents took all of them, or completed the one we had; something new may be ready.
                Some(
                    ClaimRefusal::NothingReady { .. }
                    | ClaimRefusal::AlreadyClaimed { .. }
                    | ClaimRefusal::AlreadyResolved,
                ) => {}
                _ => return Ok(answer),
            }
        }
        self.claim_once(|txn| match self.candidates(&txn.tasks()?, &txn.leases()?, claim, &self.now()?) {
            Ok(candidates) => self.attempt_first(txn, &candidates, &HashSet::new(), claim),
            Err(reason) => Ok(Outcome::refused(reason)),
        })
    }

    /// Returns the task for which `work` started this process, and whether the run still holds it. `None` if there is
    /// no run, or the task does not exist.
    pub fn task_of_run(&self) -> Result<Option<(Task, bool)>, Error> {
        let Some(run) = self.run() else { return Ok(None) };
        if let Some(Outcome::Done(claimed)) = self.claim_in_run(None)? {
            return Ok(Some((claimed.task, true)));
        }
        let task = self.store().read(self.list_id())?.find(&run.task)?.task();
        Ok(task.map(|task| (task, false)))
    }

    /// Answers a claim made in a run of `work`: with the run's task while the run holds it, and with a refusal if
    /// another task is requested. Returns `None` if there is no run, or if its task is no longer held and another may
    /// be claimed.
    pub(super) fn claim_in_run(&self, id: Option<&TaskId>) -> Result<Option<Outcome<Claimed>>, Error> {
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
        let refused = |is_over, task| {
            let reason = ClaimRefusal::OutsideRun { task: run.task.clone(), is_over };
            Outcome::Refused(Refusal::claim(id, reason, task))
        };
        Ok(match (task, lease) {
            (Some(task), Some(lease)) if is_of_run => Some(Outcome::Done(Claimed {
                task,
                lease,
                is_resumed: true,
                why: None,
                revision: None,
                also_held: Vec::new(),
                is_of_run,
            })),
            (_, Some(_)) => {
                let wanted = id.map(|id| list.find(id)).transpose()?.and_then(Lookup::task);
                Some(refused(false, wanted.map(Box::new)))
            }
            // A new lease would invalidate the token of the run.
            (Some(task), None) if id.is_some() && is_of_run && task.status.is_open() => {
                Some(refused(true, Some(Box::new(task))))
            }
            _ => None,
        })
    }

    /// Returns whether there is something to claim according to the list in this process's memory. Returns `false` if
    /// the list is not in memory, so that the caller reads it first.
    fn may_be_something_for(&self, claim: &Claim) -> Result<bool, Error> {
        let Some(list) = self.store().recollect(self.list_id()) else { return Ok(false) };
        let (leases, now) = (list.leases()?, self.now()?);
        let Some(live) = list.live()? else { return Ok(false) };
        let chosen = self.candidates_in_memory(&live, &leases, claim, &now);
        Ok(chosen.is_ok_and(|(candidates, _)| !candidates.is_empty()))
    }

    /// Makes one attempt at a claim in a transaction, then checks that the task is really ours.
    fn claim_once(
        &self,
        mut attempt: impl FnMut(&mut dyn Txn) -> Result<Outcome<Claimed>, StoreError>,
    ) -> Result<Outcome<Claimed>, Error> {
        let mut refused: Option<Refusal> = None;
        // A refused attempt is committed, too: it may have renewed leases.
        let outcome = self.transact(Op::Claim, |txn, _| {
            let attempted = attempt(txn)?.done();
            refused = attempted.as_ref().err().cloned();
            Ok(attempted)
        });
        match (outcome, refused) {
            // Apart from the refusal, the transaction only had to renew leases, so this failure does not matter.
            (Err(Error::Store(StoreError::Unfinished { .. })), Some(refusal)) => Ok(Outcome::Refused(refusal)),
            (outcome, _) => match outcome? {
                Outcome::Done((Ok(claimed), commit)) => self.confirmed(claimed, commit.as_ref()),
                Outcome::Done((Err(refusal), _)) | Outcome::Refused(refusal) => Ok(Outcome::Refused(refusal)),
            },
        }
    }

    /// Claims the next task, waiting until there is one, until the deadline, or until the alarm is stopped.
    ///
    /// The alarm must have been set on this yard's list before the call; nothing that happens after it was set is
    /// missed.
    pub fn claim_next_in_time(
        &self,
        claim: &Claim,
        alarm: &mut Alarm,
        until: Option<Instant>,
    ) -> Result<Outcome<Claimed>, Error> {
        loop {
            // The members of the team may change during the wait.
            let yard = self.for_one_call();
            yard.take_out_ended_meanwhile();
            let answer = yard.claim_next(claim)?;
            let Some(ClaimRefusal::NothingReady { next_at, .. }) = answer.refusal().and_then(Refusal::of_claim) else {
                return Ok(answer);
            };
            match alarm.wait_at_most(self, until, *next_at)? {
                Woken::LookAgain => {}
                Woken::TimedOut | Woken::Stopped => return Ok(answer),
            }
        }
    }

    /// Checks that a claimed task is really ours. If a process was suspended between its commit and writing the file
    /// for longer than its locks live, another agent that claimed the task in the meantime wins: that agent was
    /// answered first, and the file names it.
    ///
    /// The claim is committed, so a failure of this check is not reported as a failed claim.
    pub(super) fn confirmed(&self, claimed: Claimed, commit: Option<&Event>) -> Result<Outcome<Claimed>, Error> {
        let claimed = Claimed { revision: commit.map(|commit| commit.revision), ..claimed };
        if self.rehearses() {
            return Ok(Outcome::Done(claimed));
        }
        if self.store().care().is_none() {
            // Without files, only the process that commits can have written the task.
            if let Some(holder) = &claimed.lease.holder {
                self.holds_now(holder);
            }
            return Ok(Outcome::Done(claimed));
        }
        let found = self.store().read(self.list_id()).and_then(|list| list.find(&claimed.task.id));
        let found = found.map_err(|cause| StoreError::unfinished(commit.cloned(), cause))?;
        let Lookup::Found(task, _) = found else { return Ok(Outcome::Done(claimed)) };
        let reason = match task.owner() {
            Some(owner) if is_same_agent(owner, self.actor().as_str()) => {
                if let Some(holder) = &claimed.lease.holder {
                    self.holds_now(holder);
                }
                return Ok(Outcome::Done(claimed));
            }
            Some(owner) => ClaimRefusal::AlreadyClaimed { by: owner.to_owned(), free_at: None },
            None if task.status == Status::Completed => ClaimRefusal::AlreadyResolved,
            // It was ours briefly, and was released since.
            None => return Ok(Outcome::Done(claimed)),
        };
        self.give_up(&claimed.lease);
        Ok(Outcome::Refused(Refusal::claim(Some(&claimed.task.id), reason, Some(task))))
    }

    /// Ends a lease on a task that turned out to belong to another agent.
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

    /// Checks without a lock whether the claim would be refused, so that a hopeless one does not have to wait for a
    /// lock. The refusal was true at some moment during the call, which is all that any answer can promise.
    fn refused_at_a_glance(&self, id: &TaskId, claim: &Claim) -> Result<Option<Refusal>, Error> {
        if let Some(list) = self.store().recollect(self.list_id())
            && self.refused_on(&*list, id, claim)?.is_none()
        {
            // The transaction reads the list anyway, so it judges the claim.
            return Ok(None);
        }
        if self.store().reads_on_demand(self.list_id()) {
            return Ok(None);
        }
        self.refused_on(&*self.store().read(self.list_id())?, id, claim)
    }

    fn refused_on(&self, list: &dyn Snapshot, id: &TaskId, claim: &Claim) -> Result<Option<Refusal>, Error> {
        let Lookup::Found(task, _) = list.find(id)? else {
            return Ok(Some(Refusal::claim(Some(id), ClaimRefusal::TaskNotFound, None)));
        };
        let is_owned = task.owner().is_some_and(|owner| !is_same_agent(owner, self.actor().as_str()));
        let lease = if is_owned { list.leases()?.into_iter().find(|lease| lease.task == task.id) } else { None };
        let state = lease.map(|lease| self.judge(&lease)).transpose()?;
        // The lease may have expired; the task is then about to be released.
        if state.as_ref().is_some_and(|state| !state.is_alive()) {
            return Ok(None);
        }
        let claimant = self.claimant(claim);
        if let Err(reason) = judge_claim(&task, &open_blockers(list, &task, self.rules())?, &claimant, self.rules()) {
            return Ok(Some(Refusal::claim(Some(id), until_free(reason, state.as_ref()), Some(task))));
        }
        if !claim.depends_on_load() {
            return Ok(None);
        }
        // The agent's other tasks are a reason to refuse only if the task could be claimed at that same moment.
        let tasks = list.tasks()?;
        let Some(task) = tasks.iter().find(|other| other.id == task.id) else { return Ok(None) };
        let blockers = OpenTasks::of(&tasks, self.rules()).blockers(task);
        let could_be_had = judge_claim(task, &blockers, &claimant, self.rules()).is_ok();
        let reason = judge_load(&tasks, Some(&task.id), &claimant, self.rules()).err().filter(|_| could_be_had);
        Ok(reason.map(|reason| Refusal::claim(Some(id), reason, Some(Box::new(task.clone())))))
    }

    /// Claims the first candidate that is still available and has not become a parent since the choice.
    fn attempt_first(
        &self,
        txn: &mut dyn Txn,
        (candidates, held): &Choice,
        parents: &HashSet<TaskId>,
        claim: &Claim,
    ) -> Result<Outcome<Claimed>, StoreError> {
        for candidate in candidates.iter().filter(|candidate| !parents.contains(&candidate.task)) {
            // It may have failed once more since the choice, or no longer match the query.
            let now = self.now()?.wall;
            let is_unwanted = |task: &Task| !claim.query.asks_for_times() && claim.passes_over(task, None, now);
            if txn.find(&candidate.task)?.task().is_some_and(|task| claim.gives_up(&task) || is_unwanted(&task)) {
                continue;
            }
            match self.attempt(txn, &candidate.task, claim)? {
                Outcome::Done(claimed) => {
                    let also_held = held.iter().filter(|id| **id != claimed.task.id).cloned().collect();
                    return Ok(Outcome::Done(Claimed { why: Some(candidate.why.clone()), also_held, ..claimed }));
                }
                Outcome::Refused(refusal) => {
                    if let Some(busy @ ClaimRefusal::AgentBusy { .. }) = refusal.of_claim() {
                        return Ok(Outcome::refused(busy.clone()));
                    }
                }
            }
        }
        Ok(Outcome::refused(NONE_READY))
    }

    /// Judges a claim on the current state of the task, and stages it.
    fn attempt(&self, txn: &mut dyn Txn, id: &TaskId, claim: &Claim) -> Result<Outcome<Claimed>, StoreError> {
        if claim.only_when_idle {
            // The client, too, decides this under the list's lock.
            txn.lock_list()?;
        }
        let refused = |reason, task| Ok(Outcome::Refused(Refusal::claim(Some(id), reason, task)));
        let Lookup::Found(task, _) = txn.find(id)? else { return refused(ClaimRefusal::TaskNotFound, None) };
        let claimant = self.claimant(claim);
        let blockers = open_blockers(txn, &task, self.rules())?;
        if let Err(reason) = judge_claim(&task, &blockers, &claimant, self.rules()) {
            return refused(reason, Some(task));
        }
        if claim.depends_on_load()
            && let Err(reason) = judge_load(&self.tasks_that_count(txn)?, Some(&task.id), &claimant, self.rules())
        {
            return refused(reason, Some(task));
        }
        let (present, now) = (lease_on(txn, &task)?, self.now()?);
        let is_taken = |lease: &&Lease| self.is_held_by_another(lease, claim, &now);
        if let Some(lease) = present.as_ref().filter(is_taken) {
            let reason = ClaimRefusal::AlreadyClaimed { by: lease.agent.as_str().to_owned(), free_at: None };
            return refused(reason, Some(task));
        }
        let after = self.taken(&task, claim);
        if after != *task {
            txn.put(after)?;
        }
        let lease = match present {
            // The same agent claims again: it keeps the task, and its token stays valid.
            Some(lease) if self.goes_on_with(&lease, claim) => {
                let lease = match self.world().judge_at(&lease, &now) {
                    // The agent is alive but its server is not: from now on the lease expires by time, or lives with
                    // the client.
                    LeaseState::Lapsing(_) => Lease { holder: claim.holder.clone(), ttl: claim.ttl, ..lease },
                    // Older releases gave a lease that outlived its connection an end but no TTL to renew it with.
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
        Ok(Outcome::Done(Claimed { task, lease, is_resumed, why, revision, also_held, is_of_run: false }))
    }

    /// Returns whether a lease and its token stay valid when its agent claims the task again.
    fn goes_on_with(&self, lease: &Lease, claim: &Claim) -> bool {
        let is_of_client =
            || lease.holder.as_ref().is_some_and(|holder| self.is_of_client(holder, claim.client.as_ref()));
        claim.holder.is_none() || lease.holder == claim.holder || is_of_client()
    }

    /// Returns a set of tasks that includes all tasks of the agent.
    fn tasks_that_count(&self, list: &dyn Txn) -> Result<Vec<Task>, StoreError> {
        let own = list.live()?.map(|live| live.tasks_of(self.actor(), self.rules()));
        own.map_or_else(|| list.open_tasks_of(&[self.actor().as_str()]), Ok)
    }

    /// Returns the task as claimed. With client rules only the owner is set, as the client does, unless the claim says
    /// otherwise.
    fn taken(&self, task: &Task, claim: &Claim) -> Task {
        let owner = task.owner().map_or_else(|| self.actor().as_str().to_owned(), str::to_owned);
        let begins = !claim.reserve && (claim.always_begins || !self.rules().is_client());
        let status = if begins { Status::InProgress } else { task.status };
        Task { owner: Some(owner), status, ..task.clone() }
    }
}

/// Adds to a refusal when the task becomes free, if its holder's server has ended.
fn until_free(refusal: ClaimRefusal, state: Option<&LeaseState>) -> ClaimRefusal {
    match (refusal, state) {
        (ClaimRefusal::AlreadyClaimed { by, .. }, Some(LeaseState::Lapsing(end))) => {
            ClaimRefusal::AlreadyClaimed { by, free_at: Some(end.wall) }
        }
        (refusal, _) => refusal,
    }
}

impl Yard {
    /// Claims several tasks in one commit, all or none.
    pub fn claim_together(&self, ids: &[TaskId], claim: &Claim) -> Result<Outcome<Vec<Claimed>>, Error> {
        let Possible { done, refused } = self.claim_many(ids, claim, Err)?;
        Ok(refused.into_iter().next().map_or(Outcome::Done(done), |(_, refusal)| Outcome::Refused(refusal)))
    }

    /// Claims those of several tasks that are available, in one commit, and returns the refusals of the others.
    pub fn claim_possible(&self, ids: &[TaskId], claim: &Claim) -> Result<Possible<Claimed>, Error> {
        self.claim_many(ids, claim, Ok)
    }

    /// Claims tasks in one commit. `goes_on` returns a refusal as an error if nothing is to be claimed because of it.
    fn claim_many(
        &self,
        ids: &[TaskId],
        claim: &Claim,
        goes_on: impl Fn(Refusal) -> Result<Refusal, Refusal>,
    ) -> Result<Possible<Claimed>, Error> {
        let ids = once(ids);
        let all_refused = |refusal: &Refusal| {
            let refused = ids.iter().map(|id| (id.clone(), refusal.clone())).collect();
            Ok(Possible { done: Vec::new(), refused })
        };
        for id in &ids {
            if let Some(Outcome::Refused(refusal)) = self.claim_in_run(Some(id))? {
                return all_refused(&refusal);
            }
        }
        let claim = match self.as_teammate(claim, ids.first())? {
            Outcome::Done(claim) => claim,
            Outcome::Refused(refusal) => return all_refused(&refusal),
        };
        if !self.store().read(self.list_id())?.exists()? {
            let missing = |id: TaskId| (id.clone(), Refusal::claim(Some(&id), ClaimRefusal::TaskNotFound, None));
            return Ok(Possible { done: Vec::new(), refused: ids.into_iter().map(missing).collect() });
        }
        let outcome = self.transact(Op::Claim, |txn, _| {
            let mut possible = Possible { done: Vec::new(), refused: Vec::new() };
            for id in &ids {
                match self.attempt(txn, id, claim.as_ref())? {
                    Outcome::Done(claimed) => possible.done.push(claimed),
                    Outcome::Refused(refusal) => possible.refused.push((id.clone(), goes_on(refusal)?)),
                }
            }
            Ok(possible)
        })?;
        let (attempted, commit) = match outcome {
            Outcome::Done(attempted) => attempted,
            Outcome::Refused(refusal) => return all_refused(&refusal),
        };
        let mut possible = Possible { done: Vec::new(), refused: attempted.refused };
        for claimed in attempted.done {
            let id = claimed.task.id.clone();
            match self.confirmed(claimed, commit.as_ref())? {
                Outcome::Done(claimed) => possible.done.push(claimed),
                Outcome::Refused(refusal) => possible.refused.push((id, refusal)),
            }
        }
        Ok(possible)
    }

    /// Adds to a refused claim on these terms what its caller should know. Other refusals are returned as they are.
    pub fn explained(&self, refusal: Refusal, claim: &Claim) -> Result<Refusal, Error> {
        let mut lost = match refusal {
            Refusal::Claim(lost) => lost,
            other => return Ok(other),
        };
        match (&lost.reason, &lost.task) {
            (ClaimRefusal::NothingReady { .. }, _) => {
                lost.gone = self.gone()?.filter(Gone::is_loss);
                if claim.resuming != Resuming::All {
                    lost.also_held = self.held()?;
                }
            }
            (ClaimRefusal::AlreadyClaimed { .. }, Some(task)) if !self.rules().is_client() => {
                lost.since = self.owned_since(task)?;
            }
            _ => {}
        }
        Ok(Refusal::Claim(lost))
    }
}

/// Returns the open blockers of a task; with strict rules also those of the tasks it is a part of.
pub(super) fn open_blockers(
    list: &(impl Snapshot + ?Sized),
    task: &Task,
    rules: Rules,
) -> Result<Vec<TaskId>, StoreError> {
    let named = |id: &TaskId| {
        Ok::<_, StoreError>(match list.find(id)? {
            Lookup::Found(task, _) => Named::Task(task),
            Lookup::Missing => Named::Absent { holds_up: list.counts_missing() },
            Lookup::Unreadable(_) => Named::Absent { holds_up: false },
        })
    };
    let mut open = Vec::new();
    for id in &task.blocked_by {
        if named(id)?.holds_up() {
            open.push(id.clone());
        }
    }
    let above = if rules.is_client() { Vec::new() } else { blockers_above(task, named)? };
    Ok(with_those_above(open, above))
}

/// Returns the tasks that got an open part after a revision, which a caller that read the list at that revision does
/// not know about.
pub(super) fn parents_since(yard: &Yard, seen: Revision) -> Result<HashSet<TaskId>, StoreError> {
    if yard.rules().is_client() {
        return Ok(HashSet::new());
    }
    let mut parents = HashSet::new();
    for page in yard.pages(HistoryQuery { since: seen, ..HistoryQuery::default() })? {
        let page = page?;
        let after = page.iter().filter_map(|entry| entry.after.as_ref()?.task(&entry.task).ok());
        parents.extend(after.filter(|task| task.status.is_open()).filter_map(|task| task.parent()));
    }
    Ok(parents)
}
