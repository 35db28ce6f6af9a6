//! `taskyard job run`, `job output` and `job wait`

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use taskyard::core::answers::claim_answers::JobStarted;
use taskyard::core::render::{Line, Tone, escaping, job_line};
use taskyard::core::{Gap, Job, JobFate, JobKind, JobState, TaskId};
use taskyard::failpoint;
use taskyard::jobs::JobSettings;
use taskyard_jobs::notify::Notifier;
use taskyard_jobs::{Jobs, NewJob, OutputRead, Waited, dispatch, incomplete};

use crate::arguments::{NotifyFlag, parse_bytes, parse_id, parse_pause};
use crate::context::Context;
use crate::displays::notices::notify_of_end;
use crate::ended_agents::{reopen_tasks_everywhere, settle_end_of, shared_jobs_of};
use crate::environment::Environment;
use crate::exit::{Exit, Problem, ProblemKind};
use crate::output::Output;
use crate::places;

/// Bytes read at once.
const PART: u64 = 256 << 10;

/// Show the output of a job
///
/// Offsets count the bytes the job wrote, from 0. If part of a large output was left out, a line says so. Control
/// characters are escaped. The agent that started the job is not notified of an end that it has seen here, with
/// `--wait`, `--follow` or `--json`.
#[derive(Debug, Args)]
pub(crate) struct ShowOutput {
    #[command(flatten)]
    pub(crate) meant: Meant,

    /// From this byte on
    #[arg(long, value_name = "N", conflicts_with = "tail")]
    pub(crate) offset: Option<u64>,

    /// The last lines
    #[arg(long, value_name = "N")]
    pub(crate) tail: Option<u64>,

    /// Keep printing until the job ends
    #[arg(long, short, conflicts_with = "wait")]
    pub(crate) follow: bool,

    /// Wait until the job has ended, then show its output
    #[arg(long)]
    pub(crate) wait: bool,

    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = parse_pause, requires = "wait")]
    pub(crate) timeout: Option<Duration>,

    /// Print the bytes unchanged, even if they affect the terminal
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
}

impl ShowOutput {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let (jobs, mut job) = self.meant.find(context)?;
        let mut timed_out = None;
        if self.wait {
            let waited = jobs.wait(&job.id, self.timeout, context.cancel())?;
            if matches!(waited, Waited::Cancelled(_)) {
                return Err(taskyard::Error::Cancelled.into());
            }
            timed_out = Some(matches!(waited, Waited::TimedOut(_)));
            job = waited.job();
        }
        let start = match (self.offset, self.tail) {
            (Some(offset), _) => offset,
            (None, Some(lines)) => jobs.output(&job)?.last_lines(lines)?,
            (None, None) => 0,
        };
        let mut page = Page { raw: self.raw, held: Vec::new() };
        let end = if output.is_json() && !self.follow {
            let answer = jobs.read_output(&job, start, timed_out)?.answer;
            output.document(&answer)?;
            answer.next_offset
        } else if output.is_json() {
            let (end, last) = follow_as_json(&jobs, job, start, context, output)?;
            job = last;
            end
        } else {
            let mut at = page.show(&jobs, &job, start, output)?;
            while self.follow && !job.state().is_over() && !context.cancel().is_cancelled() {
                output.flush()?;
                job = jobs.wait_for_output(&job.id, at, context.cancel())?;
                at = page.show(&jobs, &job, at, output)?;
            }
            page.finish(output)?;
            at
        };
        // Asking for output that does not exist yet reads nothing.
        if end > start && end > job.output_offset && context.actor()? == job.agent {
            // A failure to record the read position is ignored.
            let _ = jobs.note_read(&job.id, end);
        }
        // The output alone does not show that the job ended; waiting for it, or the JSON, does.
        if self.wait || self.follow || output.is_json() {
            acknowledge_end(&job, context, output)?;
        }
        Ok(if timed_out == Some(true) { Exit::GaveUp } else { Exit::Done })
    }
}

/// Prints a JSON object for each new part, and one at the end.
fn follow_as_json(
    jobs: &Jobs,
    mut job: Job,
    start: u64,
    context: &Context,
    output: &mut Output,
) -> Result<(u64, Job), Problem> {
    let mut at = start;
    loop {
        let OutputRead { answer, there } = jobs.read_output(&job, at, None)?;
        at = answer.next_offset;
        output.document(&answer)?;
        output.flush()?;
        if job.state().is_over() || context.cancel().is_cancelled() {
            return Ok((at, job));
        }
        job = jobs.wait_for_output(&job.id, there, context.cancel())?;
    }
}

/// The output shown so far, and an incomplete character at its end.
struct Page {
    raw: bool,
    held: Vec<u8>,
}

