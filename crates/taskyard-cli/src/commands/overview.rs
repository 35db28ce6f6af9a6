//! `taskyard` alone, in a terminal

use taskyard::Yard;
use taskyard::core::render::{Line, Need, Overview, Tone, UnderWay};
use taskyard::core::rules::claims::attempts::failed_attempts;
use taskyard::core::{Status, Task, Timestamp};
use taskyard::operations::{Filter, Listing};

use crate::context::Context;
use crate::displays::lost_tasks::tell_of_loss;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Shows what is in progress, what is ready and what needs the user, on one screen.
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
        output.advise("make one with `taskyard create \"Write the parser\"`")?;
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

/// Returns what needs the user, the most pressing first. What cannot be found out needs no one's attention.
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

/// Returns how many messages wait for the user.
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
