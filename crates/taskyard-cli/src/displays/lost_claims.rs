//! Telling why a task could not be claimed.

use serde::Serialize;
use serde_json::Value;
use taskyard::Yard;
use taskyard::core::dialect::native::Shape;
use taskyard::core::render::{gone_shape, loss_in_words, numbered};
use taskyard::core::{Assignee, ListId, Task, TaskId, Timestamp};
use taskyard::operations::{ClaimRefusal, Gone};

use crate::exit::Exit;
use crate::output::{Ids, Output};
use crate::problem::{Problem, ProblemKind, exit_of};

/// The answer to a claim that was not.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lost<'a> {
    claimed: bool,
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    through: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busy_with: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignable_to: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    for_others: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<Shape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    also_held: Option<Ids<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<Value>,
}

/// Returns since when the agent has a task that was not claimed because of that.
pub(crate) fn owned_since(
    yard: &Yard,
    refusal: &ClaimRefusal,
    task: Option<&Task>,
) -> Result<Option<Timestamp>, Problem> {
    match (refusal, task) {
        (ClaimRefusal::AlreadyClaimed { .. }, Some(task)) if !yard.rules().is_client() => {
            Ok(yard.owned_since(task).map_err(taskyard::Error::from)?)
        }
        _ => Ok(None),
    }
}

/// Tells why a task was not claimed; `since` is when its owner got it, if that is known.
pub(crate) fn lost(
    id: Option<&TaskId>,
    refusal: &ClaimRefusal,
    (task, gone, held): (Option<&Task>, Option<(Gone, &ListId)>, &[TaskId]),
    since: Option<Timestamp>,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let kind = match refusal {
        ClaimRefusal::TaskNotFound => ProblemKind::NotFound,
        _ => ProblemKind::Refused,
    };
    if output.is_json() {
        let also_held = (!held.is_empty()).then_some(Ids(held));
        let since = since.map(|since| since.to_string());
        let gone = gone.map(|(gone, _)| gone_shape(&gone));
        output.document(Lost { gone, also_held, since, ..shape(refusal, task) })?;
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
    let loss = gone.and_then(|(gone, list)| loss_in_words(&gone, list, |moment| look.time(moment)));
    let problem = Problem::new(kind, code(refusal), message).hint(loss.unwrap_or_else(|| advice(refusal)));
    Err(match id {
        Some(id) => problem.detail("task", id.as_str()),
        None => problem,
    })
}

fn code(refusal: &ClaimRefusal) -> &'static str {
    refusal.as_str()
}

pub(crate) fn shape<'a>(refusal: &'a ClaimRefusal, task: Option<&'a Task>) -> Lost<'a> {
    let mut lost = Lost {
        claimed: false,
        reason: refusal.as_str(),
        owner: None,
        since: None,
        free_at: None,
        blocked_by: None,
        through: None,
        busy_with: None,
        assignable_to: None,
        for_others: None,
        next_at: None,
        task: task.map(Shape),
        also_held: None,
        gone: None,
    };
    match refusal {
        ClaimRefusal::AlreadyClaimed { by, free_at } => {
            lost.owner = Some(by);
            lost.free_at = free_at.map(|at| at.to_string());
        }
        ClaimRefusal::Blocked { by, through } => {
            lost.blocked_by = Some(Ids(by));
            lost.through = through.as_ref().map(TaskId::as_str);
        }
        ClaimRefusal::AgentBusy { with } => lost.busy_with = Some(Ids(with)),
        ClaimRefusal::OutsideRun { task, .. } => lost.busy_with = Some(Ids(std::slice::from_ref(task))),
        ClaimRefusal::NotAllowed { only_for } => {
            lost.assignable_to = Some(only_for.iter().map(Assignee::to_string).collect());
        }
        ClaimRefusal::NothingReady { for_others, next_at } => {
            lost.for_others = Some(*for_others);
            lost.next_at = next_at.map(|at| at.to_string());
        }
        _ => {}
    }
    lost
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
