//! Answers about claims and background jobs.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answers::answer_values::{Gap, Gone, Ids, Job, Shape};
use crate::answers::answer_words::ClaimReason;
use crate::answers::task_answers::RefusedTask;
use crate::problem::{Problem, Report};
use crate::rules::refusal::{ClaimRefusal, LostClaim, Refusal};
use crate::{Assignee, TaskId};

/// A claim that was won.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimWon<'a> {
    /// True
    pub claimed: bool,
    /// The task
    pub task: Shape<'a>,
    /// The number that proves the lease
    pub token: u64,
    /// When the lease ends; null if time does not end it
    pub expires_at: Option<String>,
    /// The agent that has it now
    pub agent: &'a str,
    /// Whether it was the agent's already
    pub resumed: bool,
    /// With `--next`, why it was chosen
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
    /// With `--next`, what else the name holds if the agent gave none
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub also_held: Ids<'a>,
    /// The commit, if the file changed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// Why a claim was refused.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimRefused<'a> {
    /// False
    pub claimed: bool,
    /// The reason
    pub reason: ClaimReason,
    /// `already_claimed`: the agent that has it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'a str>,
    /// `already_claimed`: when it became the owner, if that is known
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// `already_claimed`: when the task is free, if the server it was claimed through has ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_at: Option<String>,
    /// `blocked`: the open tasks it waits for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<Ids<'a>>,
    /// `blocked`: the task it is a part of, if that one waits
    #[serde(skip_serializing_if = "Option::is_none")]
    pub through: Option<&'a str>,
    /// `agent_busy`: the tasks the agent has not finished, or the task of the run if `work` started the agent for another one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_with: Option<Ids<'a>>,
    /// `not_allowed`: the agents and roles it is for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignable_to: Option<Vec<String>>,
    /// `nothing_ready`: how many tasks are ready for others
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_others: Option<usize>,
    /// `nothing_ready`: when the first deferred task can start
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<String>,
}

impl<'a> From<&'a ClaimRefusal> for ClaimRefused<'a> {
    fn from(refusal: &'a ClaimRefusal) -> Self {
        let mut refused = Self {
            claimed: false,
            reason: refusal.into(),
            owner: None,
            since: None,
            free_at: None,
            blocked_by: None,
            through: None,
            busy_with: None,
            assignable_to: None,
            for_others: None,
            next_at: None,
        };
        match refusal {
            ClaimRefusal::AlreadyClaimed { by, free_at } => {
                refused.owner = Some(by);
                refused.free_at = free_at.map(|at| at.to_string());
            }
            ClaimRefusal::Blocked { by, through } => {
                refused.blocked_by = Some(Ids(by));
                refused.through = through.as_ref().map(TaskId::as_str);
            }
            ClaimRefusal::AgentBusy { with } => refused.busy_with = Some(Ids(with)),
            ClaimRefusal::OutsideRun { task, .. } => refused.busy_with = Some(Ids(std::slice::from_ref(task))),
            ClaimRefusal::NotAllowed { only_for } => {
                refused.assignable_to = Some(only_for.iter().map(Assignee::to_string).collect());
            }
            ClaimRefusal::NothingReady { for_others, next_at } => {
                refused.for_others = Some(*for_others);
                refused.next_at = next_at.map(|at| at.to_string());
            }
            ClaimRefusal::TaskNotFound | ClaimRefusal::AlreadyResolved | ClaimRefusal::PlanNotApproved { .. } => {}
        }
        refused
    }
}

/// A claim that was lost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClaimLost<'a> {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub refused: ClaimRefused<'a>,
    /// The task, if there is one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Shape<'a>>,
    /// With `--next`, what the name holds if the agent gave none
    #[serde(skip_serializing_if = "Ids::is_empty")]
    pub also_held: Ids<'a>,
    /// With `--next`, what the list has lost, if open tasks are gone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Gone>,
    /// The refusal in the form of an error, whose code is the reason
    pub error: Report,
}

impl<'a> From<&'a LostClaim> for ClaimLost<'a> {
    fn from(lost: &'a LostClaim) -> Self {
        Self {
            refused: ClaimRefused { since: lost.since.map(|since| since.to_string()), ..(&lost.reason).into() },
            task: lost.task.as_deref().map(Shape),
            also_held: Ids(&lost.also_held),
            gone: lost.gone.as_ref().map(Into::into),
            error: Problem::from(Refusal::Claim(Box::new(lost.clone()))).report().clone(),
        }
    }
}

/// Claims on several tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimedTogether<'a> {
    /// Whether any was won
    pub claimed: bool,
    /// The tasks that were claimed
    pub tasks: Vec<Shape<'a>>,
    /// The lease on each of them
    pub claims: Vec<WonClaim<'a>>,
    /// With `--keep-going`, the claims that were lost
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedClaim<'a>>,
    /// The commit
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// One of several claims.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WonClaim<'a> {
    /// The id of the task
    pub task: &'a str,
    /// The number that proves the lease
    pub token: u64,
    /// When the lease ends; null if time does not end it
    pub expires_at: Option<String>,
    /// The agent that has it now
    pub agent: &'a str,
    /// Whether it was the agent's already
    pub resumed: bool,
}

/// One of several claims that was lost.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RefusedClaim<'a> {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub refused: ClaimRefused<'a>,
    /// The id of the task
    pub task: &'a str,
}

/// A lease that was renewed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Renewed<'a> {
    /// True
    pub renewed: bool,
    /// The task
    pub task: Shape<'a>,
    /// The number that proves the lease
    pub token: u64,
    /// When the lease ends; null if time does not end it
    pub expires_at: Option<String>,
}

/// A task that was released.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Released<'a> {
    /// True
    pub released: bool,
    /// The task
    pub task: Shape<'a>,
    /// The commit, if an agent had the task
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// Tasks that were released.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReleasedTogether<'a> {
    /// The tasks
    pub tasks: Vec<Shape<'a>>,
    /// With `--keep-going`, the tasks that could not be released
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedTask<'a>>,
    /// The commit, if an agent had one of them
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// The tasks of an agent that is gone.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Departed<'a> {
    /// The tasks that anybody can take now
    pub unassigned_tasks: Vec<UnassignedTask<'a>>,
    /// What others are told
    pub notification_message: &'a str,
}

/// A task that no agent has any longer.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct UnassignedTask<'a> {
    pub id: &'a str,
    pub subject: &'a str,
}

/// Jobs.
#[derive(Debug, Serialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Jobs<'a> {
    pub jobs: Vec<Job<'a>>,
}

/// A job that was started, or waited for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStarted<'a> {
    /// The job
    pub job: Job<'a>,
    /// If it was waited for, whether the waiting time ran out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// A job that was stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct JobStopped<'a> {
    /// The job
    pub job: Job<'a>,
    /// True
    pub stopped: bool,
}

/// A job and what it wrote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobOutput<'a> {
    /// The job
    pub job: Job<'a>,
    /// Text; bytes that are not UTF-8 are replaced, but an unfinished character at the end waits while the job runs
    pub output: String,
    /// Where the text begins, in bytes
    pub offset: u64,
    /// Where the next part begins
    pub next_offset: u64,
    /// The part of the wanted output that was left out, or is only on the machine of a job that has ended
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// If it was waited for, whether the waiting time ran out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
}

/// Jobs that were forgotten.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobsTidied<'a> {
    /// The jobs
    pub jobs: Vec<Job<'a>>,
    /// How many bytes were freed
    pub bytes: u64,
    /// Whether they are still there
    pub dry_run: bool,
}
