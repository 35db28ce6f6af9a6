//! `TaskClaim`, `TaskRelease`

use serde_json::Value;
use taskyard::core::render::loss_in_words;
use taskyard::core::rules::claims::claiming::ClaimRefusal;
use taskyard::core::tools::task_claim::{TaskClaim, Won, held_by_name};
use taskyard::core::tools::task_release::TaskRelease;
use taskyard::core::tools::{Answer, task_claim, task_release, unreadable_line};
use taskyard::core::{AgentName, TaskId};

use super::Toolbox;
use super::toolbox::NoAnswer;
use taskyard::operations::{Claim, ClaimOutcome, Resuming};
use taskyard::{Error, Outcome};

impl Toolbox {
    pub(super) fn take(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let TaskClaim { task: id, reserve, agent } = task_claim::read(input, self.yard.rules())?;
        self.of_claimant(agent).take_task(id, reserve, self.yard.actor())
    }

    /// Claims a task for the agent of these tools; another may have asked for it.
    fn take_task(&self, id: Option<TaskId>, reserve: bool, asked_by: &AgentName) -> Result<Answer, NoAnswer> {
        let claim = Claim { reserve, ..self.claim.clone() };
        let outcome = match &id {
            Some(id) => self.yard.claim(id, &claim)?,
            None => self.yard.claim_next(&claim)?,
        };
        match outcome {
            ClaimOutcome::Claimed(claimed) if !claimed.is_resumed && self.cancel.is_cancelled() => {
                self.yard.proving(claimed.lease.token).release(&claimed.task.id)?;
                Err(Error::Cancelled.into())
            }
            ClaimOutcome::Claimed(claimed) => {
                if self.yard.actor() != asked_by {
                    self.claimed_for.remember(asked_by, &claimed.task.id, self.yard.actor());
                }
                Ok(task_claim::won(&Won {
                    task: &claimed.task,
                    lease: &claimed.lease,
                    is_resumed: claimed.is_resumed,
                    is_of_run: claimed.is_of_run,
                    why: claimed.why.as_deref(),
                    also_held: &claimed.also_held,
                }))
            }
            ClaimOutcome::Refused { refusal, task } => {
                let mut answer =
                    self.explained(|around| task_claim::lost(id.as_ref(), &refusal, task.as_deref(), around))?;
                if matches!(refusal, ClaimRefusal::NothingReady { .. }) {
                    answer.text.push_str(&self.loss()?);
                    answer.text.push_str(&unreadable_line(&self.unreadable()?));
                    if claim.resuming != Resuming::All {
                        answer.text.push_str(&held_by_name(self.yard.actor(), &self.yard.held()?));
                    }
                }
                Ok(answer)
            }
        }
    }

    /// Returns a sentence on the open tasks that are gone, where no task file is left; else nothing.
    fn loss(&self) -> Result<String, NoAnswer> {
        let gone = self.yard.gone()?.filter(|_| !self.yard.rules().is_client());
        let words = gone.and_then(|gone| loss_in_words(&gone, self.yard.list_id(), |moment| moment.to_string()));
        Ok(words.map(|words| format!(" But {words}")).unwrap_or_default())
    }

    pub(super) fn release(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let TaskRelease { task, reason } = task_release::read(input, self.yard.rules())?;
        let outcome = match reason {
            Some(reason) => self.yard.give_back_interrupted(&task, &reason)?,
            None => self.yard.release(&task)?,
        };
        match outcome {
            Outcome::Done(released) => Ok(task_release::released(&released.task)),
            Outcome::Refused(refusal) => match self.entitled_after(&refusal)? {
                Some(entitled) => entitled.release(input),
                None => self.explained(|around| task_release::refused(&refusal, around)),
            },
        }
    }
}
