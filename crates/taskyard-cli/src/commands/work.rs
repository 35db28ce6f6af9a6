//! `taskyard work`

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{io, panic, thread};

use clap::Args;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use taskyard::Yard;
use taskyard::core::answers::answer_values::Ids;
use taskyard::core::render::{Line, Tone, numbered};
use taskyard::core::{AgentName, Holder, Task, TaskId, answers};
use taskyard::jobs::JobSettings;
use taskyard::liveness::own_mark;
use taskyard::operations::{DEFAULT_LEASE, Departure, Gone};
use taskyard::process::Stop;
use taskyard::teams::{NewMember, Presence};
use taskyard_jobs::notify::Notifier;
use taskyard_jobs::work::{
    Ended, MergeOrder, Order, WorkError, WorkEvent, WorkListener, WorkReport, Worker, WorktreeOrder,
};
use taskyard_jobs::worktrees::Method;
use taskyard_jobs::{Jobs, processes};

use super::several::tell_rehearsal;
use crate::arguments::{NotifyFlag, parse_lifetime, parse_pause};
use crate::context::Context;
use crate::displays::notices::notify_of_work;
use crate::displays::{taken_out, tell_of_loss};
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::{Output, QuietControlKeys};
use crate::repository::git_failed;

/// Run a command for each ready task until none are left
///
/// Takes the best task that is ready, runs CMD with the task as JSON on stdin and in TASKYARD_TASK_ID,
/// TASKYARD_TASK_SUBJECT, TASKYARD_TASK_DESCRIPTION, TASKYARD_TASK_TOKEN and others, and completes the task when CMD
/// exits with 0. Otherwise the task is released with the reason in its notes, and is tried again.
///
/// The leases end with this process, however it ends, so its tasks are released immediately. Ctrl-C claims no more
/// tasks, ends the commands and releases their tasks; a second Ctrl-C kills them.
///
/// With --worktree every attempt gets its own git worktree, and with --merge the finished branches are merged into the
/// branch that is checked out here, one at a time: see docs/worktrees.md.
///
/// Exits with 0 if everything it claimed was completed, and with 3 if a task was given up or lost.
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// How many to run at the same time; the workers are called NAME-1, NAME-2 and so on
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,

    /// How often a failed task is retried
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u64,

    /// The longest time CMD may take for a task; then it is ended with everything it started, and the attempt counts as
    /// failed
    #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
    timeout: Option<Duration>,

    /// The maximum cost of an attempt in dollars, passed to CMD as its own limit: `claude -p` has one
    /// (--max-budget-usd)
    #[arg(long, value_name = "DOLLARS", value_parser = parse_budget)]
    budget: Option<String>,

    /// Wait for new work when no task is ready, until stopped
    #[arg(long)]
    wait: bool,

    /// How long the lease on a task outlives a process that is suspended
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    ttl: Option<Duration>,

    /// The role of the workers; a task can be restricted to a role
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,

    /// Work as members of this team, on its list, until asked to shut down; messages are passed in TASKYARD_MESSAGES,
    /// and CMD also runs for messages alone if no task is ready
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Only tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,

    /// Run CMD in a git worktree and on a branch of its own for each attempt
    #[arg(long)]
    worktree: bool,

    #[command(flatten)]
    merging: MergeFlags,

    /// Do not commit: the worktree stays as CMD left it, and the task waits until a person commits and approves it
    #[arg(long, requires = "worktree", conflicts_with = "merge")]
    no_commit: bool,

    /// Continue in the worktree of the last failed attempt
    #[arg(long = "continue", requires = "worktree")]
    continues: bool,

    /// Show the ready tasks, best first, without running anything
    #[arg(long, conflicts_with = "team")]
    dry_run: bool,

    #[command(flatten)]
    notify: NotifyFlag,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", num_args = 1..)]
    command: Vec<String>,
}

