//! Operations on claims: claiming, renewing and releasing tasks.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use taskyard::answers::{rehearsed, renewed};
use taskyard::core::answers::claim_answers::ClaimLost;
use taskyard::core::problem::Problem;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{Token, answers};
use taskyard::lease_watch::Alarm;
use taskyard::operations::{Claim, Claimed, DEFAULT_LEASE, Possible};
use taskyard::{Error, Outcome};

use super::inputs::{Chosen, Departure, Proof, SeveralTasks, lifetime, none_chosen, pause, where_query};
use super::operation::{Asked, Operation, Parts, Reply};
use crate::web::call::Call;

/// How long a request may wait for a ready task. After that it returns without one, and the client asks again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post::<answers::claim_answers::ClaimWon<'_>>(
            "claimTask",
            "/lists/{list}/tasks/{id}/claim",
            "Claim a task",
        )
        .or_refuses::<ClaimLost<'_>>()
        .with(claim),
        Operation::post::<answers::claim_answers::ClaimWon<'_>>(
            "claimNextTask",
            "/lists/{list}/claim-next",
            "Claim the next task: the caller's own unfinished one, else the best that is ready",
        )
        .or_refuses::<ClaimLost<'_>>()
        .with(claim_next),
        Operation::post::<answers::claim_answers::ClaimedTogether<'_>>(
            "claimTasks",
            "/lists/{list}/claim",
            "Claim several tasks, all or none",
        )
        .or_refuses::<ClaimLost<'_>>()
        .or::<answers::claim_answers::ClaimWon<'_>>()
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(claim_several),
        Operation::post::<answers::claim_answers::Renewed<'_>>(
            "renewClaim",
            "/lists/{list}/tasks/{id}/renew",
            "Renew a lease",
        )
        .with(renew),
        Operation::post::<answers::claim_answers::Released<'_>>(
            "releaseTask",
            "/lists/{list}/tasks/{id}/release",
            "Release a task",
        )
        .with(release),
        Operation::post::<answers::claim_answers::ReleasedTogether<'_>>(
            "releaseTasks",
            "/lists/{list}/release",
            "Release several tasks",
        )
        .or::<answers::claim_answers::Released<'_>>()
        .or::<answers::task_answers::Unchanged<'_>>()
        .with(release_several),
        Operation::post::<answers::claim_answers::Departed<'_>>(
            "releaseAgent",
            "/lists/{list}/agents/{agent}/release",
            "Release all tasks of an agent",
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

impl Terms {
    fn read(self) -> Result<ClaimTerms, Problem> {
        let ttl = lifetime(self.ttl.as_deref())?;
        Ok(ClaimTerms { if_idle: self.if_idle, reserve: self.reserve, ttl, roles: self.roles })
    }
}

/// The claim options common to all claiming requests, parsed.
struct ClaimTerms {
    if_idle: bool,
    reserve: bool,
    ttl: Option<Duration>,
    roles: Vec<String>,
}

impl ClaimTerms {
    /// Returns the caller's claim.
    fn of(self, call: &Call) -> Claim {
        let config = &call.served.config;
        let mut roles = self.roles;
        roles.extend(config.roles(call.yard.actor()).iter().cloned());
        Claim {
            roles,
            limit: call.served.claim_limit,
            only_when_idle: self.if_idle,
            reserve: self.reserve,
            ttl: self.ttl.or(config.lease()).or(Some(DEFAULT_LEASE)),
            resuming: call.resuming(),
            ..Claim::default()
        }
    }
}

/// Returns the answer for the outcome of a claim.
fn claimed(outcome: Outcome<Claimed>, claim: &Claim, call: &Call) -> Result<Reply, Problem> {
    match outcome {
        Outcome::Done(claimed) => {
            call.note_claim(&claimed);
            Reply::of(answers::claim_answers::ClaimWon::from(&claimed))
        }
        Outcome::Refused(refusal) => lost(call.yard.explained(refusal, claim)?),
    }
}

fn lost(refusal: Refusal) -> Result<Reply, Problem> {
    let Refusal::Claim(lost) = refusal else { return Err(refusal.into()) };
    let answer = ClaimLost::from(&*lost);
    let kind = answer.error.kind;
    Ok(Reply::of(answer)?.refused(kind))
}

