//! Output shared by several commands.

use std::io;

use taskyard::Yard;
use taskyard::answers::unreadable_files;
use taskyard::core::answers::claim_answers::ClaimLost;
use taskyard::core::answers::task_answers::UpdatedTogether;
use taskyard::core::render::{Line, Look, Tone, changes_in_words, clearing_in_words, loss_in_words, numbered};
use taskyard::core::rules::changes::recurring::{EVERY, FOLLOWED_BY};
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::rules::leases::liveness::Standing;
use taskyard::core::rules::refusal::Refusal;
use taskyard::core::{AgentName, Revision, Status, Task, TaskId, Team, answers};
use taskyard::operations::{Departed, Departure, Gone, Possible, Pruned, RefusedTask, TaskMessage, Updated, now_ready};
use taskyard::store::UnreadableTask;
use taskyard::teams::{MemberShown, MemberState, TeamShown};

use crate::exit;
use crate::exit::{Exit, Problem, exit_of};
use crate::output::{Output, with_commands};

pub(crate) mod notices;

/// Reports the change of one task, beginning with the verb.
pub(crate) fn updated(verb: &str, updated: &Updated, yard: &Yard, output: &mut Output) -> Result<(), Problem> {
    if output.is_json() {
        return Ok(output.document(answers::task_answers::Updated::from(updated))?);
    }
    // Of several tasks, one may already be as requested.
    let nothing = updated.revision.is_none() || (updated.before == updated.task && updated.lease.is_none());
    let mut line = did(if nothing { "Nothing to change in" } else { verb }, &updated.task);
    if !nothing && verb == "Updated" {
        let changes = changes_in_words(&updated.before, &updated.task, &output.look());
        line.push(Tone::Dim, &format!(" ({})", changes.join("; ")));
    }
    output.say(&line)?;
    if let Some(lease) = &updated.lease {
        let until = output.look().lease(lease, &LeaseState::Live);
        let verb = if updated.before.owner() == updated.task.owner() { "keeps" } else { "has" };
        let terms = format!("  {} {verb} it, {until}; token {}", lease.agent, lease.token);
        output.say(&Line::new().with(Tone::Dim, &terms))?;
    }
    if let Some(next) = follower(updated, yard)? {
        let mut line = Line::new().with(Tone::Plain, "  ").with(Tone::Done, output.look().arrow());
        line.push(Tone::Plain, " next: ");
        line.push(Tone::Id, &format!("#{}", next.id));
        let times = [(" due ", next.due()), (" deferred to ", next.defer())];
        for (word, moment) in times.into_iter().filter_map(|(word, moment)| Some((word, moment?))) {
            line.push(Tone::Dim, &format!("{word}{}", output.look().planned(moment)));
        }
        output.say(&line)?;
    }
    if !updated.now_ready.is_empty() {
        output.say(&ready_line(&updated.now_ready, &updated.task.id, yard, output)?)?;
    }
    if !updated.open_blockers.is_empty() {
        output.warn(&format!(
            "#{} was blocked by {}, which is still open",
            updated.task.id,
            numbered(&updated.open_blockers)
        ))?;
    }
    if let Some(why) = &updated.block_left {
        output.warn(&format!("the block in the description of #{} was not changed: {why}", updated.task.id))?;
    }
    if let Some(TaskMessage::Failed { to, why }) = &updated.owner_message {
        output.warn(&format!("{to} could not be notified of the assignment: {why}"))?;
    }
    if !updated.dependents_started.is_empty() {
        let started = numbered(&updated.dependents_started);
        output.warn(&format!("{started} had already been started, and is blocked by #{} again", updated.task.id))?;
    }
    Ok(())
}

