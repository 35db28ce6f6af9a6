//! `taskyard claim` with several tasks.

use taskyard::core::Task;
use taskyard::core::answers::claim_answers::ClaimedTogether;
use taskyard::core::render::Tone;
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::operations::{Claim, Claimed, Possible};
use taskyard::{Outcome, Yard};

use super::several::{none_is_like_that, tell_rehearsal};
use crate::arguments::WhichTasks;
use crate::context::Context;
use crate::displays::{did, exit_of_refused, lost, tell_refused};
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
    let possible = match which.keep_going {
        true => yard.claim_possible(&ids, claim)?,
        false => match yard.claim_together(&ids, claim)? {
            Outcome::Done(done) => Possible { done, refused: Vec::new() },
            Outcome::Refused(refusal) => return lost(yard.explained(refusal, claim)?, yard, output),
        },
    };
    if which.dry_run {
        let tasks: Vec<&Task> = possible.done.iter().map(|claimed| &claimed.task).collect();
        return tell_rehearsal("Would claim", &tasks, &possible.refused, output);
    }
    if !possible.done.is_empty() {
        context.note_write(yard.list_id());
    }
    tell(&possible, output)
}

fn tell(possible: &Possible<Claimed>, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(ClaimedTogether::from(possible))?;
        return Ok(exit_of_refused(&possible.refused));
    }
    for claimed in &possible.done {
        let mut line = did(if claimed.is_resumed { "Resumed" } else { "Claimed" }, &claimed.task);
        let until = output.look().lease(&claimed.lease, &LeaseState::Live);
        line.push(Tone::Dim, &format!(", token {}, {until}", claimed.lease.token));
        output.say(&line)?;
    }
    tell_refused(&possible.refused, output)?;
    Ok(exit_of_refused(&possible.refused))
}
