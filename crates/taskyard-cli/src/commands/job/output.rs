//! `taskyard job output`

use std::time::Duration;

use clap::Args;
use taskyard::core::render::{Line, Tone, escaping};
use taskyard::core::{Gap, Job};
use taskyard_jobs::{Jobs, OutputRead, Waited, incomplete};

use super::acknowledging::acknowledge_end;
use super::meaning::Meant;
use crate::arguments::parse_pause;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Output;
use crate::problem::Problem;

/// How much is read at once.
const PART: u64 = 256 << 10;

/// Show what a job wrote
///
/// Offsets count the bytes the job wrote, from 0. Where part of a large output was left out, a line says so. Characters
/// that could steer the terminal are escaped. The agent that started the job is not notified of an end that it has seen
/// here, with `--wait`, `--follow` or `--json`.
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

    /// Go on until the job ends
    #[arg(long, short, conflicts_with = "wait")]
    pub(crate) follow: bool,

    /// Wait until the job has ended, then show what it wrote
    #[arg(long)]
    pub(crate) wait: bool,

    /// How long to wait at most
    #[arg(long, value_name = "DURATION", value_parser = parse_pause, requires = "wait")]
    pub(crate) timeout: Option<Duration>,

    /// Print the bytes as they are, even if they upset the terminal
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
}

impl ShowOutput {
    pub(super) fn run(self, context: &Context, output: &mut Output) -> Result<Exit, Problem> {
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
        // A caller that asks for output that is not there yet has read nothing.
        if end > start && end > job.output_offset && context.actor()? == job.agent {
            // Where it cannot be remembered, it was read all the same.
            let _ = jobs.note_read(&job.id, end);
        }
        // What it wrote does not say that it has ended; that one waited for it, or the JSON, does.
        if self.wait || self.follow || output.is_json() {
            acknowledge_end(&job, context, output)?;
        }
        Ok(if timed_out == Some(true) { Exit::GaveUp } else { Exit::Done })
    }
}

/// Answers with one object for each part that comes, and one at the end.
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

/// What has been shown, and what waits for the rest of a character.
struct Page {
    raw: bool,
    held: Vec<u8>,
}

impl Page {
    /// Shows everything from a place on, and returns where it ended.
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
        // The last character may not be there entirely.
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
            // Nobody is there to ask any more.
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