/// How finished branches come into the base.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct MergeFlags {
    /// Merge finished branches into the branch that is checked out here, one at a time; a task is completed when its
    /// branch is merged
    #[arg(long, requires = "worktree")]
    pub(crate) merge: bool,

    /// A shell command that must exit with 0 on every merged state before the base moves to it
    #[arg(long, value_name = "CMD", requires = "merge")]
    pub(crate) check: Option<String>,

    /// Merge each branch as one commit
    #[arg(long, requires = "merge", conflicts_with = "rebase")]
    pub(crate) squash: bool,

    /// Replay the commits of each branch on the base
    #[arg(long, requires = "merge")]
    pub(crate) rebase: bool,

    /// Merge into the branch of this remote, by pushing: for several machines that share a list
    #[arg(long, value_name = "REMOTE", requires = "merge")]
    pub(crate) push: Option<String>,
}

impl MergeFlags {
    fn order(&self) -> Option<MergeOrder> {
        let method = match (self.squash, self.rebase) {
            (true, _) => Method::Squash,
            (_, true) => Method::Rebase,
            _ => Method::Merge,
        };
        self.merge.then(|| MergeOrder { method, check: self.check.clone() })
    }
}

/// Number of lines buffered for display before the commands that write them must wait.
const BACKLOG: usize = 1024;
/// Minimum lifetime of a lease, within which it must be renewed.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// Messages from the worker threads.
enum CrewNews {
    Event(WorkEvent),
    Over(thread::Result<Result<WorkReport, WorkError>>),
}

impl Work {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let order = self.order(context)?;
        let notifier = context.notifier(self.notify)?;
        if self.dry_run {
            let yard = context.yard()?;
            let chosen: HashSet<TaskId> = yard.chosen(&order.query)?.into_iter().map(|task| task.id).collect();
            let ready = yard.ready(None)?.ranked;
            let tasks = ready.iter().map(|ranked| &ranked.task).filter(|task| chosen.contains(&task.id));
            return tell_rehearsal("Would work on", &tasks.collect::<Vec<_>>(), &[], output);
        }
        let yard = match &self.team {
            Some(team) => join(team, &order, context, output)?,
            None => context.yard()?,
        };
        let yard = yard.lasting();
        let (after, workers) = (yard.clone(), order.workers.clone());
        let stop = Stop::new();
        let _caretaker = context.caretaker();
        processes::stop_in_steps(stop.clone());
        let (tell, hear) = mpsc::sync_channel(BACKLOG);
        let listener: WorkListener = {
            let tell = tell.clone();
            // After we end, nothing reads the output of commands.
            Arc::new(move |event| drop(tell.send(CrewNews::Event(event))))
        };
        let work = {
            let stop = stop.clone();
            move || {
                let result =
                    panic::catch_unwind(AssertUnwindSafe(|| taskyard_jobs::work::work(&yard, order, &stop, listener)));
                let _ = tell.send(CrewNews::Over(result));
            }
        };
        let foreman = thread::Builder::new().name("foreman".into()).spawn(work);
        foreman.map_err(|error| {
            Problem::new(ProblemKind::CouldNot, "no_thread", format!("cannot start a thread: {error}"))
        })?;
        let (result, shown) = follow(&hear, (&stop, notifier.as_ref()), output);
        let result = result.unwrap_or_else(|why| panic::resume_unwind(why));
        if self.team.is_some() {
            leave(&after, &workers)?;
        }
        after.end_signs();
        shown?;
        let report = result?;
        let gone = after.gone()?;
        if !output.is_json() {
            tell_of_loss(gone.as_ref(), &after, output)?;
        }
        conclude(&report, gone.as_ref(), output)
    }

    /// Returns the base name of the workers. They must not continue a person's own tasks, so an unnamed actor gets a
    /// suffix.
    fn name(&self, context: &Context) -> Result<AgentName, Problem> {
        let actor = context.actor()?;
        Ok(match context.named_agent() {
            Some(_) => actor,
            None => AgentName::new(format!("{actor}-work")).unwrap_or(actor),
        })
    }

    fn order(&self, context: &Context) -> Result<Order, Problem> {
        context.let_children_in()?;
        let config = context.config()?;
        let ttl = self.ttl.or(config.lease()).unwrap_or(DEFAULT_LEASE);
        if ttl < SHORTEST_LEASE {
            return Err(Problem::usage("bad_ttl", "a lease must last at least 100 ms"));
        }
        let actor = self.name(context)?;
        let worker = |name: AgentName| {
            let mut roles = self.roles.clone();
            roles.extend(config.roles(&actor).iter().cloned());
            if name != actor {
                roles.extend(config.roles(&name).iter().cloned());
            }
            Worker { name, roles }
        };
        let workers = match self.jobs {
            1 => vec![worker(actor.clone())],
            jobs => {
                (1..=jobs).filter_map(|number| AgentName::new(format!("{actor}-{number}")).ok()).map(worker).collect()
            }
        };
        let (program, arguments) =
            self.command.split_first().map(|(first, rest)| (first.clone(), rest)).unwrap_or_default();
        let limit = self.budget.as_deref().map(|budget| budget_words(&program, arguments, budget)).transpose()?;
        Ok(Order {
            program,
            arguments: limit.into_iter().flatten().chain(arguments.iter().cloned()).collect(),
            directory: context.directory()?.to_owned(),
            store_address: context.address()?.to_string(),
            jobs: Jobs::new(context.job_options(JobSettings::default())?),
            workers,
            limit: config.claim_limit(),
            resuming: context.resuming(),
            query: context.query_of(self.query.as_slice())?,
            ttl,
            retries: self.retries,
            time_limit: self.timeout,
            waits: self.wait,
            in_team: self.team.is_some(),
            worktrees: self.worktrees(context)?,
        })
    }

    fn worktrees(&self, context: &Context) -> Result<Option<WorktreeOrder>, Problem> {
        if !self.worktree || self.dry_run {
            return Ok(None);
        }
        let repository = context.repository()?.with_remote(self.merging.push.clone());
        Ok(Some(WorktreeOrder {
            repository: repository.with_hooks_as_they_are().map_err(git_failed)?,
            provisions: context.provisions()?,
            merging: self.merging.order(),
            commits: !self.no_commit,
            review: context.config()?.work_review(),
            continues: self.continues,
        }))
    }
}

