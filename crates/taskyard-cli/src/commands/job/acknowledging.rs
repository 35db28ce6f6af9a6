//! Acknowledging the end of a job that its agent was shown.

use taskyard::core::Job;

use crate::context::Context;
use crate::output::Output;
use crate::problem::Problem;

/// Acknowledges the end of a job that was just shown, if the acting agent is the one that started it: it needs no notification
/// any more. The output is flushed first, since an answer that was not written to its end was not seen.
pub(super) fn acknowledge_end(job: &Job, context: &Context, output: &mut Output) -> Result<(), Problem> {
    if job.state().is_over() && context.actor()? == job.agent {
        output.flush()?;
        // Should this fail, the agent is told twice.
        if let Err(error) = context.notices()?.acknowledge(std::slice::from_ref(&job.id)) {
            tracing::warn!(%error, "a notification will come though it is not needed");
        }
    }
    Ok(())
}
