//! What several commands say of tasks that are gone.

use serde_json::Value;
use taskyard::Yard;
use taskyard::core::TaskId;
use taskyard::core::answers::values;
use taskyard::core::render::{Tone, clearing_in_words, loss_in_words};
use taskyard::operations::Gone;

use crate::context::Context;
use crate::output::{Output, with_commands};
use crate::problem::Problem;

/// Tells loudly that open tasks are gone, also where only the answer is wanted; returns whether there was something to tell. In the
/// client's rules the answer is the client's, and the loss stands beside it.
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

/// Tells in one quiet line that what was done with was cleared away.
pub(crate) fn tell_of_clearing(gone: Option<&Gone>, output: &mut Output) -> Result<(), Problem> {
    if let Some(words) = gone.and_then(clearing_in_words) {
        output.say(&with_commands(&words, Tone::Dim))?;
    }
    Ok(())
}

/// Returns the loss of open tasks, for programs; `None` if no open task is gone.
pub(crate) fn loss_answer(gone: Option<&Gone>) -> Option<values::Gone> {
    gone.filter(|gone| gone.is_loss()).map(values::Gone::from)
}

/// Adds to the problem of a task that is not there how it comes back, where it is missing.
pub(crate) fn with_the_way_back(problem: Problem, context: &Context) -> Problem {
    let report = problem.report();
    let task = report.details.get("task").and_then(Value::as_str).filter(|_| report.code == "task_not_found");
    let Some(id) = task.and_then(|task| task.parse::<TaskId>().ok()) else { return problem };
    let is_missing =
        context.yard().is_ok_and(|yard| !yard.rules().is_client() && yard.is_missing(&id).unwrap_or(false));
    if !is_missing {
        return problem;
    }
    let how = match context.yard().is_ok_and(|yard| yard.is_deleted_elsewhere(&id).unwrap_or(false)) {
        true => "another program deleted it",
        false => "it is missing, and nobody deleted it on purpose",
    };
    problem.hint(format!("{how}: `taskyard restore {id}` brings it back"))
}