/// Parses an amount of money and returns it as written.
fn parse_budget(text: &str) -> Result<String, String> {
    let is_amount = text.parse().is_ok_and(|amount: f64| amount.is_finite() && amount > 0.0);
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_amount && is_plain {
        return Ok(text.to_owned());
    }
    Err(format!("invalid amount `{}`: expected dollars, such as 5 or 0.50", text.escape_debug()))
}

/// Claude Code's flag for a spending limit, effective in print mode only.
const CLIENTS_BUDGET: &str = "--max-budget-usd";

/// Returns the arguments that limit what a command spends.
fn budget_words(program: &str, arguments: &[String], budget: &str) -> Result<[String; 2], Problem> {
    let is_client = Path::new(program).file_name().is_some_and(|name| name == "claude");
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.split('=').next().unwrap_or_default()));
    if !is_client {
        let message = format!("`{}` has no option for a cost limit", program.escape_debug());
        return Err(Problem::usage("no_budget", message).hint("leave out --budget, or run `claude -p`"));
    }
    if has(&[CLIENTS_BUDGET]) {
        let message = format!("the command sets `{CLIENTS_BUDGET}` itself");
        return Err(Problem::usage("no_budget", message).hint("leave out one of the two"));
    }
    if !has(&["-p", "--print"]) {
        let message = "Claude Code limits its costs in print mode only";
        return Err(Problem::usage("no_budget", message).hint("add `-p` to the command"));
    }
    Ok([CLIENTS_BUDGET.to_owned(), budget.to_owned()])
}

/// Adds the workers to a team, each living with this process, and returns the yard of its list.
fn join(team: &str, order: &Order, context: &Context, output: &mut Output) -> Result<Yard, Problem> {
    let teams = context.teams()?;
    let mut team = teams.find(team)?.done()?;
    let list = teams.list_of(&team.name)?;
    let yard = context.yard()?.on(list).with_teams(Arc::clone(&teams));
    for ghost in yard.prune_team(&teams, &team)? {
        output.warn(&taken_out(&ghost))?;
        team.members.retain(|member| member.name != ghost.name);
    }
    for worker in &order.workers {
        let new = NewMember {
            agent: worker.name.clone(),
            agent_type: Some(order.program.clone()),
            model: None,
            plan_mode_required: context.environment().plan_mode_required == Some(true),
            presence: Presence::Held(Holder::Process(own_mark())),
            backend: None,
        };
        team = teams.join(&team, &new)?.done()?.team;
    }
    Ok(yard)
}

