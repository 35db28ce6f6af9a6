//! `taskyard` alone, `stats`, `statusline` and `prime`

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use taskyard::Yard;
use taskyard::core::answers::answer_values::Shape;
use taskyard::core::render::escaping::one_line;
use taskyard::core::render::{Board, Line, Need, Overview, Tone, UnderWay, brief_lines, cut_text, run_line};
use taskyard::core::rules::claims::claiming::failed_attempts;
use taskyard::core::rules::looking::statistics::Estimate;
use taskyard::core::timing::span_in_words;
use taskyard::core::{Status, Task, TaskId, Timestamp, answers};
use taskyard::operations::{Filter, KnownPast, Listing, Summary, TimeSpent};

use crate::context::Context;
use crate::displays::tell_of_loss;
use crate::exit::{Exit, Problem};
use crate::output::{Output, with_commands};

/// Shows what is in progress, what is ready and what needs the user.
pub(crate) fn overview(context: &Context, output: &mut Output) -> Result<Exit, Problem> {
    context.do_without_newer();
    let yard = context.yard()?;
    let listing = yard.list(&Filter::default())?;
    if tell_of_loss(listing.gone.as_ref(), &yard, output)? {
        return Ok(Exit::Done);
    }
    let look = output.look();
    let now = look.now.unwrap_or_default();
    let needs = needs(context, &yard, &listing, now);
    let title = yard.list_id().as_str();
    if listing.counts.iter().sum::<usize>() == 0 && needs.is_empty() {
        output.say(&Line::plain("  ").with(Tone::Strong, title).with(Tone::Dim, "  no tasks yet"))?;
        output.advise("create one with `taskyard create \"Write the parser\"`")?;
        output.advise("see every command with `taskyard help`, and a short tour with `taskyard demo`")?;
        return Ok(Exit::Done);
    }
    let since = |task: &Task| {
        let lease = listing.leases.iter().find(|(lease, state)| lease.task == task.id && state.is_alive());
        lease.map(|(lease, _)| lease.taken)
    };
    let busy = listing.tasks.iter().filter(|task| task.status == Status::InProgress);
    let under_way: Vec<UnderWay> = busy.map(|task| UnderWay { since: since(task), task: task.clone() }).collect();
    let ready = yard.ready(None)?.ranked;
    let is_blocked = |task: &&Task| task.status == Status::Pending && listing.blockers.contains_key(&task.id);
    let overview = Overview {
        title,
        counts: listing.counts,
        blocked: listing.tasks.iter().filter(is_blocked).count(),
        deferred: listing.tasks.iter().filter(|task| task.is_deferred(now)).count(),
        needs: &needs,
        under_way: &under_way,
        ready: &ready,
    };
    output.lines(&overview.lines(output.rows(), &look))?;
    Ok(Exit::Done)
}

/// Returns what needs the user, most urgent first. Anything that cannot be determined is left out.
fn needs(context: &Context, yard: &Yard, listing: &Listing, now: Timestamp) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut need = |what: String, way: String| needs.push(Need { what, way });
    for task in listing.tasks.iter().filter(|task| task.is_overdue(now)) {
        need(format!("#{} is overdue: {}", task.id, task.shown_subject()), format!("taskyard show {}", task.id));
    }
    for task in listing.tasks.iter().filter(|task| task.status == Status::Pending && failed_attempts(task) > 0) {
        let times = failed_attempts(task);
        let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        need(format!("#{} failed {times}: {}", task.id, task.shown_subject()), format!("taskyard show {}", task.id));
    }
    for task in yard.ready(None).map(|ready| ready.stale).unwrap_or_default() {
        let what = format!("#{} is in progress for a session that has ended: {}", task.id, task.shown_subject());
        need(what, format!("taskyard claim {}", task.id));
    }
    let jobs = context.jobs().and_then(|jobs| Ok(if jobs.may_be_any() { jobs.list()? } else { Vec::new() }));
    for job in jobs.unwrap_or_default().iter().filter(|job| job.list == *yard.list_id() && !job.notified) {
        let state = job.state().as_str();
        if matches!(state, "failed" | "lost") {
            need(format!("job {} {state}: {}", job.id, job.description), format!("taskyard job output {}", job.id));
        }
    }
    match unread(context, yard) {
        0 => {}
        1 => need("1 unread message".to_owned(), "taskyard inbox".to_owned()),
        count => need(format!("{count} unread messages"), "taskyard inbox".to_owned()),
    }
    match listing.problems.len() {
        0 => {}
        1 => need("1 file cannot be read".to_owned(), "taskyard doctor".to_owned()),
        count => need(format!("{count} files cannot be read"), "taskyard doctor".to_owned()),
    }
    needs
}

