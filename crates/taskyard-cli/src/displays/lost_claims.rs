//! Telling why a task could not be claimed.

use taskyard::Yard;
use taskyard::core::TaskId;
use taskyard::core::answers::claims::ClaimLost;
use taskyard::core::render::{loss_in_words, numbered};
use taskyard::operations::{ClaimRefusal, LostClaim};

use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind, exit_of};

/// Tells why a task was not claimed.
pub(crate) fn lost(id: Option<&TaskId>, claim: &LostClaim, yard: &Yard, output: &mut Output) -> Result<Exit, Problem> {
    let LostClaim { refusal, since, gone, .. } = claim;
    let kind = match refusal {
        ClaimRefusal::TaskNotFound => ProblemKind::NotFound,
        _ => ProblemKind::Refused,
    };
    if output.is_json() {
        output.document(ClaimLost::from(claim))?;
        return Ok(exit_of(kind));
    }
    let message = match (id, refusal) {
        (Some(id), ClaimRefusal::TaskNotFound) => format!("there is no task {id}"),
        (Some(id), ClaimRefusal::AlreadyClaimed { by, free_at: Some(at) }) => {
            let when = output.look().until(*at);
            format!("task {id} cannot be claimed: {by} has it; its server has ended, free {when}")
        }
        (Some(id), ClaimRefusal::AlreadyClaimed { by, free_at: None }) if since.is_some() => {
            let since = since.map(|since| since.to_string()).unwrap_or_default();
            format!("task {id} cannot be claimed: {by} has it since {since}")
        }
        (Some(id), refusal) => format!("task {id} cannot be claimed: {refusal}"),
        (None, ClaimRefusal::AgentBusy { with }) => format!("you are not finished with {}", numbered(with)),
        (None, ClaimRefusal::NothingReady { for_others: others @ 1.., .. }) => {
            format!("nothing is ready for you: {others} ready for others")
        }
        (None, ClaimRefusal::NothingReady { next_at: Some(at), .. }) => {
            format!("nothing is ready; what is deferred can start {}", output.look().until(*at))
        }
        (None, refusal) => refusal.to_string(),
    };
    let look = output.look();
    let loss = gone.as_ref().and_then(|gone| loss_in_words(gone, yard.list_id(), |moment| look.time(moment)));
    let problem = Problem::new(kind, refusal.as_str(), message).hint(loss.unwrap_or_else(|| advice(refusal)));
    Err(match id {
        Some(id) => problem.detail("task", id.as_str()),
        None => problem,
    })
}

fn advice(refusal: &ClaimRefusal) -> String {
    match refusal {
        ClaimRefusal::TaskNotFound => "`taskyard list --all` shows every task".to_owned(),
        ClaimRefusal::Blocked { by, .. } => {
            format!("finish {} first; `taskyard ready` shows what can start now", numbered(by))
        }
        ClaimRefusal::AgentBusy { with } => {
            let first = with.first().map_or("ID", TaskId::as_str);
            format!("finish with `taskyard done {first}`, or give it back with `taskyard release {first}`")
        }
        ClaimRefusal::OutsideRun { task, is_over: false } => {
            format!("finish with `taskyard done {task}`, or give it back with `taskyard release {task}`")
        }
        ClaimRefusal::PlanNotApproved { lead } => {
            format!(
                "show it with `taskyard send --to {lead} --request plan PLAN`, and wait for the answer in your inbox"
            )
        }
        ClaimRefusal::NotAllowed { .. } => "say what you are with --role, or take another with --next".to_owned(),
        ClaimRefusal::NothingReady { .. } => {
            "see what holds things up with `taskyard list --blocked`, or sleep until there is something with --wait"
                .to_owned()
        }
        _ => "take another with `taskyard claim --next`".to_owned(),
    }
}
