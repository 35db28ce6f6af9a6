//! Telling of tasks with which nothing was done.

use taskyard::operations::RefusedTask;

use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{self, Problem};

/// Tells on stderr of the tasks with which nothing was done.
pub(crate) fn tell_refused(refused: &[RefusedTask], output: &mut Output) -> Result<(), Problem> {
    for (id, refusal) in refused {
        output.warn(&format!("#{id} is left as it is: {refusal}"))?;
    }
    Ok(())
}

/// Returns how a command ends that did what it could: as the first refusal would have ended it.
pub(crate) fn exit_of(refused: &[RefusedTask]) -> Exit {
    refused.first().map_or(Exit::Done, |(_, refusal)| problem::exit_of(Problem::from(refusal.clone()).report().kind))
}