/// Removes the workers that have not left yet.
fn leave(yard: &Yard, workers: &[Worker]) -> Result<(), Problem> {
    let Some(teams) = yard.teams() else { return Ok(()) };
    for worker in workers {
        if let Some(seat) = teams.only_seat(&worker.name)? {
            yard.leave_team(teams, &seat, Departure::Shutdown)?.done()?;
        }
    }
    Ok(())
}

/// Shows events until the work ends. Stops the work if the reader of stdout is gone.
fn follow(
    hear: &Receiver<CrewNews>,
    (stop, notifier): (&Stop, Option<&Notifier>),
    output: &mut Output,
) -> (thread::Result<Result<WorkReport, WorkError>>, Result<(), Problem>) {
    let mut display = WorkDisplay::on(output);
    let mut shown = Ok(());
    loop {
        match hear.recv() {
            Ok(CrewNews::Event(event)) if shown.is_ok() => {
                notifier.iter().for_each(|notifier| notify_of_work(notifier, &event));
                shown = display.show(&event).map_err(Problem::from);
                if shown.is_err() {
                    stop.ask();
                }
            }
            Ok(CrewNews::Event(_)) => {}
            Ok(CrewNews::Over(result)) => {
                display.finish();
                return (result, shown);
            }
            Err(error) => return (Err(Box::new(error)), shown),
        }
    }
}

fn conclude(report: &WorkReport, gone: Option<&Gone>, output: &mut Output) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(answers::task_answers::WorkReport {
            completed: Ids(&report.completed),
            returned: Ids(&report.returned),
            gave_up: Ids(&report.gave_up),
            interrupted: Ids(&report.interrupted),
            in_review: Ids(&report.in_review),
            lost: Ids(&report.lost),
            passed_over: Ids(&report.passed_over),
            left_behind: Ids(&report.left_behind),
            stopped: report.was_stopped,
            gone: taskyard::answers::loss(gone),
        })?;
    } else {
        output.lines(&summary(report))?;
        if let Some(task) = report.gave_up.iter().chain(&report.passed_over).next() {
            let flag = output.list_flag();
            output.advise(&format!("to try it again: `taskyard retry {task}{flag}`"))?;
        }
    }
    Ok(match report {
        report if report.was_stopped => Exit::Stopped,
        report if report.gave_up.is_empty() && report.returned.is_empty() && report.lost.is_empty() => Exit::Done,
        _ => Exit::Refused,
    })
}

/// Interval of a busy worker's spinner.
const TICK: Duration = Duration::from_millis(120);

/// Shows events: on a terminal with a live line for each busy worker, otherwise line by line.
pub(crate) struct WorkDisplay<'a> {
    output: &'a mut Output,
    live: Option<Live>,
}

/// The live lines of busy workers.
struct Live {
    _quiet: QuietControlKeys,
    all: MultiProgress,
    busy: HashMap<AgentName, ProgressBar>,
    style: ProgressStyle,
}

impl<'a> WorkDisplay<'a> {
    pub(crate) fn on(output: &'a mut Output) -> Self {
        let is_watched = output.is_terminal() && !output.is_quiet();
        // A terminal that cannot redraw lines gets plain ones.
        let live = is_watched.then(|| Live::new(output.look().unicode)).filter(|live| !live.all.is_hidden());
        Self { output, live }
    }

    /// Shows an event.
    pub(crate) fn show(&mut self, event: &WorkEvent) -> io::Result<()> {
        if let Some(live) = &mut self.live {
            live.follow(event);
        }
        if self.output.is_quiet() {
            return Ok(());
        }
        match event {
            WorkEvent::Warning(warning) => return self.warn(&warning.to_string()),
            WorkEvent::NotUpdated(refusal) => {
                return self.warn(&format!("not completed as a hook requested: {refusal}"));
            }
            _ => {}
        }
        let Some(line) = self.line(event) else { return Ok(()) };
        if self.output.is_json() {
            // The answer is one object; the output of commands is for people and goes to stderr.
            return if matches!(event, WorkEvent::OutputLine { .. }) { self.output.aside(&line) } else { Ok(()) };
        }
        match &self.live {
            Some(live) => live.all.println(self.output.painted(&line)),
            None => {
                self.output.line(&line)?;
                self.output.flush()
            }
        }
    }

