//! `taskyard stats`

use std::time::Duration;

use clap::Args;
use taskyard::core::TaskId;
use taskyard::core::render::escaping::one_line;
use taskyard::core::render::{Board, Line, Tone};
use taskyard::core::rules::looking::statistics::Estimate;
use taskyard::core::timing::span_in_words;
use taskyard::operations::{KnownPast, TimeSpent};

use crate::context::Context;
use crate::displays::lost_tasks::tell_of_loss;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Count the list: states, owners, priorities, tags, the longest chain, and the time spent
#[derive(Debug, Args)]
pub(crate) struct Stats {}

impl Stats {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let yard = context.yard()?;
        let stats = yard.stats()?;
        let spent = yard.past(&mut KnownPast::default())?.time_spent();
        // What a newer Taskyard has is not told as if nothing had happened.
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

/// So many tasks that took longer than expected are named.
const NAMED: usize = 8;

/// Compares estimates with the time in progress: of what is completed, of what is open, and which took longer.
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

/// Returns what is worth saying: whole minutes, and the tasks that took longest.
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
