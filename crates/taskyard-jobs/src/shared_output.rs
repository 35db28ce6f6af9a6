//! Reading what a job of another machine wrote: the end of it from the store, the rest by asking its supervisor.

use std::sync::Arc;
use std::time::{Duration, Instant};

use taskyard::core::{Gap, JobId, JobOutput};
use taskyard::jobs::{JobError, OutputPart, SharedJobs, SharedTail};

use super::output_layout::begin_of_lines;
use super::shared_news::SharedNews;

/// The largest piece that is asked for at once, in bytes.
const LONGEST_PIECE: u64 = 512 << 10;
/// How long to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads what one job of another machine wrote.
#[derive(Debug)]
pub(crate) struct SharedReader {
    shared: Arc<dyn SharedJobs>,
    job: JobId,
}

impl SharedReader {
    pub(crate) fn new(shared: Arc<dyn SharedJobs>, job: JobId) -> Self {
        Self { shared, job }
    }

    /// Returns how much the job has written by its last report, and what is left of it.
    pub(crate) fn output(&self) -> Result<JobOutput, JobError> {
        Ok(self.tail(u64::MAX)?.job.output)
    }

    /// Returns what was written from an offset on, `most` bytes at most. Of a job that has ended only the tail can be read.
    pub(crate) fn read(&self, offset: u64, most: u64) -> Result<OutputPart, JobError> {
        loop {
            let SharedTail { job, from, mut bytes } = self.tail(offset)?;
            if from <= offset || job.state().is_over() {
                bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
                let gap = (from > offset).then_some(Gap { from: offset, to: from });
                let from = from.max(offset);
                return Ok(OutputPart { from, next: from + bytes.len() as u64, gap, bytes });
            }
            if let Some(part) = self.ask(offset, most.min(LONGEST_PIECE))? {
                return Ok(part);
            }
        }
    }

    /// Returns where the last lines begin, as far back as can be read.
    pub(crate) fn last_lines(&self, count: u64) -> Result<u64, JobError> {
        let SharedTail { job, from, .. } = self.tail(0)?;
        let first = if job.state().is_over() { from } else { job.output.gap.map_or(0, |gap| gap.to) };
        begin_of_lines(job.output.written, first, count, |from, length| Ok(self.read(from, length)?.bytes))
    }

    fn tail(&self, offset: u64) -> Result<SharedTail, JobError> {
        let missing = || JobError::NoSuchJob { name: self.job.as_str().to_owned() };
        self.shared.tail(&self.job, offset)?.ok_or_else(missing)
    }

    /// Asks the supervisor for a piece; `None` if the job has ended instead.
    fn ask(&self, offset: u64, length: u64) -> Result<Option<OutputPart>, JobError> {
        let news = SharedNews::of(&*self.shared, &self.job)?;
        let request = self.shared.request_output(&self.job, offset, length)?;
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(mut part) = self.shared.take_output(request)? {
                part.gap = (part.from > offset).then_some(Gap { from: offset, to: part.from });
                return Ok(Some(part));
            }
            let job = self.tail(u64::MAX)?.job;
            if job.state().is_over() {
                return Ok(None);
            }
            if Instant::now() >= until {
                return Err(JobError::NoAnswer { job: job.id, machine: job.machine.unwrap_or_default() });
            }
            news.wait(None, Some(until))?;
        }
    }
}
