//! Status changes of one or several tasks.

use taskyard::Yard;
use taskyard::answers::rehearsed;
use taskyard::core::answers::task_answers::Unchanged;
use taskyard::core::render::{Line, Tone, task_line};
use taskyard::core::{Task, TaskId};
use taskyard::operations::{Move, Possible, RefusedTask};

use crate::arguments::WhichTasks;
use crate::context::Context;
use crate::displays;
use crate::displays::{exit_of_refused, tell_refused};
use crate::exit::{Exit, Problem};
use crate::output::Output;

/// Maximum number of tasks selected by a query that are closed or deleted without confirmation.
const UNASKED: usize = 5;
/// Maximum number of tasks listed in the confirmation.
const SHOWN: usize = 20;

/// Applies a status change to the selected tasks and reports each. `verbs` are for the change and for a dry run.
pub(super) fn make_move(
    verbs: (&str, &str),
    wanted: &Move,
    which: &WhichTasks,
    (context, yard): (&Context, &Yard),
    output: &mut Output,
) -> Result<Exit, Problem> {
    let ids = context.ids_of(which, yard)?;
    move_these(verbs, wanted, (which, &ids), yard, output)
}

/// Applies a status change to these tasks.
pub(super) fn move_these(
    (verb, would): (&str, &str),
    wanted: &Move,
    (which, ids): (&WhichTasks, &[TaskId]),
    yard: &Yard,
    output: &mut Output,
) -> Result<Exit, Problem> {
    if ids.is_empty() {
        return none_is_like_that(output);
    }
    if which.dry_run {
        let yard = yard.clone().rehearsing();
        let Possible { done, refused } = match which.keep_going {
            true => yard.move_possible(ids, wanted)?,
            false => Possible { done: yard.move_together(ids, wanted)?.done()?, refused: Vec::new() },
        };
        let tasks: Vec<&Task> = done.iter().map(|updated| &updated.task).collect();
        return tell_rehearsal(would, &tasks, &refused, output);
    }
    if which.keep_going {
        let possible = yard.move_possible(ids, wanted)?;
        displays::updated_together(verb, &possible, yard, output)?;
        return Ok(exit_of_refused(&possible.refused));
    }
    let updated = yard.move_together(ids, wanted)?.done()?;
    match (which.only_one(), updated.as_slice()) {
        (Some(_), [one]) => displays::updated(verb, one, yard, output)?,
        _ => displays::updated_together(verb, &Possible { done: updated, refused: Vec::new() }, yard, output)?,
    }
    Ok(Exit::Done)
}

/// Reports a dry run.
pub(super) fn tell_rehearsal(
    would: &str,
    tasks: &[&Task],
    refused: &[RefusedTask],
    output: &mut Output,
) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(rehearsed(tasks.iter().copied(), refused))?;
        return Ok(exit_of_refused(refused));
    }
    tasks.iter().try_for_each(|task| output.say(&displays::did(would, task)))?;
    tell_refused(refused, output)?;
    output.say(&Line::new().with(Tone::Dim, "Nothing was changed."))?;
    Ok(exit_of_refused(refused))
}

/// Asks a person to confirm before many tasks selected by a query are closed or deleted. Programs are not asked.
pub(super) fn is_agreed(
    verb: &str,
    (which, ids): (&WhichTasks, &[TaskId]),
    yard: &Yard,
    output: &mut Output,
) -> Result<bool, Problem> {
    if which.query.is_none() || which.dry_run || ids.len() <= UNASKED || !output.can_ask() {
        return Ok(true);
    }
    let list = yard.store().read(yard.list_id()).map_err(taskyard::Error::from)?;
    for id in ids.iter().take(SHOWN) {
        if let Some(task) = list.find(id).map_err(taskyard::Error::from)?.task() {
            let line = task_line("  ", 0, &task, &[], &output.look());
            output.line(&line)?;
        }
    }
    if ids.len() > SHOWN {
        output.line(&Line::new().with(Tone::Dim, &format!("  and {} more", ids.len() - SHOWN)))?;
    }
    let agreed = output.ask(&format!("{verb} these {} tasks?", ids.len()))?;
    if !agreed {
        output.say(&Line::new().with(Tone::Dim, "Nothing was changed."))?;
    }
    Ok(agreed)
}

/// Reports that no task matches the query.
pub(super) fn none_is_like_that(output: &mut Output) -> Result<Exit, Problem> {
    match output.is_json() {
        true => output.document(Unchanged { dry_run: None, tasks: Vec::new(), refused: Vec::new() })?,
        false => output.say(&Line::new().with(Tone::Dim, "No matching tasks."))?,
    }
    Ok(Exit::Done)
}
