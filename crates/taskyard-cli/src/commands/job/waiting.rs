//! Waiting for the end of a job, and the exit code that tells of it: the command's own, so that a script reads it as if it had run
//! the command itself.

use std::time::Duration;

use taskyard::core::answers::jobs::JobStarted;
use taskyard::core::render::job_line;
use taskyard::core::{Job, JobFate, JobState};
use taskyard_jobs::{Jobs, Waited};

use super::acknowledging::acknowledge_end;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::{Problem, ProblemKind};

/// The waiting ran out, as `timeout` says it.
const RAN_OUT: Exit = Exit::OfCommand(124);

/// Waits until a job has ended, for so long at most, tells how it ended, and returns the exit code of its command.
pub(super) fn wait_for_end(
    jobs: &Jobs,
    job: &Job,
    timeout: Option<Duration>,
    context: &Context,
    output: &mut Output,
) -> Result<Exit, Problem> {
    let waited = jobs.wait(&job.id, timeout, context.cancel())?;
    let exit = match &waited {
        Waited::Over(job) => exit_of(&job.fate),
        Waited::TimedOut(_) => RAN_OUT,
        Waited::Cancelled(_) => Exit::Stopped,
    };
    let timed_out = matches!(waited, Waited::TimedOut(_));
    let job = waited.job();
    if output.is_json() {
        output.document(JobStarted { job: (&job).into(), timed_out: Some(timed_out) })?;
    } else {
        output.say(&job_line("", &job, &output.look()))?;
        if job.state() == JobState::Failed {
            output.advise(&format!("to see what it wrote: `taskyard job output {}`", job.id))?;
        }
    }
    acknowledge_end(&job, context, output)?;
    Ok(exit)
}

/// Lets a command that could not find out how a job ended say so with its exit code, too.
pub(super) fn not_known(problem: Problem) -> Problem {
    if problem.is_broken_pipe() { problem } else { problem.of_kind(ProblemKind::EndUnknown) }
}

/// Returns the exit code of a command that has ended, as a shell tells it.
fn exit_of(fate: &JobFate) -> Exit {
    let JobFate::Ended { how, .. } = fate else { return Exit::END_UNKNOWN };
    let code = how.exit_code().or_else(|| how.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(Exit::END_UNKNOWN, Exit::OfCommand)
}

#[cfg(test)]
mod tests {
    use taskyard::core::{CommandEnd, JobEnding, JobFate, JobUsage, Timestamp};

    use super::exit_of;

    #[test]
    fn the_code_is_the_commands_own_or_that_of_the_signal_that_ended_it() {
        let ended = |how| exit_of(&JobFate::Ended { how, at: Timestamp(0), usage: JobUsage::default() }).code();
        for code in [0, 1, 3, 4, 124, 125, 255] {
            assert_eq!(i32::from(ended(JobEnding::Exited(code))), code);
        }
        assert_eq!(ended(JobEnding::Signalled(11)), 139);
        assert_eq!(ended(JobEnding::Stopped(CommandEnd::Signalled(15))), 143);
        assert_eq!(ended(JobEnding::Stopped(CommandEnd::Exited(7))), 7);
        assert_eq!(ended(JobEnding::TimedOut(CommandEnd::Signalled(9))), 137);
        assert_eq!(ended(JobEnding::Stopped(CommandEnd::Unseen)), 125);
        assert_eq!(ended(JobEnding::NotStarted { code: 127, why: "no such file".into() }), 127);
        assert_eq!(exit_of(&JobFate::Lost { at: Timestamp(0) }).code(), 125);
    }
}