    /// Removes the live lines.
    pub(crate) fn finish(self) {
        if let Some(live) = self.live {
            // The terminal may be gone.
            let _ = live.all.clear();
        }
    }

    fn warn(&mut self, text: &str) -> io::Result<()> {
        match &self.live {
            // On stderr, it would disrupt the live lines.
            Some(live) => {
                let line = Line::new().with(Tone::Warning, "warning: ").with(Tone::Plain, text);
                live.all.println(self.output.painted(&line))
            }
            None => self.output.warn(text),
        }
    }

    fn line(&self, event: &WorkEvent) -> Option<Line> {
        let look = self.output.look();
        let is_terminal = self.output.is_terminal();
        let verb = |mark: (Tone, &'static str, &'static str), word: &str| match is_terminal {
            true => Line::new().with(mark.0, look.either(mark.1, mark.2)).with(Tone::Plain, " "),
            false => Line::plain(&format!("{word} ")),
        };
        let (good, bad, back) = ((Tone::Done, "✔", "[x]"), (Tone::Error, "✘", "[!]"), (Tone::Warning, "↩", "[<]"));
        Some(match event {
            WorkEvent::Started { .. } if self.live.is_some() => return None,
            WorkEvent::Started { task, attempt, is_resumed, .. } => {
                let mut line = naming(Line::plain("started "), task);
                if *attempt > 1 {
                    line.push(Tone::Dim, &format!(" (attempt {attempt})"));
                }
                if *is_resumed {
                    line.push(Tone::Dim, " (resumed)");
                }
                line
            }
            WorkEvent::OutputLine { about, line } => {
                let bar = if is_terminal { look.either(" │ ", " | ") } else { " | " };
                Line::new().with(Tone::Dim, &format!("{about}{bar}")).with(Tone::Plain, line)
            }
            WorkEvent::Attending { .. } if self.live.is_some() => return None,
            WorkEvent::Attending { worker, messages } => {
                Line::plain("started ").with(Tone::Owner, worker.as_str()).with(Tone::Plain, &on(*messages))
            }
            WorkEvent::Attended { worker, messages, failure: None } => {
                verb(good, "done").with(Tone::Owner, worker.as_str()).with(Tone::Plain, &on(*messages))
            }
            WorkEvent::Attended { worker, messages, failure: Some(failure) } => verb(back, "returned")
                .with(Tone::Owner, worker.as_str())
                .with(Tone::Plain, &format!("{}: {failure}", on(*messages))),
            WorkEvent::Completed(ended) => {
                naming(verb(good, "done"), &ended.task).with(Tone::Dim, &format!(" ({})", span(ended.took)))
            }
            WorkEvent::Returned(ended, failure) => failed(verb(back, "returned"), ended, &failure.to_string()),
            WorkEvent::GaveUp(ended, failure) => failed(verb(bad, "gave up"), ended, &failure.to_string()),
            WorkEvent::Interrupted(ended) => {
                naming(verb(back, "returned"), &ended.task).with(Tone::Plain, ": interrupted")
            }
            WorkEvent::Lost(ended, loss) => {
                naming(verb(bad, "lost"), &ended.task).with(Tone::Plain, &format!(": {loss}"))
            }
            WorkEvent::Merging { task, branch, base } => {
                naming(Line::plain("merging "), task).with(Tone::Dim, &format!(" ({branch} into {base})"))
            }
            WorkEvent::MergeWaits { task, reason } => {
                naming(verb((Tone::Warning, "…", "..."), "waiting"), task).with(Tone::Plain, &format!(": {reason}"))
            }
            WorkEvent::InReview(ended) => {
                naming(verb(back, "to review"), &ended.task).with(Tone::Dim, &format!(" ({})", span(ended.took)))
            }
            WorkEvent::LeftBehind { run, task, .. } => naming(verb(back, "released"), task)
                .with(Tone::Plain, &format!(": left in progress by the run for #{run}")),
            WorkEvent::Left { worker } => {
                Line::plain("left the team as requested: ").with(Tone::Owner, worker.as_str())
            }
            _ => return None,
        })
    }
}

