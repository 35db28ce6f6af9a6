//! Claims: taking tasks, keeping them, giving them back.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::core::answers;

use super::inputs::{Departure, DepartureReason, Proof, SeveralTasks, lease, lifetime, only, pause, several};
use super::operation::{Asked, Operation, Parts};
use crate::arguments::WhichTasks;
use crate::commands::{Claim, Command, Release, ReleaseReason, Renew};
use crate::problem::Problem;

/// So long a request sleeps at most until there is something to take; then it is told that there is nothing, and asks again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Returns the operations.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post::<answers::claims::ClaimWon<'_>>("claimTask", "/lists/{list}/tasks/{id}/claim", "Take a task")
            .or_refuses::<answers::claims::ClaimLost<'_>>()
            .with(claim),
        Operation::post::<answers::claims::ClaimWon<'_>>(
            "claimNextTask",
            "/lists/{list}/claim-next",
            "Take what comes next: one's own unfinished task, else the best that is ready",
        )
        .or_refuses::<answers::claims::ClaimLost<'_>>()
        .with(claim_next),
        Operation::post::<answers::claims::ClaimedTogether<'_>>(
            "claimTasks",
            "/lists/{list}/claim",
            "Take tasks, all or none",
        )
        .or_refuses::<answers::claims::ClaimLost<'_>>()
        .or::<answers::claims::ClaimWon<'_>>()
        .or::<answers::tasks::Unchanged<'_>>()
        .with(claim_several),
        Operation::post::<answers::claims::Renewed<'_>>(
            "renewClaim",
            "/lists/{list}/tasks/{id}/renew",
            "Keep a task for longer",
        )
        .with(renew),
        Operation::post::<answers::claims::Released<'_>>(
            "releaseTask",
            "/lists/{list}/tasks/{id}/release",
            "Give a task back",
        )
        .with(release),
        Operation::post::<answers::claims::ReleasedTogether<'_>>(
            "releaseTasks",
            "/lists/{list}/release",
            "Give tasks back",
        )
        .or::<answers::claims::Released<'_>>()
        .or::<answers::tasks::Unchanged<'_>>()
        .with(release_several),
        Operation::post::<answers::claims::Departed<'_>>(
            "releaseAgent",
            "/lists/{list}/agents/{agent}/release",
            "Give back all that an agent has",
        )
        .with(release_agent),
    ]
}

/// On what terms a task is taken.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Terms {
    /// Only when the caller has nothing else open
    if_idle: bool,
    /// Become the owner without beginning
    reserve: bool,
    /// How long the lease lives without a sign of life: `30m`
    ttl: Option<String>,
    /// The roles of the caller; tasks may be for one role only
    roles: Vec<String>,
}

fn claim(parts: &Parts, terms: Terms) -> Result<Command, Problem> {
    Ok(Command::Claim(Box::new(Claim {
        which: only(parts)?,
        if_idle: terms.if_idle,
        reserve: terms.reserve,
        ttl: lifetime(terms.ttl.as_deref())?,
        roles: terms.roles,
        ..Claim::default()
    })))
}

/// On what terms the next task is taken.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct NextTerms {
    /// Only of those of which a query is true
    #[serde(rename = "where")]
    query: Option<String>,
    /// Sleep until there is something to take, no longer than this and than a minute: `30s`
    wait: Option<String>,
    if_idle: bool,
    reserve: bool,
    ttl: Option<String>,
    roles: Vec<String>,
}

fn claim_next(_: &Parts, terms: NextTerms) -> Result<Asked, Problem> {
    let timeout = pause(terms.wait.as_deref())?.map(|wait| wait.min(LONGEST_WAIT));
    let command = Command::Claim(Box::new(Claim {
        which: WhichTasks { query: terms.query, ..WhichTasks::default() },
        next: true,
        wait: timeout.is_some(),
        timeout,
        if_idle: terms.if_idle,
        reserve: terms.reserve,
        ttl: lifetime(terms.ttl.as_deref())?,
        roles: terms.roles,
        ..Claim::default()
    }));
    Ok(if timeout.is_some() { Asked::sleeping(command) } else { command.into() })
}

/// Which tasks are taken, and on what terms.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct SeveralTerms {
    /// Ids, and ranges such as `7-9`
    ids: Vec<String>,
    /// Those of which a query is true
    #[serde(rename = "where")]
    query: Option<String>,
    /// Take those that can be taken, and tell of the others
    keep_going: bool,
    /// Answer what would be done, and do nothing
    dry_run: bool,
    reserve: bool,
    ttl: Option<String>,
    roles: Vec<String>,
}

fn claim_several(_: &Parts, terms: SeveralTerms) -> Result<Command, Problem> {
    let which = several(&terms.ids, terms.query, terms.keep_going, terms.dry_run)?;
    Ok(Command::Claim(Box::new(Claim {
        which,
        reserve: terms.reserve,
        ttl: lifetime(terms.ttl.as_deref())?,
        roles: terms.roles,
        ..Claim::default()
    })))
}

/// For how long a task is kept.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Renewal {
    /// The token of the lease
    token: u64,
    /// How long it lives from now on: `30m`
    #[serde(default)]
    ttl: Option<String>,
}

fn renew(parts: &Parts, renewal: Renewal) -> Result<Command, Problem> {
    let ttl = lifetime(renewal.ttl.as_deref())?;
    Ok(Command::Renew(Renew { id: parts.task()?, token: renewal.token, ttl }))
}

fn release(parts: &Parts, proof: Proof) -> Result<Command, Problem> {
    let lease = lease(proof.token, proof.force);
    Ok(Command::Release(Release { which: only(parts)?, departed: None, reason: ReleaseReason::Shutdown, lease }))
}

fn release_several(_: &Parts, given: SeveralTasks) -> Result<Command, Problem> {
    let which = several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    let lease = lease(given.token, given.force);
    Ok(Command::Release(Release { which, departed: None, reason: ReleaseReason::Shutdown, lease }))
}

fn release_agent(parts: &Parts, departure: Departure) -> Result<Command, Problem> {
    let reason = match departure.reason {
        DepartureReason::Shutdown => ReleaseReason::Shutdown,
        DepartureReason::Terminated => ReleaseReason::Terminated,
    };
    let departed = Some(parts.agent()?);
    Ok(Command::Release(Release { which: WhichTasks::default(), departed, reason, lease: lease(None, false) }))
}
