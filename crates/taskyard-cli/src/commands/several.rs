//! What commands do that make a move with one task or with several.

use taskyard::Yard;
use taskyard::answers::rehearsed;
use taskyard::core::answers::tasks::Unchanged;
use taskyard::core::render::{Line, Tone, task_line};
use taskyard::core::{Task, TaskId};
use taskyard::operations::{Move, Possible, RefusedTask};

use crate::arguments::WhichTasks;
use crate::context::Context;
use crate::displays::answers;
use crate::displays::refused_tasks::{exit_of, tell_refused};
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// The largest number of tasks that a query may choose to be closed or deleted without asking a person.
const UNASKED: usize = 5;
/// How many of the tasks are shown to a person who is asked.
const SHOWN: usize = 20;

/// Makes a move with the tasks that are meant, and tells what became of each, beginning with the first of the verbs; of a rehearsal with
/// the second.
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

/// Makes a move with these tasks.
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
        answers::updated_together(verb, &possible, yard, output)?;
        return Ok(exit_of(&possible.refused));
    }
    let updated = yard.move_together(ids, wanted)?.done()?;
    match (which.only_one(), updated.as_slice()) {
        (Some(_), [one]) => answers::updated(verb, one, yard, output)?,
        _ => answers::updated_together(verb, &Possible { done: updated, refused: Vec::new() }, yard, output)?,
    }
    Ok(Exit::Done)
}

/// Tells what would have become of tasks.
pub(super) fn tell_rehearsal(
    would: &str,
    tasks: &[&Task],
    refused: &[RefusedTask],
    output: &mut Output,
) -> Result<Exit, Problem> {
    if output.is_json() {
        output.document(rehearsed(tasks.iter().copied(), refused))?;
        return Ok(exit_of(refused));
    }
    tasks.iter().try_for_each(|task| output.say(&answers::did(would, task)))?;
    tell_refused(refused, output)?;
    output.say(&Line::new().with(Tone::Dim, "Nothing was changed."))?;
    Ok(exit_of(refused))
}

/// Asks a person before many tasks that a query chose are closed or deleted, and shows them. A program is not asked.
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

/// Says that a query is true of no task.
pub(super) fn none_is_like_that(output: &mut Output) -> Result<Exit, Problem> {
    match output.is_json() {
        true => output.document(Unchanged { dry_run: None, tasks: Vec::new(), refused: Vec::new() })?,
        false => output.say(&Line::new().with(Tone::Dim, "No task is like that."))?,
    }
    Ok(Exit::Done)
}