/// Returns the number of unread messages.
pub(super) fn unread(context: &Context, yard: &Yard) -> usize {
    let count = || -> Result<usize, Problem> {
        let teams = context.teams()?;
        if !teams.are_any() {
            return Ok(0);
        }
        let Some(seat) = yard.seat()? else { return Ok(0) };
        Ok(teams.look_into(&seat)?.deliveries.len())
    };
    count().unwrap_or(0)
}

/// Show statistics: counts by state, owner, priority and tag, the longest chain, and the time spent
#[derive(Debug, Args)]
pub(crate) struct Stats {}

impl Stats {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let stats = yard.stats()?;
        let spent = yard.past(&mut KnownPast::default())?.time_spent();
        // Changes in a newer Taskyard's journal are unknown rather than absent.
        let is_known = yard.store().care().is_none_or(|care| care.newer_journals().is_empty());
        if output.is_json() {
            output.document(taskyard::answers::stats(&stats, &spent, is_known))?;
            return Ok(Exit::Done);
        }
        tell_of_loss(stats.gone.as_ref(), &yard, output)?;
        let look = output.look();
        let board = Board {
            progress: &Default::default(),
            title: yard.list_id().as_str(),
            tasks: &[],
            blockers: &Default::default(),
            counts: stats.counts,
            completed_after: None,
        };
        let mut lines = vec![board.header(&look), Line::new()];
        let mut fact = |name: &str, value: String| {
            lines.push(Line::new().with(Tone::Dim, &format!("  {name:14}")).with(Tone::Plain, &value));
        };
        fact("ready", stats.ready.to_string());
        fact("blocked", stats.blocked.to_string());
        fact("cancelled", stats.cancelled.to_string());
        for (name, count) in
            [("overdue", stats.overdue), ("deferred", stats.deferred)].into_iter().filter(|(_, count)| *count > 0)
        {
            fact(name, count.to_string());
        }
        fact("edges", stats.edges.to_string());
        estimates_in_words(&stats.estimates).into_iter().for_each(|(name, value)| fact(name, value));
        if stats.longest_chain.len() > 1 {
            fact("longest chain", chain(&stats.longest_chain, look.arrow()));
        }
        if stats.unreadable > 0 {
            fact("unreadable", format!("{} (see `taskyard doctor`)", stats.unreadable));
        }
        for (owner, [pending, in_progress, completed]) in &stats.owners {
            fact("owner", format!("{owner}: {in_progress} in progress, {pending} pending, {completed} completed"));
        }
        time_in_words(&spent).into_iter().for_each(|(name, value)| fact(name, value));
        for (name, counted) in [("priority", &stats.priorities), ("tag", &stats.tags)] {
            counted.iter().for_each(|(word, count)| fact(name, format!("{word}: {count}")));
        }
        if is_known {
            fact("revision", stats.revision.to_string());
        }
        output.lines(&lines)?;
        Ok(Exit::Done)
    }
}

/// Maximum number of tasks named that exceeded their estimate.
const NAMED: usize = 8;

/// Compares estimates with the time in progress, for completed and for open tasks, and lists those that exceeded
/// them.
fn estimates_in_words(estimates: &[Estimate]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    for (name, is_completed) in [("estimated", true), ("estimated", false)] {
        let of: Vec<&Estimate> = estimates.iter().filter(|estimate| estimate.is_completed == is_completed).collect();
        if of.is_empty() {
            continue;
        }
        let expected = span_in_words(of.iter().map(|estimate| estimate.expected).sum());
        let in_progress = span_in_words(of.iter().map(|estimate| estimate.in_progress).sum());
        let state = if is_completed { "completed" } else { "open" };
        facts.push((name, format!("{} {state}: {expected} expected, {in_progress} in progress", of.len())));
    }
    let over: Vec<&Estimate> = estimates.iter().filter(|estimate| estimate.in_progress > estimate.expected).collect();
    for Estimate { task, expected, in_progress, .. } in over.iter().take(NAMED) {
        let (expected, in_progress) = (span_in_words(*expected), span_in_words(*in_progress));
        facts.push(("took longer", format!("#{task}: {expected} expected, {in_progress} in progress")));
    }
    if let more @ 1.. = over.len().saturating_sub(NAMED) {
        facts.push(("took longer", format!("and {more} more")));
    }
    facts
}