impl Page {
    /// Shows the output from an offset and returns where it ended.
    fn show(&mut self, jobs: &Jobs, job: &Job, from: u64, output: &mut Output) -> Result<u64, Problem> {
        let reader = jobs.output(job)?;
        let mut at = from;
        loop {
            let part = reader.read(at, PART)?;
            if let Some(gap) = part.gap {
                self.finish(output)?;
                self.tell_of(gap, job, output)?;
            }
            if part.bytes.is_empty() {
                return Ok(at.max(part.next));
            }
            self.write(&part.bytes, output)?;
            at = part.next;
        }
    }

    fn write(&mut self, bytes: &[u8], output: &mut Output) -> Result<(), Problem> {
        if self.raw {
            return Ok(output.bytes(bytes)?);
        }
        self.held.extend_from_slice(bytes);
        // The last character may be incomplete.
        let kept = self.held.len() - incomplete(&self.held);
        let rest = self.held.split_off(kept);
        output.text(&escaping::program_output(&String::from_utf8_lossy(&self.held)))?;
        self.held = rest;
        Ok(())
    }

    fn finish(&mut self, output: &mut Output) -> Result<(), Problem> {
        let rest = std::mem::take(&mut self.held);
        Ok(output.text(&escaping::program_output(&String::from_utf8_lossy(&rest)))?)
    }

    fn tell_of(&self, gap: Gap, job: &Job, output: &mut Output) -> Result<(), Problem> {
        let bytes = gap.to - gap.from;
        let text = match &job.machine {
            // The job has ended, so its supervisor can no longer be asked.
            Some(machine) if job.state().is_over() => format!("[{bytes} bytes left out here; see {machine}]"),
            _ => format!("[{bytes} bytes left out here]"),
        };
        if self.raw {
            return Ok(output.warn(&text)?);
        }
        output.line(&Line::new())?;
        Ok(output.line(&Line::new().with(Tone::Warning, &text))?)
    }
}

/// Start a command in the background
///
/// The command gets no input and runs in this directory. For a shell line use `-- sh -c LINE`. With --wait the exit
/// code is the command's own: 128+N if signal N ended it, and 125 if it could not be started or its outcome is unknown;
/// if you stop waiting, the job keeps running.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Wait until it has ended
    #[arg(long)]
    pub(crate) wait: bool,

    /// A name for it
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) name: Option<String>,

    /// Its purpose; default: its name or its command
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// The task it belongs to
    #[arg(long, value_name = "ID", value_parser = parse_id)]
    pub(crate) task: Option<TaskId>,

    /// Reopen that task if the job fails, times out or is lost
    #[arg(long, requires = "task")]
    pub(crate) reopen_on_failure: bool,

    /// The largest size of its output (`16MB`); beyond that the middle is left out
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) max_output: Option<u64>,

    /// How long it may take (`90s`, `1h`) before it is stopped
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    pub(crate) timeout: Option<Duration>,

    /// Its kind: local_bash, local_agent, remote_agent or in_process_teammate
    #[arg(long = "type", value_name = "TYPE", default_value = "local_bash")]
    pub(crate) kind: JobKind,

    #[command(flatten)]
    pub(crate) notify: NotifyFlag,

    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub(crate) command: Vec<String>,
}

impl Run {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        if self.wait {
            return self.run_and_wait(context, output).map_err(not_known);
        }
        let (_, job) = self.start(context)?;
        if output.is_json() {
            output.document(JobStarted { job: (&job).into(), timed_out: None })?;
        } else if output.is_quiet() {
            output.line(&Line::plain(job.id.as_str()))?;
        } else {
            tell_of_start(&job, output)?;
            output.advise(&format!("to see its output: `taskyard job output {} --follow`", job.id))?;
        }
        Ok(Exit::Done)
    }

    fn run_and_wait(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let notifier = context.notifier(self.notify)?;
        let (jobs, job) = self.start(context)?;
        // Stdout has a single object, which reports how the job ended.
        if !output.is_json() {
            if output.is_quiet() {
                output.line(&Line::plain(job.id.as_str()))?;
            } else {
                tell_of_start(&job, output)?;
            }
            output.flush()?;
        }
        wait_for_end((&jobs, notifier.as_ref()), &job, None, context, output)
    }

    fn start(self, context: &Context) -> Result<(Jobs, Job), Problem> {
        context.let_children_in()?;
        let jobs = context.jobs()?;
        jobs.reconcile_few()?;
        reopen_tasks_everywhere(&jobs, context.environment())?;
        if let Some(task) = &self.task {
            // A job for a task that does not exist is a mistake; report it before starting.
            context.yard()?.show(task)?.done()?;
        }
        let directory = context.directory()?.to_owned();
        let new = NewJob {
            kind: self.kind,
            description: self.description,
            name: self.name,
            store: context.address()?.to_string(),
            task: self.task,
            reopens_task: self.reopen_on_failure,
            session: context.environment().client_session.clone(),
            time_limit: self.timeout,
            max_output: self.max_output,
            ..NewJob::command(self.command, directory, context.actor()?, context.choice()?.list)
        };
        let job = jobs.start(new)?;
        Ok((jobs, job))
    }
}

