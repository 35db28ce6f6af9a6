//! `taskyard claim` with several tasks.

use taskyard::Yard;
use taskyard::core::render::Tone;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::{Task, answers};
use taskyard::operations::{Claim, ClaimRefusal, ClaimedTogether, RefusedClaim};

use super::several::{none_is_like_that, tell_rehearsal};
use crate::arguments::WhichTasks;
use crate::context::Context;
use crate::displays::{did, lost};
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Claims the selected tasks and reports the result of each.
pub(super) fn claim_several(
    which: &WhichTasks,
    claim: &Claim,
    yard: &Yard,
    context: &Context,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let ids = context.ids_of(which, yard)?;
    if ids.is_empty() {
        return none_is_like_that(output);
    }
    let rehearsal = which.dry_run.then(|| yard.clone().rehearsing());
    let yard = rehearsal.as_ref().unwrap_or(yard);
    let mut outcome = match which.keep_going {
        true => yard.claim_possible(&ids, claim)?,
        false => yard.claim_together(&ids, claim)?,
    };
    // All or none: what is refused leaves nothing claimed.
    if !which.keep_going && !outcome.refused.is_empty() {
        let RefusedClaim { id, refusal, task } = outcome.refused.swap_remove(0);
        return lost(Some(&id), &yard.explain_lost_claim(claim, refusal, task)?, yard, output);
    }
    if which.dry_run {
        let tasks: Vec<&Task> = outcome.claimed.iter().map(|claimed| &claimed.task).collect();
        tell_rehearsal("Would claim", &tasks, &[], output)?;
        return Ok(exit_of(&outcome.refused));
    }
    if !outcome.claimed.is_empty() {
        context.note_write(yard.list_id());
    }
    tell(&outcome, output)
}

fn tell(outcome: &ClaimedTogether, output: &mut Output) -> Result<Exit, Problem> {
    let ClaimedTogether { claimed, refused } = outcome;
    if output.is_json() {
        output.document(answers::claim_answers::ClaimedTogether::from(outcome))?;
        return Ok(exit_of(refused));
    }
    for claimed in claimed {
        let mut line = did(if claimed.is_resumed { "Resumed" } else { "Claimed" }, &claimed.task);
        let until = output.look().lease(&claimed.lease, &LeaseState::Live);
        line.push(Tone::Dim, &format!(", token {}, {until}", claimed.lease.token));
        output.say(&line)?;
    }
    for RefusedClaim { id, refusal, .. } in refused {
        output.warn(&format!("#{id} is left as it is: {refusal}"))?;
    }
    Ok(exit_of(refused))
}

fn exit_of(refused: &[RefusedClaim]) -> Exit {
    match refused.first().map(|refused| &refused.refusal) {
        None => Exit::Done,
        Some(ClaimRefusal::TaskNotFound) => Exit::NotFound,
        Some(_) => Exit::Refused,
    }
}