/// Reports tasks that were changed together, each beginning with the verb, and those that were refused.
pub(crate) fn updated_together(
    verb: &str,
    possible: &Possible<Updated>,
    yard: &Yard,
    output: &mut Output,
) -> Result<(), Problem> {
    if output.is_json() {
        return Ok(output.document(UpdatedTogether::from(possible))?);
    }
    let ready = now_ready(&possible.done);
    for one in &possible.done {
        updated(verb, &Updated { now_ready: Vec::new(), ..one.clone() }, yard, output)?;
    }
    if let Some(first) = possible.done.first().filter(|_| !ready.is_empty()) {
        output.say(&ready_line(&ready, &first.task.id, yard, output)?)?;
    }
    tell_refused(&possible.refused, output)
}

/// Returns the next task of a recurring one that was completed. Its number is looked up, since the answer does not
/// contain it.
fn follower(updated: &Updated, yard: &Yard) -> Result<Option<Task>, Problem> {
    let completes = updated.status_change.is_some_and(|(_, now)| now == Status::Completed);
    if !completes || updated.revision.is_none() || updated.task.meta(EVERY).is_none() {
        return Ok(None);
    }
    let list = yard.store().read(yard.list_id())?;
    let completed = list.find(&updated.task.id)?.task();
    let next = completed.and_then(|task| task.meta(FOLLOWED_BY)?.as_str().map(TaskId::stored));
    Ok(next.map(|id| list.find(&id)).transpose()?.and_then(|found| found.task()))
}

/// Maximum number of unblocked tasks named; programs get all of them.
const NAMED: usize = 20;

/// Names the tasks that a completion unblocked. Their titles are looked up, since the answer contains only numbers.
fn ready_line(ready: &[TaskId], completed: &TaskId, yard: &Yard, output: &Output) -> Result<Line, Problem> {
    let mut line = Line::new().with(Tone::Plain, "  ").with(Tone::Done, output.look().arrow());
    line.push(Tone::Plain, " now ready:");
    let named = &ready[..ready.len().min(NAMED)];
    for (number, (id, task)) in named.iter().zip(tasks_tied_to(completed, named, yard)?).enumerate() {
        line.push(Tone::Plain, if number == 0 { " " } else { ", " });
        line.push(Tone::Id, &format!("#{id}"));
        if let Some(task) = task {
            line.push(Tone::Plain, &format!(" {}", task.shown_subject()));
            if let Some(owner) = task.owner() {
                line.push(Tone::Plain, &format!(" ({owner})"));
            }
        }
    }
    if let more @ 1.. = ready.len().saturating_sub(NAMED) {
        line.push(Tone::Plain, &format!(" and {more} more"));
    }
    Ok(output.look().fitted(line))
}

/// Returns tasks that most likely depend on another one. Reads only the tasks around that one if the store can,
/// otherwise the list.
fn tasks_tied_to(task: &TaskId, wanted: &[TaskId], yard: &Yard) -> Result<Vec<Option<Task>>, Problem> {
    if let Some(around) = yard.store().read_around(yard.list_id(), task)? {
        let found = |id: &TaskId| around.tasks.iter().find(|task| task.id == *id).cloned();
        let found: Vec<Option<Task>> = wanted.iter().map(found).collect();
        if found.iter().all(Option::is_some) {
            return Ok(found);
        }
    }
    let list = yard.store().read(yard.list_id())?;
    wanted.iter().map(|id| Ok(list.find(id)?.task())).collect()
}

/// Returns `VERB #7 Title`.
pub(crate) fn did(verb: &str, task: &Task) -> Line {
    Line::new()
        .with(Tone::Plain, &format!("{verb} "))
        .with(Tone::Id, &format!("#{}", task.id))
        .with(Tone::Plain, &format!(" {}", task.shown_subject()))
}

/// Suggests how to undo a revision.
pub(crate) fn way_back(revision: Revision, output: &mut Output) -> io::Result<()> {
    let undo = format!("taskyard undo {revision}{}", output.list_flag());
    output.say(&Line::new().with(Tone::Dim, "  undo it with ").with(Tone::Hint, &undo))
}