fn claim(parts: &Parts, terms: Terms) -> Result<Asked, Problem> {
    let (id, terms) = (parts.task()?, terms.read()?);
    Ok(Asked::to(move |call| {
        let claim = terms.of(call);
        claimed(call.yard.claim(&id, &claim)?, &claim, call)
    }))
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

fn claim_next(_: &Parts, next: NextTerms) -> Result<Asked, Problem> {
    let wait = pause(next.wait.as_deref())?.map(|wait| wait.min(LONGEST_WAIT));
    let terms = Terms { if_idle: next.if_idle, reserve: next.reserve, ttl: next.ttl, roles: next.roles }.read()?;
    let asked = Asked::to(move |call| {
        let query = where_query(next.query.as_deref(), call)?.unwrap_or_default();
        let claim = Claim { query, ..terms.of(call) };
        let Some(wait) = wait else { return claimed(call.yard.claim_next(&claim)?, &claim, call) };
        let until = Instant::now() + wait;
        let mut alarm = Alarm::set(&call.yard)?;
        let handle = alarm.handle();
        let _stopped = call.cancel.on_cancel(move || handle.stop());
        match call.yard.claim_next_in_time(&claim, &mut alarm, Some(until))? {
            Outcome::Refused(_) if call.cancel.is_cancelled() => Err(Error::Cancelled.into()),
            outcome => claimed(outcome, &claim, call),
        }
    });
    Ok(asked.sleeping(wait.is_some()))
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

fn claim_several(_: &Parts, given: SeveralTerms) -> Result<Asked, Problem> {
    let chosen = Chosen::several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    let terms = Terms { if_idle: false, reserve: given.reserve, ttl: given.ttl, roles: given.roles }.read()?;
    Ok(Asked::to(move |call| {
        let claim = terms.of(call);
        let ids = chosen.ids(call)?;
        if ids.is_empty() {
            return none_chosen();
        }
        let yard = if chosen.dry_run { call.yard.clone().rehearsing() } else { call.yard.clone() };
        let possible = match chosen.keep_going {
            true => yard.claim_possible(&ids, &claim)?,
            false => match yard.claim_together(&ids, &claim)? {
                Outcome::Done(done) => Possible { done, refused: Vec::new() },
                Outcome::Refused(refusal) => return lost(yard.explained(refusal, &claim)?),
            },
        };
        if chosen.dry_run {
            return Reply::of(rehearsed(possible.done.iter().map(|claimed| &claimed.task), &possible.refused));
        }
        possible.done.iter().for_each(|claimed| call.note_claim(claimed));
        Reply::of(answers::claim_answers::ClaimedTogether::from(&possible))
    }))
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

fn renew(parts: &Parts, renewal: Renewal) -> Result<Asked, Problem> {
    let (id, ttl) = (parts.task()?, lifetime(renewal.ttl.as_deref())?);
    Ok(Asked::to(move |call| {
        let (task, lease) = call.yard.renew(&id, Token(renewal.token), ttl)?.done()?;
        call.note_write();
        Reply::of(renewed(&task, &lease))
    }))
}

fn release(parts: &Parts, proof: Proof) -> Result<Asked, Problem> {
    releasing(Chosen::only(parts)?, (proof.token, proof.force))
}

fn release_several(_: &Parts, given: SeveralTasks) -> Result<Asked, Problem> {
    let chosen = Chosen::several(&given.ids, given.query, given.keep_going, given.dry_run)?;
    releasing(chosen, (given.token, given.force))
}

fn releasing(chosen: Chosen, (token, force): (Option<u64>, bool)) -> Result<Asked, Problem> {
    Ok(Asked::to(move |call| {
        let yard = call.proving(token, force);
        let ids = chosen.ids(call)?;
        if ids.is_empty() {
            return none_chosen();
        }
        let yard = if chosen.dry_run { yard.rehearsing() } else { yard };
        let possible = match chosen.keep_going {
            true => yard.release_possible(&ids)?,
            false => Possible { done: yard.release_together(&ids)?.done()?, refused: Vec::new() },
        };
        match possible.done.as_slice() {
            _ if chosen.dry_run => {
                Reply::of(rehearsed(possible.done.iter().map(|released| &released.task), &possible.refused))
            }
            [one] if chosen.is_one => Reply::of(answers::claim_answers::Released::from(one)),
            _ => Reply::of(answers::claim_answers::ReleasedTogether::from(&possible)),
        }
    }))
}

fn release_agent(parts: &Parts, departure: Departure) -> Result<Asked, Problem> {
    let agent = parts.agent()?;
    Ok(Asked::to(move |call| {
        let departed = call.yard.depart(&agent, departure.reason.into())?;
        Reply::of(answers::claim_answers::Departed::from(&departed))
    }))
}
