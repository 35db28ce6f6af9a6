//! What several commands say of tasks that are gone.

use taskyard::Yard;
use taskyard::core::render::{Tone, clearing_in_words, loss_in_words};
use taskyard::operations::Gone;

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
