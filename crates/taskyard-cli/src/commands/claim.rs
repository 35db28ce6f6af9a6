//! `taskyard claim`, `renew` and `release`

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use taskyard::answers::renewed;
use taskyard::config::NoticeKind;
use taskyard::core::answers::claim_answers::{ClaimWon, Released, ReleasedTogether};
use taskyard::core::render::{Line, Tone, numbered, task_text};
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, Holder, Task, TaskId, Token, answers};
use taskyard::lease_watch::Alarm;
use taskyard::liveness::mark_of;
use taskyard::operations::{Claimed, DEFAULT_LEASE, Departed, Departure, Possible};
use taskyard::{Outcome, operations};

use super::claim_several::claim_several;
use super::several::{none_is_like_that, tell_rehearsal};
use super::worktree_of_task::{give_worktree, show_worktree};
use crate::arguments::{LeaseFlags, NotifyFlag, WhichTasks, parse_agent, parse_id, parse_lifetime, parse_pause};
use crate::context::Context;
use crate::displays::{did, exit_of_refused, given_back, lost, tell_refused};
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Claim tasks, so that no one else can take them while the lease lasts
///
/// Several tasks are claimed in one revision, all or none.
///
/// The lease lasts for --ttl (an hour by default) and is renewed by every command of the agent; with --pid it lasts as
/// long as that process runs. When it ends, the task is released. The token proves the lease: pass it to `done`,
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

    /// Wait until a task is ready
    #[arg(long, requires = "next", conflicts_with = "ids")]
    pub(crate) wait: bool,

    /// The longest time to wait (`90s`, `10m`)
    #[arg(long, value_name = "DURATION", value_parser = parse_pause, requires = "wait")]
    pub(crate) timeout: Option<Duration>,

    /// Only if you have no other open task
    #[arg(long)]
    pub(crate) if_idle: bool,

    /// Become the owner without starting the task
    #[arg(long)]
    pub(crate) reserve: bool,

    /// How long the lease lasts without any activity
    #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
    pub(crate) ttl: Option<Duration>,

    /// Keep the lease as long as this process runs
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Option<u32>,

    /// Make a git worktree and a branch for the task, and print the path; an existing worktree of the task is reused
    #[arg(long, conflicts_with_all = ["keep_going", "dry_run", "reserve"])]
    pub(crate) worktree: bool,

    /// Your role; a task can be restricted to a role
    #[arg(long = "role", value_name = "ROLE")]
    pub(crate) roles: Vec<String>,

    #[command(flatten)]
    pub(crate) notify: NotifyFlag,
}

impl Claim {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let yard = if self.which.dry_run { yard.rehearsing() } else { yard };
        let claim = self.terms(context)?;
        if self.worktree {
            // Fail before claiming if there is no repository.
            context.repository()?;
        }
        let only = self.which.only_one().filter(|_| !self.which.keep_going);
        if !self.next && only.is_none() {
            if self.worktree {
                return Err(Problem::usage("one_task", "--worktree is for one task"));
            }
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
            Outcome::Done(claimed) if self.which.dry_run => {
                tell_rehearsal("Would claim", &[&claimed.task], &[], output)
            }
            Outcome::Done(claimed) => {
                context.note_write(yard.list_id());
                if let Some(notifier) = context.notifier(self.notify)? {
                    let title = format!("{} has #{}", yard.actor(), claimed.task.id);
                    notifier.notify(NoticeKind::Claim, &title, &claimed.task.shown_subject());
                }
                if !self.worktree {
                    return won(&claimed, output);
                }
                let yard = yard.proving(claimed.lease.token);
                let tree = give_worktree(&yard, &claimed.task, context)?;
                let claimed = Claimed { task: context.task(&yard, &claimed.task.id)?, ..claimed };
                won(&claimed, output)?;
                show_worktree(&tree, output)
            }
            Outcome::Refused(_) if self.wait && context.cancel().is_cancelled() => {
                Err(taskyard::Error::Cancelled.into())
            }
            Outcome::Refused(refusal) => {
                let refusal = yard.explained(refusal, &claim)?;
                if let Refusal::Claim(lost) = &refusal
                    && !lost.also_held.is_empty()
                    && !output.is_json()
                {
                    output.warn(&held_already(yard.actor(), &lost.also_held))?;
                }
                lost(refusal, &yard, output)
            }
        }
    }

    fn terms(&self, context: &Context) -> Result<operations::Claim, Problem> {
        let config = context.config()?;
        // In the client's shell, a lease lives as long as the client unless the caller gives a lifetime.
        let holder = match (self.pid, self.ttl) {
            (Some(pid), _) => Some(process(pid)?),
            (None, Some(_)) => None,
            (None, None) => context.client_holder()?,
        };
        let mut roles = self.roles.clone();
        roles.extend(config.roles(&context.actor()?).iter().cloned());
        // A caller that names a process wants the lease to live as long as that process, unless it gives a lifetime
        // as well.
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
            .hint("a lease can be bound to a running process only")
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

/// Describes the tasks that a name already holds but that were not given to the agent.
fn held_already(agent: &AgentName, held: &[TaskId]) -> String {
    let held_ids = numbered(held);
    format!(
        "{agent} already holds {held_ids}, possibly for another agent without a name: give each a name with --as; to \
         continue a task, `taskyard claim ID`"
    )
}

/// Renew the lease on a task
///
/// Every command of an agent renews its leases; use this for long work without any command.
#[derive(Debug, Args)]
pub(crate) struct Renew {
    /// The task
    #[arg(value_name = "ID", value_parser = parse_id)]
    pub(crate) id: TaskId,

    /// The token of the lease
    #[arg(long, value_name = "N")]
    pub(crate) token: u64,

    /// How long the lease lasts from now on
    #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
    pub(crate) ttl: Option<Duration>,
}

impl Renew {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let (task, lease) = yard.renew(&self.id, Token(self.token), self.ttl)?.done()?;
        context.note_write(yard.list_id());
        if output.is_json() {
            output.document(renewed(&task, &lease))?;
        } else {
            let mut line = did("Renewed", &task);
            line.push(Tone::Dim, &format!(", yours {}", output.look().lease(&lease, &yard.judge(&lease)?)));
            output.say(&line)?;
        }
        Ok(Exit::Done)
    }
}