impl Live {
    fn new(unicode: bool) -> Self {
        let ticks = if unicode { "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ " } else { "|/-\\ " };
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner()).tick_chars(ticks);
        Self {
            _quiet: QuietControlKeys::on_stdin(),
            all: MultiProgress::with_draw_target(ProgressDrawTarget::stdout()),
            busy: HashMap::new(),
            style,
        }
    }

    fn rest(&mut self, worker: &AgentName) {
        if let Some(bar) = self.busy.remove(worker) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    fn follow(&mut self, event: &WorkEvent) {
        match event {
            WorkEvent::Started { worker, task, .. } => {
                let bar = self.all.add(ProgressBar::new_spinner().with_style(self.style.clone()));
                let form = task.active_form.as_deref().filter(|form| !form.trim().is_empty());
                let what = form.map_or_else(|| task.shown_subject(), Cow::Borrowed);
                bar.set_message(Line::plain(&format!("#{} {what}", task.shown_id())).to_string());
                bar.enable_steady_tick(TICK);
                self.busy.insert(worker.clone(), bar);
            }
            WorkEvent::Attending { worker, messages } => {
                let bar = self.all.add(ProgressBar::new_spinner().with_style(self.style.clone()));
                bar.set_message(Line::plain(&format!("{worker}{}", on(*messages))).to_string());
                bar.enable_steady_tick(TICK);
                self.busy.insert(worker.clone(), bar);
            }
            WorkEvent::Completed(ended)
            | WorkEvent::Returned(ended, _)
            | WorkEvent::GaveUp(ended, _)
            | WorkEvent::Interrupted(ended)
            | WorkEvent::InReview(ended)
            | WorkEvent::Lost(ended, _) => self.rest(&ended.worker),
            WorkEvent::Attended { worker, .. } => self.rest(worker),
            _ => {}
        }
    }
}

fn on(messages: usize) -> String {
    if messages == 1 { " on a message".to_owned() } else { format!(" on {messages} messages") }
}

/// Returns a summary of the results, and of what was skipped.
pub(crate) fn summary(report: &WorkReport) -> Vec<Line> {
    let mut parts = Vec::new();
    if !report.completed.is_empty() {
        parts.push(format!("{} completed", report.completed.len()));
    }
    let mut name = |tasks: &[TaskId], what: &str| {
        if !tasks.is_empty() {
            parts.push(format!("{} {what} ({})", tasks.len(), numbered(tasks)));
        }
    };
    name(&report.returned, "returned");
    name(&report.gave_up, "given up");
    name(&report.in_review, "to review");
    name(&report.lost, "lost");
    name(&report.interrupted, "interrupted");
    name(&report.left_behind, "released");
    let mut lines = vec![match parts.is_empty() {
        true => Line::plain("nothing was ready"),
        false => Line::plain(&parts.join(", ")),
    }];
    if !report.passed_over.is_empty() {
        let tasks = numbered(&report.passed_over);
        lines.push(Line::plain(&format!("skipped {tasks}: failed too often before")));
    }
    lines
}

fn failed(verb: Line, ended: &Ended, reason: &str) -> Line {
    let attempts = format!(" (attempt {} of {})", ended.attempt, ended.most_attempts);
    naming(verb, &ended.task).with(Tone::Plain, &format!(": {reason}")).with(Tone::Dim, &attempts)
}

fn naming(line: Line, task: &Task) -> Line {
    line.with(Tone::Id, &format!("#{}", task.shown_id())).with(Tone::Plain, &format!(" {}", task.shown_subject()))
}

/// Formats a duration.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::span;

    #[test]
    fn a_span_is_told_in_fitting_units() {
        for (milliseconds, told) in [(40, "0.0 s"), (3_240, "3.2 s"), (61_000, "1 min 1 s"), (7_260_000, "2 h 1 min")] {
            assert_eq!(span(Duration::from_millis(milliseconds)), told);
        }
    }
}