fn tell_of_start(job: &Job, output: &mut Output) -> Result<(), Problem> {
    let mut line = Line::plain("Started ").with(Tone::Id, job.id.as_str());
    line.push(Tone::Plain, &format!(" {}", job.description));
    output.line(&line)?;
    Ok(output.say(&Line::plain("  ").with(Tone::Dim, &format!("output: {}", job.output_file.display())))?)
}

/// Parses a name that can be typed again.
fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(format!("invalid name `{}`: use printable characters", text.escape_debug()));
    }
    Ok(name.to_owned())
}

/// Wait until a job has ended
///
/// The exit code is the command's own: 128+N if signal N ended it, 124 if the wait timed out, and 125 if the outcome is
/// unknown. The agent that started the job is not notified of an end that it has seen here.
#[derive(Debug, Args)]
pub(crate) struct Wait {
    #[command(flatten)]
    pub(crate) meant: Meant,

    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = parse_pause)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) notify: NotifyFlag,
}

impl Wait {
    pub(crate) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
        let notifier = context.notifier(self.notify)?;
        let found = self.meant.find(context);
        let waited =
            found.and_then(|(jobs, job)| wait_for_end((&jobs, notifier.as_ref()), &job, self.timeout, context, output));
        waited.map_err(not_known)
    }
}

/// The exit code for a timeout, as of `timeout`.
const RAN_OUT: Exit = Exit::OfCommand(124);

/// Waits until a job has ended or the timeout expires, reports how it ended, and returns its command's exit code.
pub(crate) fn wait_for_end(
    (jobs, notifier): (&Jobs, Option<&Notifier>),
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
    if job.state().is_over() {
        notify_of_end(notifier, &job);
    }
    if output.is_json() {
        output.document(JobStarted { job: (&job).into(), timed_out: Some(timed_out) })?;
    } else {
        output.say(&job_line("", &job, &output.look()))?;
        if job.state() == JobState::Failed {
            output.advise(&format!("to see its output: `taskyard job output {}`", job.id))?;
        }
    }
    acknowledge_end(&job, context, output)?;
    Ok(exit)
}

/// Gives a problem the exit code for an unknown end.
pub(crate) fn not_known(problem: Problem) -> Problem {
    if problem.is_broken_pipe() { problem } else { problem.of_kind(ProblemKind::EndUnknown) }
}

/// Returns the exit code of an ended command, as a shell reports it.
fn exit_of(fate: &JobFate) -> Exit {
    let JobFate::Ended { how, .. } = fate else { return Exit::END_UNKNOWN };
    let code = how.exit_code().or_else(|| how.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(Exit::END_UNKNOWN, Exit::OfCommand)
}

/// Runs the internal parts of a job; returns `None` for any other command line. Avoids building the command tree,
/// since this is started twice per job and per command of `work`.
pub(crate) fn background(typed: &[OsString], environment: &Environment) -> Option<ExitCode> {
    let place = || {
        if let Some(plan) = &environment.failpoints {
            failpoint::arm(plan).ok()?;
        }
        places::jobs(environment, JobSettings::default()).ok()
    };
    let there = environment.clone();
    let share = move |job: &Job| shared_jobs_of(job, &there);
    dispatch(typed.iter().cloned(), place, share, |jobs, job| settle_end_of(jobs, job, environment))
}

/// The job a command is about.
#[derive(Debug, Args)]
pub(crate) struct Meant {
    /// The job: its id, or its name, which means the newest of that name
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

impl Meant {
    /// Finds the job after updating the state of jobs.
    pub(crate) fn find(&self, context: &Context) -> Result<(Jobs, Job), Problem> {
        let jobs = context.shared_jobs()?;
        let job = jobs.find(self.id.trim())?;
        reopen_tasks_everywhere(&jobs, context.environment())?;
        Ok((jobs, job))
    }
}

/// Acknowledges the end of a job that was just shown, if the acting agent started it. Flushes the output first, since
/// an answer that was not completely written was not seen.
pub(crate) fn acknowledge_end(job: &Job, context: &Context, output: &mut Output) -> Result<(), Problem> {
    if job.state().is_over() && context.actor()? == job.agent {
        output.flush()?;
        // On failure, the agent is notified twice.
        if let Err(error) = context.notices()?.acknowledge(std::slice::from_ref(&job.id)) {
            tracing::warn!(%error, "a notification will come though it is not needed");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use taskyard::core::{CommandEnd, JobEnding, JobFate, JobUsage, Timestamp};

    use super::exit_of;

    #[test]
    fn exit_code_is_of_the_command_or_its_signal() {
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
