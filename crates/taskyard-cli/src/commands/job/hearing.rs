//! Having heard that a job has ended.

use taskyard::core::Job;

use crate::context::Context;
use crate::output::Output;
use crate::problem::Problem;

/// Takes note that whoever acts was shown how a job ended: where it is the agent that started it, it needs no notification any
/// more. Whatever was not written to its end was not seen.
pub(super) fn has_heard_of(job: &Job, context: &Context, output: &mut Output) -> Result<(), Problem> {
    if job.state().is_over() && context.actor()? == job.agent {
        output.flush()?;
        // Should this fail, the agent is told twice.
        if let Err(error) = context.notices()?.acknowledge(std::slice::from_ref(&job.id)) {
            tracing::warn!(%error, "a notification will come though it is not needed");
        }
    }
    Ok(())
}
