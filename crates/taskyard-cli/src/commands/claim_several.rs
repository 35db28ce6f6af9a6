//! `taskyard claim` for several tasks at once.

use taskyard::Yard;
use taskyard::core::answers::claims::WonClaim;
use taskyard::core::answers::values::{Shape, expires_at};
use taskyard::core::render::Tone;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::{Task, answers};
use taskyard::operations::{Claim, ClaimRefusal, ClaimedTogether, RefusedClaim};

use super::several::{none_is_like_that, tell_rehearsal};
use crate::arguments::WhichTasks;
use crate::context::Context;
use crate::displays::answers::did;
use crate::displays::lost_claims::{lost, owned_since};
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Takes the tasks that are meant, and tells what became of each.
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
    let outcome = match which.keep_going {
        true => yard.claim_possible(&ids, claim)?,
        false => yard.claim_together(&ids, claim)?,
    };
    // All or none: what is refused leaves nothing claimed.
    if let Some(first) = outcome.refused.first().filter(|_| !which.keep_going) {
        let since = owned_since(yard, &first.refusal, first.task.as_deref())?;
        return lost(Some(&first.id), &first.refusal, (first.task.as_deref(), None, &[]), since, output);
    }
    if which.dry_run {
        let tasks: Vec<&Task> = outcome.claimed.iter().map(|claimed| &claimed.task).collect();
        tell_rehearsal("Would claim", &tasks, &[], output)?;
        return Ok(exit_of(&outcome.refused));
    }
    if !outcome.claimed.is_empty() {
        context.note_write(yard.list_id());
    }
    outcome.claimed.iter().for_each(|claimed| context.note_claim(claimed));
    tell(&outcome, output)
}

fn tell(outcome: &ClaimedTogether, output: &mut Output) -> Result<Exit, Problem> {
    let ClaimedTogether { claimed, refused } = outcome;
    if output.is_json() {
        output.document(answers::claims::ClaimedTogether {
            claimed: !claimed.is_empty(),
            tasks: claimed.iter().map(|claimed| Shape(&claimed.task)).collect(),
            claims: claimed
                .iter()
                .map(|claimed| WonClaim {
                    task: claimed.task.id.as_str(),
                    token: claimed.lease.token.0,
                    expires_at: expires_at(&claimed.lease),
                    agent: claimed.lease.agent.as_str(),
                    resumed: claimed.is_resumed,
                })
                .collect(),
            refused: refused.iter().map(refused_answer).collect(),
            revision: claimed.iter().find_map(|claimed| claimed.revision).map(|revision| revision.0),
        })?;
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

fn refused_answer(refused: &RefusedClaim) -> answers::claims::RefusedClaim<'_> {
    answers::claims::RefusedClaim { refused: (&refused.refusal).into(), task: refused.id.as_str() }
}

fn exit_of(refused: &[RefusedClaim]) -> Exit {
    match refused.first().map(|refused| &refused.refusal) {
        None => Exit::Done,
        Some(ClaimRefusal::TaskNotFound) => Exit::NotFound,
        Some(_) => Exit::Refused,
    }
}
