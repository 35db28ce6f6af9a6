//! What several commands say in the same words.

use std::io;

use taskyard::Yard;
use taskyard::answers::unreadable_files;
use taskyard::core::answers::tasks::UpdatedTogether;
use taskyard::core::render::{Line, Tone, changes_in_words, numbered};
use taskyard::core::rules::leases::leasing::LeaseState;
use taskyard::core::{Revision, Task, TaskId, answers};
use taskyard::operations::{Possible, TaskMessage, Updated, now_ready};
use taskyard::store::UnreadableTask;

use super::refused_tasks::tell_refused;
use crate::output::Output;
use crate::problem::Problem;

/// Tells what became of one task, beginning with the verb.
pub(crate) fn updated(verb: &str, updated: &Updated, yard: &Yard, output: &mut Output) -> Result<(), Problem> {
    if output.is_json() {
        return Ok(output.document(answers::tasks::Updated::from(updated))?);
    }
    // One of several may be what the others became.
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
    if !updated.now_ready.is_empty() {
        output.say(&ready_line(&updated.now_ready, &updated.task.id, yard, output)?)?;
    }
    if !updated.open_blockers.is_empty() {
        output.warn(&format!(
            "#{} was waiting for {}, still open",
            updated.task.id,
            numbered(&updated.open_blockers)
        ))?;
    }
    if let Some(why) = &updated.block_left {
        output.warn(&format!("the block in the description of #{} was left as it is: {why}", updated.task.id))?;
    }
    if let Some(TaskMessage::Failed { to, why }) = &updated.owner_message {
        output.warn(&format!("{to} could not be told that it is theirs now: {why}"))?;
    }
    if !updated.dependents_started.is_empty() {
        let started = numbered(&updated.dependents_started);
        output.warn(&format!("{started} had already been started, and waits for #{} again", updated.task.id))?;
    }
    Ok(())
}

/// Tells what became of tasks that changed together, beginning each with the verb, and of those that were refused.
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

/// So many tasks that can start now are named; programs are told of all.
const NAMED: usize = 20;

/// Names the tasks that can start since one was completed; their titles are looked up again, since the answer has the numbers only.
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

/// Returns tasks that most likely wait for another one: what is around that one is read, if the store can, or else the list.
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

/// Tells how to take a revision back.
pub(crate) fn way_back(revision: Revision, output: &mut Output) -> io::Result<()> {
    let undo = format!("taskyard undo {revision}{}", output.list_flag());
    output.say(&Line::new().with(Tone::Dim, "  take it back with ").with(Tone::Hint, &undo))
}

/// Tells on stderr what lies among the tasks and is none.
pub(crate) fn warn_of_defects(problems: &[UnreadableTask], output: &mut Output) -> io::Result<()> {
    for (problem, file) in problems.iter().zip(unreadable_files(problems)) {
        let shown = if problem.last_known.is_some() { ", its last known state is shown" } else { "" };
        output.warn(&format!("{} cannot be read: {}{shown}; run `taskyard doctor`", file.file, problem.why))?;
    }
    Ok(())
}