/// Describes the time spent, in whole minutes, and the tasks that took longest.
fn time_in_words(spent: &TimeSpent) -> Vec<(&'static str, String)> {
    let is_worth = |time: Duration| time >= Duration::from_secs(60);
    let agents = spent.agents.iter().filter(|agent| is_worth(agent.at_work)).map(|agent| {
        let tasks = if agent.tasks == 1 { "task" } else { "tasks" };
        let name = one_line(&agent.agent);
        ("time spent", format!("{name}: {} on {} {tasks}", span_in_words(agent.at_work), agent.tasks))
    });
    let tasks = spent.tasks.iter().filter(|times| is_worth(times.in_progress)).take(NAMED).map(|times| {
        let by = |(agent, time): &(String, Duration)| format!("{} {}", one_line(agent), span_in_words(*time));
        let agents: Vec<String> = times.agents.iter().map(by).collect();
        let agents = if agents.is_empty() { String::new() } else { format!(" ({})", agents.join(", ")) };
        ("in progress", format!("#{}: {}{agents}", times.task, span_in_words(times.in_progress)))
    });
    agents.chain(tasks).collect()
}

fn chain(tasks: &[TaskId], arrow: &str) -> String {
    let name = |task: &TaskId| format!("#{task}");
    let shown: Vec<String> = match tasks {
        [first, second, .., last] if tasks.len() > 8 => {
            vec![name(first), name(second), format!("{} more", tasks.len() - 3), name(last)]
        }
        _ => tasks.iter().map(name).collect(),
    };
    format!("{} tasks: {}", tasks.len(), shown.join(&format!(" {arrow} ")))
}

/// Print Claude Code's status line
///
/// Reads the client's JSON on stdin and prints one line: what is in progress, how many tasks are done and blocked,
/// running jobs and unread messages. `taskyard setup claude --statusline` makes the client show it.
#[derive(Debug, Args)]
pub(crate) struct StatusLine {}

/// Maximum width of the task in progress, in columns.
const TITLE: usize = 40;

/// The contents of a status line.
#[derive(Debug, Default)]
struct StatusFigures {
    /// The task in progress, and how many more there are.
    doing: Option<(String, usize)>,
    done: usize,
    all: usize,
    blocked: usize,
    jobs: usize,
    unread: usize,
}

impl StatusLine {
    #[expect(clippy::unused_self, reason = "every command is run in this way")]
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let told = told_by_client();
        let directory = told["workspace"]["current_dir"].as_str().or(told["cwd"].as_str()).map(PathBuf::from);
        let context = context.in_session(told["session_id"].as_str()).at(directory.as_deref());
        let figures = look(&context)?;
        if output.is_json() {
            output.document(answers::list_answers::StatusLine {
                in_progress: figures.doing.as_ref().map(|(text, _)| text.as_str()),
                done: figures.done,
                all: figures.all,
                blocked: figures.blocked,
                jobs: figures.jobs,
                unread: figures.unread,
            })?;
        } else {
            output.client_line(&line(&figures, output))?;
        }
        Ok(Exit::Done)
    }
}

/// Reads the client's input; returns null if there is none or it is malformed.
fn told_by_client() -> Value {
    let mut text = Vec::new();
    let mut stdin = std::io::stdin().lock();
    if !stdin.is_terminal() && stdin.read_to_end(&mut text).is_ok() {
        return serde_json::from_slice(&text).unwrap_or_default();
    }
    Value::Null
}

/// Reads a summary of the list. A client shows its status line several times a second.
fn look(context: &Context) -> Result<StatusFigures, Problem> {
    let yard = context.yard()?;
    let Summary { doing, counts: [pending, in_progress, done], blocked } = yard.summary()?;
    Ok(StatusFigures {
        doing: doing.map(|text| (text, in_progress.saturating_sub(1))),
        done,
        all: pending + in_progress + done,
        blocked,
        jobs: running_jobs(context, &yard),
        unread: unread(context, &yard),
    })
}