/// Warns about files among the tasks that cannot be read.
pub(crate) fn warn_of_defects(problems: &[UnreadableTask], output: &mut Output) -> io::Result<()> {
    for (problem, file) in problems.iter().zip(unreadable_files(problems)) {
        let shown = if problem.last_known.is_some() { ", its last known state is shown" } else { "" };
        output.warn(&format!("{} cannot be read: {}{shown}; run `taskyard doctor`", file.file, problem.why))?;
    }
    Ok(())
}

/// Reports why a claim was refused.
pub(crate) fn lost(refusal: Refusal, yard: &Yard, output: &mut Output) -> Result<Exit, Problem> {
    let Refusal::Claim(lost) = refusal else { return Err(refusal.into()) };
    let look = output.look();
    let words = lost.in_words(|moment| look.until(moment));
    if output.is_json() {
        let answer = ClaimLost::from(&*lost);
        let exit = exit_of(answer.error.kind);
        output.document(answer)?;
        return Ok(exit);
    }
    let loss = lost.gone.as_ref().and_then(|gone| loss_in_words(gone, yard.list_id(), |moment| look.time(moment)));
    let problem = Problem::from(Refusal::Claim(lost)).saying(words);
    Err(loss.into_iter().fold(problem, Problem::hint))
}

/// Warns about the tasks that were left unchanged.
pub(crate) fn tell_refused(refused: &[RefusedTask], output: &mut Output) -> Result<(), Problem> {
    for (id, refusal) in refused {
        let why = refusal.of_claim().map_or_else(|| refusal.to_string(), ToString::to_string);
        output.warn(&format!("#{id} was not changed: {why}"))?;
    }
    Ok(())
}

/// Returns the exit code of a command that changed what it could: that of the first refusal.
pub(crate) fn exit_of_refused(refused: &[RefusedTask]) -> Exit {
    refused.first().map_or(Exit::Done, |(_, refusal)| exit::exit_of(Problem::from(refusal.clone()).report().kind))
}

/// Reports missing open tasks prominently, even with `--quiet`. Returns whether it replaced the answer; under the
/// client's rules the answer stays as it is.
pub(crate) fn tell_of_loss(gone: Option<&Gone>, yard: &Yard, output: &mut Output) -> Result<bool, Problem> {
    let look = output.look();
    let Some(words) = gone.and_then(|gone| loss_in_words(gone, yard.list_id(), |moment| look.time(moment))) else {
        return Ok(false);
    };
    if yard.rules().is_client() {
        output.warn(&words)?;
        return Ok(false);
    }
    let line = with_commands(&words, Tone::Warning);
    match look.width {
        Some(width) => output.lines(&line.wrapped(width, 0))?,
        None => output.line(&line)?,
    }
    Ok(true)
}

/// Mentions in one line that completed tasks were cleared.
pub(crate) fn tell_of_clearing(gone: Option<&Gone>, output: &mut Output) -> Result<(), Problem> {
    if let Some(words) = gone.and_then(clearing_in_words) {
        output.say(&with_commands(&words, Tone::Dim))?;
    }
    Ok(())
}

/// Describes the tasks that an agent released, one per line.
pub(crate) fn given_back(agent: &AgentName, departed: &Departed) -> Vec<Line> {
    let said = match departed.tasks.len() {
        0 => format!("{agent} had no open task"),
        1 => format!("Released 1 task of {agent}; anyone can take it now"),
        count => format!("Released {count} tasks of {agent}; anyone can take them now"),
    };
    let listed = departed.tasks.iter().map(|task| {
        let line = Line::plain("  ").with(Tone::Id, &format!("#{}", task.id));
        line.with(Tone::Plain, &format!(" {}", task.shown_subject()))
    });
    [Line::plain(&said)].into_iter().chain(listed).collect()
}

/// Describes why a member was removed from its team, and what it left behind.
pub(crate) fn taken_out(gone: &Pruned) -> String {
    let tasks = &gone.departed.tasks;
    let why = match gone.departure {
        Departure::Shutdown => "it shut down as requested",
        Departure::Terminated => "its process has ended",
    };
    let said = format!("removed {} from the team: {why}", gone.name);
    if tasks.is_empty() { said } else { format!("{said}; {} can be claimed again", numbered(&ids_of(tasks))) }
}

