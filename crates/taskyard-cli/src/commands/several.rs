//! What commands do that make a move with one task or with several.

use serde_json::json;
use taskyard::Yard;
use taskyard::core::render::{Line, Tone};
use taskyard::operations::Move;

use crate::arguments::WhichTasks;
use crate::displays::answers;
use crate::displays::refused_tasks::exit_of;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// Makes a move with the tasks that are meant, and tells what became of each, beginning with the verb.
pub(super) fn make_move(
    verb: &str,
    wanted: &Move,
    which: &WhichTasks,
    yard: &Yard,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let ids = which.ids(yard)?;
    move_these(verb, wanted, (which, &ids), yard, output)
}

/// Makes a move with these tasks.
pub(super) fn move_these(
    verb: &str,
    wanted: &Move,
    (which, ids): (&WhichTasks, &[taskyard::core::TaskId]),
    yard: &Yard,
    output: &mut Output,
) -> Result<Exit, Problem> {
    if ids.is_empty() {
        return none_is_like_that(output);
    }
    if which.keep_going {
        let possible = yard.move_possible(ids, wanted)?;
        answers::updated_some(verb, &possible, yard, output)?;
        return Ok(exit_of(&possible.refused));
    }
    let updated = yard.move_together(ids, wanted)?.done()?;
    match (which.only_one(), updated.as_slice()) {
        (Some(_), [one]) => answers::updated(verb, one, yard, output)?,
        _ => answers::updated_all(verb, &updated, yard, output)?,
    }
    Ok(Exit::Done)
}

/// Says that a query is true of no task.
pub(super) fn none_is_like_that(output: &mut Output) -> Result<Exit, Problem> {
    match output.is_json() {
        true => output.document(json!({ "tasks": [] }))?,
        false => output.say(&Line::new().with(Tone::Dim, "No task is like that."))?,
    }
    Ok(Exit::Done)
}