fn running_jobs(context: &Context, yard: &Yard) -> usize {
    let jobs = context.jobs().and_then(|jobs| Ok(if jobs.may_be_any() { jobs.list()? } else { Vec::new() }));
    let is_ours = |job: &&taskyard::core::Job| job.list == *yard.list_id() && !job.state().is_over();
    jobs.unwrap_or_default().iter().filter(is_ours).count()
}

fn line(figures: &StatusFigures, output: &Output) -> Line {
    let look = output.look();
    let mut parts: Vec<(Tone, String)> = Vec::new();
    if let Some((text, more)) = &figures.doing {
        let more = if *more > 0 { format!(" +{more}") } else { String::new() };
        parts.push((
            Tone::Active,
            format!("{} {}{more}", look.either("◼", "[>]"), cut_text(text, TITLE, look.ellipsis())),
        ));
    }
    if figures.all > 0 {
        parts.push((Tone::Done, format!("{}/{} done", figures.done, figures.all)));
    }
    let counted = [(figures.blocked, Tone::Dim, "blocked"), (figures.unread, Tone::Error, "unread")];
    parts.extend(
        counted
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, tone, word)| (tone, format!("{count} {word}"))),
    );
    if figures.jobs > 0 {
        parts.push((Tone::Hint, format!("{} job{}", figures.jobs, if figures.jobs == 1 { "" } else { "s" })));
    }
    let mut line = Line::new();
    for (place, (tone, text)) in parts.into_iter().enumerate() {
        if place > 0 {
            line.push(Tone::Dim, look.dot());
        }
        line.push(tone, &text);
    }
    line
}

/// Print what an agent needs to know to work here
///
/// Prints a short paragraph on how to claim, complete, release and create tasks, and the state of the list: for an
/// agent's instructions, or to read before work.
#[derive(Debug, Args)]
pub(crate) struct Prime {}

/// Instructions for working here; each sentence costs tokens.
const HOW: [&str; 6] = [
    "Tasks here are kept with Taskyard; every agent and person shares this list.",
    "Take work with `taskyard claim --next` (or `taskyard claim ID`), so that no one else does it too; read it with `taskyard show ID`.",
    "Finished: `taskyard done ID` at once; the answer names what can start now. Not going to finish it: `taskyard release ID`.",
    "New work that would be forgotten, or that someone else could do: `taskyard create \"Subject\" -d \"how to tell it is done\" \
     --blocked-by ID`. One trivial step needs no task.",
    "Subagents share the name of their session: each passes `--as NAME`, a name of its own, with every command, or their tasks cannot be told apart.",
    "The MCP tools TaskClaim, TaskUpdate, TaskRelease and TaskCreate do the same.",
];

impl Prime {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let brief = yard.brief()?;
        let run = yard.task_of_run()?;
        let mut lines: Vec<String> = run.iter().map(|(task, is_held)| run_line(task, *is_held)).collect();
        lines.extend(brief_lines(yard.list_id(), &brief));
        let own = context.list_of_directory().ok().filter(|own| own.list != *yard.list_id());
        lines.extend(own.map(|own| format!("The list of this directory is another: {}", own.list)));
        if output.is_json() {
            let text: Vec<&str> = HOW.into_iter().chain(lines.iter().map(String::as_str)).collect();
            let held = run.as_ref().filter(|(_, is_held)| *is_held);
            output.document(answers::list_answers::Prime {
                list: yard.list_id().as_str(),
                text: text.join("\n"),
                counts: brief.counts.into(),
                ready: brief.ready,
                blocked: brief.blocked,
                in_progress: brief.in_progress.iter().map(Shape).collect(),
                best: brief.best.iter().map(|ranked| Shape(&ranked.task)).collect(),
                run: held.map(|(task, _)| task.id.as_str()),
                gone: taskyard::answers::loss(brief.gone.as_ref()),
            })?;
            return Ok(Exit::Done);
        }
        for sentence in HOW {
            output.line(&with_commands(sentence, taskyard::core::render::Tone::Plain))?;
        }
        output.line(&Line::new())?;
        for line in &lines {
            output.line(&Line::plain(line))?;
        }
        Ok(Exit::Done)
    }
}
