//! What there is to say of a claim that was lost.

use taskyard_core::rules::claims::claiming::ClaimRefusal;
use taskyard_core::rules::history::vanishing::Gone;
use taskyard_core::{Task, TaskId, Timestamp};

use super::claim_terms::{Claim, Resuming};
use crate::{Error, Yard};

/// A claim that was lost, and what its caller should know.
#[derive(Clone, Debug)]
pub struct LostClaim {
    /// The rule that refused it, with what stands in the way.
    pub refusal: ClaimRefusal,
    /// The task that was asked for, if there is one.
    pub(crate) task: Option<Box<Task>>,
    /// When the owner got it, if another agent has it and that is known.
    pub since: Option<Timestamp>,
    /// If nothing is ready: what the name of the agent holds, if the agent was given none.
    pub also_held: Vec<TaskId>,
    /// If nothing is ready: what the list has lost, if open tasks are gone.
    pub gone: Option<Gone>,
}

impl Yard {
    /// Finds out what the caller should know whose claim, on these terms, was refused.
    pub fn explain_lost_claim(
        &self,
        claim: &Claim,
        refusal: ClaimRefusal,
        task: Option<Box<Task>>,
    ) -> Result<LostClaim, Error> {
        let is_idle = matches!(refusal, ClaimRefusal::NothingReady { .. });
        let gone = if is_idle { self.gone()?.filter(Gone::is_loss) } else { None };
        let is_unnamed = is_idle && claim.resuming != Resuming::All;
        let also_held = if is_unnamed { self.held()? } else { Vec::new() };
        let since = match (&refusal, &task) {
            (ClaimRefusal::AlreadyClaimed { .. }, Some(task)) if !self.rules().is_client() => self.owned_since(task)?,
            _ => None,
        };
        Ok(LostClaim { refusal, task, since, also_held, gone })
    }
}
