//! `taskyard work`

use std::collections::HashSet;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use clap::Args;
use taskyard::Yard;
use taskyard::core::answers::values::Ids;
use taskyard::core::{AgentName, Holder, TaskId, answers};
use taskyard::jobs::JobSettings;
use taskyard::liveness::own_mark;
use taskyard::operations::{DEFAULT_LEASE, Departure, Gone};
use taskyard::process::Stop;
use taskyard::teams::{NewMember, Presence};
use taskyard_jobs::Jobs;
use taskyard_jobs::work::{Order, WorkError, WorkEvent, WorkListener, WorkReport, Worker};

use super::several::tell_rehearsal;
use crate::arguments::{parse_lifetime, parse_pause};
use crate::context::Context;
use crate::displays::departures::taken_out;
use crate::displays::lost_tasks::tell_of_loss;
use crate::displays::work_progress::{WorkDisplay, summary};
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};
use taskyard_jobs::signals;

/// Run a command for every task, until nothing is left that is ready
///
/// Takes the best task that is ready, runs CMD with the task as JSON on stdin and in TASKYARD_TASK_ID, TASKYARD_TASK_SUBJECT,
/// TASKYARD_TASK_DESCRIPTION, TASKYARD_TASK_TOKEN and others, and completes the task when CMD exits with 0. Otherwise the task
/// goes back with the reason in its notes, and is tried again.
///
/// The leases end with this process, however it ends: its tasks are free again at once. Ctrl-C takes nothing more, ends
/// the commands and gives their tasks back; a second Ctrl-C kills them.
///
/// Exits with 0 when everything it took was completed, with 3 when something was given up or lost.
#[derive(Debug, Args)]
pub(crate) struct Work {
    /// How many to run at the same time; the workers are called NAME-1, NAME-2 and so on
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,

    /// How many more attempts a task gets that failed
    #[arg(long, value_name = "N", default_value_t = 2)]
    retries: u64,

    /// How long CMD may take for a task: it is then ended with everything it started, and the attempt has failed
    #[arg(long, value_name = "DURATION", value_parser = parse_lifetime)]
    timeout: Option<Duration>,

    /// How many dollars an attempt may cost, passed to CMD as a limit of its own: `claude -p` has one (--max-budget-usd)
    #[arg(long, value_name = "DOLLARS", value_parser = parse_budget)]
    budget: Option<String>,

    /// Wait for new work when nothing is left, until stopped
    #[arg(long)]
    wait: bool,

    /// How long the lease on a task outlives a process that is suspended
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    ttl: Option<Duration>,

    /// The role of the workers; tasks may be for one role only
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,

    /// Work as members of this team: on its list, with what is written to them in TASKYARD_MESSAGES, for messages alone where
    /// nothing is ready, until asked to end
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,

    /// Only tasks that match (see `taskyard list --help`)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,

    /// Show the tasks that are ready for it, best first, and run nothing
    #[arg(long, conflicts_with = "team")]
    dry_run: bool,

    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "CMD", num_args = 1..)]
    command: Vec<String>,
}

/// How many lines wait to be shown before the commands that write them have to wait.
const BACKLOG: usize = 1024;
/// The shortest time a lease can have: it must be renewed in it.
const SHORTEST_LEASE: Duration = Duration::from_millis(100);

/// What comes from the threads that work.
enum CrewNews {
    Event(WorkEvent),
    Over(thread::Result<Result<WorkReport, WorkError>>),
}

impl Work {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let order = self.order(context)?;
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
        signals::stop_in_steps(stop.clone());
        let (tell, hear) = mpsc::sync_channel(BACKLOG);
        let listener: WorkListener = {
            let tell = tell.clone();
            // Nothing reads what a command writes after we have gone.
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
        let (result, shown) = follow(&hear, &stop, output);
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

    /// Returns the name the workers are called by. A person's own tasks are not theirs to go on with.
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
            return Err(Problem::usage("bad_ttl", "a lease must live for 100 ms at least"));
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
        })
    }
}

/// Reads an amount of money, and returns it as it was written.
fn parse_budget(text: &str) -> Result<String, String> {
    let is_amount = text.parse().is_ok_and(|amount: f64| amount.is_finite() && amount > 0.0);
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_amount && is_plain {
        return Ok(text.to_owned());
    }
    Err(format!("invalid amount `{}`: expected dollars, such as 5 or 0.50", text.escape_debug()))
}

/// The flag by which Claude Code limits what it spends. It counts in print mode alone.
const CLIENTS_BUDGET: &str = "--max-budget-usd";

/// Returns the words that limit what a command spends.
fn budget_words(program: &str, arguments: &[String], budget: &str) -> Result<[String; 2], Problem> {
    let is_client = Path::new(program).file_name().is_some_and(|name| name == "claude");
    let has = |flags: &[&str]| arguments.iter().any(|word| flags.contains(&word.split('=').next().unwrap_or_default()));
    if !is_client {
        let message = format!("`{}` has no limit for costs that could be set", program.escape_debug());
        return Err(Problem::usage("no_budget", message).hint("leave --budget out, or run `claude -p`"));
    }
    if has(&[CLIENTS_BUDGET]) {
        let message = format!("the command sets `{CLIENTS_BUDGET}` itself");
        return Err(Problem::usage("no_budget", message).hint("leave one of the two out"));
    }
    if !has(&["-p", "--print"]) {
        let message = "Claude Code limits its costs in print mode alone";
        return Err(Problem::usage("no_budget", message).hint("add `-p` to the command"));
    }
    Ok([CLIENTS_BUDGET.to_owned(), budget.to_owned()])
}

/// Lets the workers into a team, each living with this process, and returns the yard on its list.
fn join(team: &str, order: &Order, context: &Context, output: &mut Output) -> Result<Yard, Problem> {
    let teams = context.teams()?;
    let mut team = teams.find(team)??;
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
        team = teams.join(&team, &new)??.team;
    }
    Ok(yard)
}

/// Lets those workers go that have not left yet.
fn leave(yard: &Yard, workers: &[Worker]) -> Result<(), Problem> {
    let Some(teams) = yard.teams() else { return Ok(()) };
    for worker in workers {
        if let Some(seat) = teams.only_seat(&worker.name)? {
            yard.leave_team(teams, &seat, Departure::Shutdown)??;
        }
    }
    Ok(())
}

/// Shows what happens until it is over. When the reader of our output is gone, the work is stopped.
fn follow(
    hear: &Receiver<CrewNews>,
    stop: &Stop,
    output: &mut Output,
) -> (thread::Result<Result<WorkReport, WorkError>>, Result<(), Problem>) {
    let mut display = WorkDisplay::on(output);
    let mut shown = Ok(());
    loop {
        match hear.recv() {
            Ok(CrewNews::Event(event)) if shown.is_ok() => {
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
        output.document(answers::tasks::WorkReport {
            completed: Ids(&report.completed),
            returned: Ids(&report.returned),
            gave_up: Ids(&report.gave_up),
            interrupted: Ids(&report.interrupted),
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
            output.advise(&format!("to have it tried again: `taskyard retry {task}{flag}`"))?;
        }
    }
    Ok(match report {
        report if report.was_stopped => Exit::Stopped,
        report if report.gave_up.is_empty() && report.returned.is_empty() && report.lost.is_empty() => Exit::Done,
        _ => Exit::Refused,
    })
}