fn ids_of(tasks: &[Task]) -> Vec<TaskId> {
    tasks.iter().map(|task| task.id.clone()).collect()
}

/// Returns the lines that show a team and its members.
pub(crate) fn lines(shown: &TeamShown, look: &Look) -> Vec<Line> {
    let mut head = Line::new().with(Tone::Strong, shown.team.name.as_str());
    if let Some(description) = shown.team.description.as_deref().filter(|description| !description.is_empty()) {
        head.push(Tone::Dim, &format!("{}{description}", look.dot()));
    }
    let name_width = |member: &MemberShown| Line::plain(&member.member.name).width();
    let widest = shown.members.iter().map(name_width).max().unwrap_or(0).min(32);
    let mut lines = vec![head];
    lines.extend(shown.members.iter().map(|member| member_line(member, widest, look)));
    lines
}

fn member_line(shown: &MemberShown, widest: usize, look: &Look) -> Line {
    let member = &shown.member;
    let (tone, mark) = match shown.state {
        MemberState::Running => (Tone::Active, look.either("●", "*")),
        MemberState::Idle => (Tone::Dim, look.either("○", "o")),
        MemberState::Stopping => (Tone::Warning, look.either("◌", "~")),
        MemberState::AwaitingApproval => (Tone::Warning, look.either("◐", "?")),
        MemberState::Ghost => (Tone::Error, look.either("✘", "x")),
    };
    let mut line = Line::plain("  ").with(tone, mark);
    line.push(Tone::Plain, " ");
    line.append(Line::new().with(Tone::member(member.colour()), &member.name).padded(widest));
    line.push(Tone::Plain, "  ");
    line.push(tone, shown.state.as_str());
    if let Some(words) = standing_in_words(shown, look) {
        line.push(Tone::Dim, &format!("{}{words}", look.dot()));
    }
    for (id, subject) in &shown.tasks {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Id, &format!("#{id}"));
        line.push(Tone::Plain, &format!(" {subject}"));
    }
    if let Some(unread @ 1..) = shown.unread {
        line.push(Tone::Dim, &format!("{}{unread} unread", look.dot()));
    }
    if shown.inbox_problem.is_some() {
        line.push(Tone::Dim, look.dot());
        line.push(Tone::Error, "its inbox cannot be read");
    }
    if let Some(uses) = shown.tool_uses {
        line.push(Tone::Dim, &format!("{}{uses} tool uses", look.dot()));
    }
    if let Some(tokens) = shown.tokens {
        line.push(Tone::Dim, &format!("{}{tokens} tokens", look.dot()));
    }
    if let (Some(activity), Some(seen)) = (&shown.activity, shown.seen) {
        line.push(Tone::Dim, &format!("{}{activity} {}", look.dot(), look.time(seen)));
    }
    line.push(Tone::Dim, &format!("{}joined {}", look.dot(), look.time(member.joined_at)));
    look.fitted(line)
}

/// Describes the process of a member that is not known to be alive.
fn standing_in_words(shown: &MemberShown, look: &Look) -> Option<String> {
    let process = shown.process?;
    match shown.standing.as_ref()? {
        Standing::Lives => None,
        Standing::Lapses(end) => Some(format!("process {process} has ended, gone {}", look.until(end.wall))),
        Standing::LivesUnseen(_) => Some(format!("process {process} is not visible from here")),
        Standing::Ended => Some(format!("process {process} has ended")),
        Standing::Silent => Some(format!("process {process} is not visible from here and stays silent")),
    }
}

/// Returns the line that shows a team in a list of teams.
pub(crate) fn line(team: &Team, look: &Look) -> Line {
    let mut line = Line::new().with(Tone::Strong, team.name.as_str());
    line.push(Tone::Dim, look.dot());
    for (number, member) in team.members.iter().enumerate() {
        line.push(Tone::Plain, if number == 0 { "" } else { ", " });
        line.push(Tone::member(member.colour()), &member.name);
    }
    look.fitted(line)
}