/// Release tasks, or all tasks of an agent
///
/// They become pending and lose their owner; all of them in one revision, or none. With --agent, all unfinished tasks
/// of that agent are released in one revision; `bob` and `bob@team` are one agent.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Release {
    #[command(flatten)]
    pub(crate) which: WhichTasks,

    /// The agent whose tasks are released
    #[arg(long = "agent", value_name = "AGENT", value_parser = parse_agent, group = "which")]
    pub(crate) departed: Option<AgentName>,

    /// Why the agent ended
    #[arg(long, value_name = "REASON", requires = "departed", conflicts_with = "ids", default_value = "shutdown")]
    pub(crate) reason: Reason,

    #[command(flatten)]
    pub(crate) lease: LeaseFlags,
}

/// Why an agent is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reason {
    /// It ended by itself
    Shutdown,
    /// It was ended
    Terminated,
}

impl Release {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = self.lease.on(context.yard()?);
        if let Some(agent) = &self.departed {
            let departure = match self.reason {
                Reason::Shutdown => Departure::Shutdown,
                Reason::Terminated => Departure::Terminated,
            };
            if self.which.dry_run {
                let left = yard.rehearsing().depart(agent, departure)?;
                return tell_rehearsal("Would release", &left.tasks.iter().collect::<Vec<_>>(), &[], output);
            }
            return departed(agent, &yard.depart(agent, departure)?, output);
        }
        let ids = context.ids_of(&self.which, &yard)?;
        if ids.is_empty() {
            return none_is_like_that(output);
        }
        let yard = if self.which.dry_run { yard.rehearsing() } else { yard };
        let released = match self.which.keep_going {
            true => yard.release_possible(&ids)?,
            false => Possible { done: yard.release_together(&ids)?.done()?, refused: Vec::new() },
        };
        if self.which.dry_run {
            let tasks: Vec<&Task> = released.done.iter().map(|released| &released.task).collect();
            return tell_rehearsal("Would release", &tasks, &released.refused, output);
        }
        if output.is_json() {
            match (self.which.only_one(), released.done.as_slice()) {
                (Some(_), [one]) => output.document(Released::from(one))?,
                _ => output.document(ReleasedTogether::from(&released))?,
            }
            return Ok(exit_of_refused(&released.refused));
        }
        for released in &released.done {
            output.say(&did(if released.revision.is_some() { "Released" } else { "Nobody had" }, &released.task))?;
        }
        tell_refused(&released.refused, output)?;
        Ok(exit_of_refused(&released.refused))
    }
}

fn departed(agent: &AgentName, departed: &Departed, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(answers::claim_answers::Departed::from(departed))?;
    } else {
        given_back(agent, departed).iter().try_for_each(|line| output.say(line))?;
    }
    Ok(Exit::Done)
}
