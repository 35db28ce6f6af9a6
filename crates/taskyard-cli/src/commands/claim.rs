//! `taskyard claim`

use std::time::{Duration, Instant};

use clap::Args;
use taskyard::core::answers::claims::ClaimWon;
use taskyard::core::render::{Line, Tone, numbered, task_text};
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::{AgentName, Holder, TaskId};
use taskyard::leases::Alarm;
use taskyard::liveness::mark_of;
use taskyard::operations::{self, ClaimOutcome, Claimed, DEFAULT_LEASE};

use super::claim_several::claim_several;
use super::several::tell_rehearsal;
use crate::arguments::{WhichTasks, parse_lifetime, parse_pause};
use crate::context::Context;
use crate::displays::answers::did;
use crate::displays::lost_claims::lost;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Take tasks: nobody else gets them while the lease lasts
///
/// It takes several tasks in one revision, all of them or none.
///
/// The lease lasts for its time (--ttl, an hour by default), which every command of the agent starts anew; with --pid
/// it lasts as long as that process runs. Then the task goes back. The token proves the lease: give it to `done`,
/// `update` or `release` with --token, and a write that comes too late is refused.
#[derive(Debug, Default, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).multiple(true))]
pub(crate) struct Claim {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// Take your own unfinished task if you gave a name (--as), else the best task that is ready; with --where only
    /// tasks that match the query
    #[arg(long, group = "which", conflicts_with = "ids")]
    pub(crate) next: bool,

    /// Sleep until there is something to take
    #[arg(long, requires = "next", conflicts_with = "ids")]
    pub(crate) wait: bool,

    /// Sleep no longer than this (`90s`, `10m`)
    #[arg(long, value_name = "DURATION", value_parser = parse_pause, requires = "wait")]
    pub(crate) timeout: Option<Duration>,

    /// Only when you have nothing else open
    #[arg(long)]
    pub(crate) if_idle: bool,

    /// Become the owner without starting the task
    #[arg(long)]
    pub(crate) reserve: bool,

    /// How long the lease lasts without a sign of life
    #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
    pub(crate) ttl: Option<Duration>,

    /// The lease lasts as long as this process
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,

    /// Your role; tasks may be for one role only
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,
}

impl Claim {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let yard = if self.which.dry_run { yard.rehearsing() } else { yard };
        let claim = self.terms(context)?;
        let only = self.which.only_one().filter(|_| !self.which.keep_going);
        if !self.next && only.is_none() {
            return claim_several(&self.which, &claim, &yard, context, output);
        }
        let outcome = match only {
            Some(id) => yard.claim(id, &claim)?,
            None if self.wait => {
                let until = self.timeout.map(|timeout| Instant::now() + timeout);
                let mut alarm = Alarm::set(&yard)?;
                let handle = alarm.handle();
                let _stopped = context.cancel().on_cancel(move || handle.stop());
                yard.claim_next_in_time(&claim, &mut alarm, until)?
            }
            None => yard.claim_next(&claim)?,
        };
        match outcome {
            ClaimOutcome::Claimed(claimed) if self.which.dry_run => {
                tell_rehearsal("Would claim", &[&claimed.task], &[], output)
            }
            ClaimOutcome::Claimed(claimed) => {
                context.note_write(yard.list_id());
                won(&claimed, output)
            }
            ClaimOutcome::Refused { .. } if self.wait && context.cancel().is_cancelled() => {
                Err(taskyard::Error::Cancelled.into())
            }
            ClaimOutcome::Refused { refusal, task } => {
                let claim_lost = yard.explain_lost_claim(&claim, refusal, task)?;
                if !claim_lost.also_held.is_empty() && !output.is_json() {
                    output.warn(&held_already(yard.actor(), &claim_lost.also_held))?;
                }
                lost(only, &claim_lost, &yard, output)
            }
        }
    }

    fn terms(&self, context: &Context) -> Result<operations::Claim, Problem> {
        let config = context.config()?;
        // In the client's shell a lease lasts as long as the client, unless the caller says how long.
        let holder = match (self.pid, self.ttl) {
            (Some(pid), _) => Some(process(pid)?),
            (None, Some(_)) => None,
            (None, None) => context.client_holder()?,
        };
        let mut roles = self.roles.clone();
        roles.extend(config.roles(&context.actor()?).iter().cloned());
        // A caller that names a process wants the lease to last as long as that process, unless it gives a time as
        // well.
        let ttl = if holder.is_some() { self.ttl } else { self.ttl.or(config.lease()).or(Some(DEFAULT_LEASE)) };
        Ok(operations::Claim {
            roles,
            limit: context.claim_limit()?,
            only_when_idle: self.if_idle,
            reserve: self.reserve,
            ttl,
            holder,
            client: context.client_process().cloned(),
            resuming: context.resuming(),
            query: context.where_query(&self.which)?.filter(|_| self.next).unwrap_or_default(),
            ..operations::Claim::default()
        })
    }
}

fn process(pid: u32) -> Result<Holder, Problem> {
    let mark = mark_of(pid).ok_or_else(|| {
        Problem::usage("no_process", format!("there is no process {pid} on this machine"))
            .hint("a lease can only live with a process that runs")
    })?;
    Ok(Holder::Process(mark))
}

fn won(claimed: &Claimed, output: &mut Output) -> Result<Exit, Problem> {
    let Claimed { task, lease, is_resumed, why, also_held, is_of_run, .. } = claimed;
    if output.is_json() {
        output.document(ClaimWon::from(claimed))?;
        return Ok(Exit::Done);
    }
    if output.is_quiet() {
        output.line(&Line::plain(task.id.as_str()))?;
        return Ok(Exit::Done);
    }
    let verb = match (is_of_run, is_resumed) {
        (true, _) => "This run is for",
        (false, true) => "Resumed",
        (false, false) => "Claimed",
    };
    let mut line = did(verb, task);
    if let Some(why) = why.as_deref().filter(|_| !is_resumed) {
        line.push(Tone::Dim, &format!(" ({why})"));
    }
    output.say(&line)?;
    let until = output.look().lease(lease, &LeaseState::Live);
    let terms = format!("  as {}, token {}, yours {until}", lease.agent, lease.token);
    output.say(&Line::new().with(Tone::Dim, &terms))?;
    if !also_held.is_empty() {
        output.warn(&held_already(&lease.agent, also_held))?;
    }
    output.lines(&task_text(task, &output.look()))?;
    let flag = output.list_flag();
    output.advise(&format!("when it is done: `taskyard done {} --token {}{flag}`", task.id, lease.token))?;
    Ok(Exit::Done)
}

/// Says what a name holds that the agent was not given.
fn held_already(agent: &AgentName, held: &[TaskId]) -> String {
    let held_ids = numbered(held);
    format!(
        "{agent} already holds {held_ids}, perhaps for another who gave no name: --as tells you apart; `taskyard claim ID` goes on with one"
    )
}
