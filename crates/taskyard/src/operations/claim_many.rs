//! Taking several tasks at once.

use std::cell::RefCell;

use taskyard_core::rules::claims::claiming::ClaimRefusal;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Op, Task, TaskId};

use super::claim::{ClaimOutcome, Claimed};
use super::claim_terms::Claim;
use super::named_once::once;
use super::outcome::Outcome;
use crate::{Error, Yard};

/// A task that was not given to an agent that asked for several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedClaim {
    /// The id that was asked for.
    pub id: TaskId,
    /// The rule that refused it, with what stands in the way.
    pub refusal: ClaimRefusal,
    /// The task as it is, where there is one.
    pub task: Option<Box<Task>>,
}

/// What came of a claim on several tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimedTogether {
    /// The tasks that are the agent's, in the order in which they were asked for.
    pub claimed: Vec<Claimed>,
    /// Those that are not.
    pub refused: Vec<RefusedClaim>,
}

impl Yard {
    /// Takes several tasks in one commit, all of them or none: where one is refused, that one is told and nothing has changed.
    pub fn claim_together(&self, ids: &[TaskId], claim: &Claim) -> Result<ClaimedTogether, Error> {
        self.claim_many(ids, claim, |refused| !refused.is_empty())
    }

    /// Takes those of several tasks that can be taken, in one commit, and tells of the others.
    pub fn claim_possible(&self, ids: &[TaskId], claim: &Claim) -> Result<ClaimedTogether, Error> {
        self.claim_many(ids, claim, |_| false)
    }

    fn claim_many(
        &self,
        ids: &[TaskId],
        claim: &Claim,
        gives_up: impl Fn(&[RefusedClaim]) -> bool,
    ) -> Result<ClaimedTogether, Error> {
        let ids = once(ids);
        let all_refused = |refusal: &ClaimRefusal| {
            let refused = |id: &TaskId| RefusedClaim { id: id.clone(), refusal: refusal.clone(), task: None };
            ClaimedTogether { claimed: Vec::new(), refused: ids.iter().map(refused).collect() }
        };
        let outside_run = ids.iter().map(|id| self.claim_in_run(Some(id)));
        for outcome in outside_run.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten() {
            if let ClaimOutcome::Refused { refusal, .. } = outcome {
                return Ok(all_refused(&refusal));
            }
        }
        let claim = match self.as_teammate(claim)? {
            Ok(claim) => claim,
            Err(refusal) => return Ok(all_refused(&refusal)),
        };
        if !self.store().read(self.list_id())?.exists()? {
            return Ok(all_refused(&ClaimRefusal::TaskNotFound));
        }
        // A transaction that halts has no answer of its own.
        let refused: RefCell<Vec<RefusedClaim>> = RefCell::default();
        let outcome = self.transact(Op::Claim, |txn, _| {
            refused.borrow_mut().clear();
            let mut claimed = Vec::new();
            for id in &ids {
                match self.attempt(txn, id, claim.as_ref())? {
                    Ok(taken) => claimed.push(taken),
                    Err((refusal, task)) => {
                        refused.borrow_mut().push(RefusedClaim { id: id.clone(), refusal, task });
                        if gives_up(&refused.borrow()) {
                            return Err(Refusal::NoSuchTask { task: id.clone() }.into());
                        }
                    }
                }
            }
            Ok(claimed)
        })?;
        let mut refused = refused.into_inner();
        let Outcome::Done((taken, event)) = outcome else {
            return Ok(ClaimedTogether { claimed: Vec::new(), refused });
        };
        let revision = event.as_ref().map(|event| event.revision);
        let mut claimed = Vec::new();
        for taken in taken {
            let id = taken.task.id.clone();
            match self.confirmed(Claimed { revision, ..taken }, event.as_ref())? {
                ClaimOutcome::Claimed(taken) => claimed.push(*taken),
                ClaimOutcome::Refused { refusal, task } => refused.push(RefusedClaim { id, refusal, task }),
            }
        }
        Ok(ClaimedTogether { claimed, refused })
    }
}
