//! Output and notices of jobs, as reported to programs.

use std::collections::HashSet;
use std::sync::Arc;

use taskyard::core::answers::claim_answers::JobOutput;
use taskyard::core::answers::team_answers::Notification;
use taskyard::core::dialect::message_protocol::block;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::{AgentName, ClientVersion, Job, JobId, ListId};
use taskyard::jobs::JobError;
use taskyard::notices::{Notice, Notices};

use crate::following::Stopping;
use crate::registry::Jobs;

/// The size of a read.
const PART: u64 = 256 << 10;

/// The output of a job from an offset on.
#[derive(Debug)]
pub struct OutputRead<'a> {
    /// The answer. Continue reading at its `next_offset`.
    pub answer: JobOutput<'a>,
    /// The number of bytes that were available, including an incomplete character at the end, which is not in the
    /// answer yet.
    pub there: u64,
}

impl Jobs {
    /// Reads all output of a job from an offset on. `timed_out` says whether the caller stopped waiting before the job
    /// ended.
    pub fn read_output<'a>(
        &self,
        job: &'a Job,
        start: u64,
        timed_out: Option<bool>,
    ) -> Result<OutputRead<'a>, JobError> {
        let reader = self.output(job)?;
        let (mut bytes, mut at, mut from, mut gap) = (Vec::new(), start, None, None);
        loop {
            let part = reader.read(at, PART)?;
            // The answer has room for one gap. A second one, which opened while we read, is left to the next read.
            if gap.is_some() && part.gap.is_some() {
                break;
            }
            gap = gap.or(part.gap);
            from = from.or(Some(part.from));
            if part.bytes.is_empty() {
                at = at.max(part.next);
                break;
            }
            bytes.extend_from_slice(&part.bytes);
            at = part.next;
        }
        let there = at;
        if !job.state().is_over() {
            let held = incomplete(&bytes);
            bytes.truncate(bytes.len() - held);
            at -= held as u64;
        }
        let answer = JobOutput {
            job: job.into(),
            output: String::from_utf8_lossy(&bytes).into_owned(),
            offset: from.unwrap_or(start),
            next_offset: at,
            gap: gap.map(Into::into),
            timed_out,
        };
        Ok(OutputRead { answer, there })
    }
}

/// Returns how many bytes at the end belong to an incomplete character.
pub fn incomplete(bytes: &[u8]) -> usize {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    let Some(at) = last.iter().rposition(|byte| byte & 0xc0 != 0x80) else { return 0 };
    let needed = match last[at] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let there = last.len() - at;
    if there < needed { there } else { 0 }
}

impl Stopping {
    /// Returns the job that was stopped, or a problem if it was not running.
    pub fn stopped(self) -> Result<Job, Problem> {
        match self {
            Self::Stopped(job) => Ok(job),
            Self::WasOver(job) => {
                let message = format!("job {} is not running (status: {})", job.id, job.state());
                Err(Problem::new(ProblemKind::Refused, "job_not_running", message)
                    .hint(format!("see its output with `taskyard job output {}`", job.id))
                    .detail("job", job.id.as_str())
                    .detail("status", job.state().as_str()))
            }
        }
    }
}

/// The pending job notices of an agent on a list, and its jobs that are still running.
#[derive(Debug)]
pub struct JobNotices {
    jobs: Jobs,
    notices: Arc<dyn Notices>,
    agent: AgentName,
    list: ListId,
    version: ClientVersion,
}

impl JobNotices {
    /// Returns the notices of an agent. They are worded as in this release of the client.
    pub fn of(jobs: Jobs, notices: Arc<dyn Notices>, agent: AgentName, list: ListId, version: ClientVersion) -> Self {
        // The agent of a lost job is not notified before a process has checked.
        if let Err(error) = jobs.reconcile() {
            tracing::warn!(%error, "jobs that were lost are not told of");
        }
        Self { jobs, notices, agent, list, version }
    }

    /// Returns the pending notices, oldest first, except those of known jobs, and records that they were delivered.
    pub fn take(&self, known: &HashSet<JobId>) -> Result<Vec<Notice>, Problem> {
        let mut waiting = self.notices.waiting(&self.list)?;
        waiting.retain(|notice| notice.agent == self.agent && !known.contains(&notice.job.id));
        self.notices.deliver(&mut waiting)?;
        Ok(waiting)
    }

    /// Returns the agent's jobs that have not ended, oldest first.
    pub fn unfinished(&self) -> Result<Vec<Job>, JobError> {
        self.jobs.unfinished(&self.agent, &self.list)
    }

    /// Acknowledges notices, so that they are not delivered again.
    pub fn acknowledge(&self, heard: &[Notice]) -> Result<(), Problem> {
        let jobs: Vec<JobId> = heard.iter().map(|notice| notice.job.id.clone()).collect();
        self.notices.acknowledge(&jobs)?;
        Ok(())
    }

    /// Returns the list of the jobs.
    pub fn list(&self) -> &ListId {
        &self.list
    }

    /// Returns a notice in the client's wording, for models.
    pub fn block(&self, notice: &Notice) -> String {
        block(&notice.job, self.version)
    }

    /// Returns a notice for programs.
    pub fn notification<'a>(&self, notice: &'a Notice) -> Notification<'a> {
        Notification { job: notice.job.id.as_str(), text: self.block(notice), timestamp: notice.queued.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::incomplete;

    #[test]
    fn only_the_beginning_of_a_character_is_held_back() {
        assert_eq!(incomplete(b"abc"), 0);
        assert_eq!(incomplete("ü".as_bytes()), 0);
        assert_eq!(incomplete(&"ü".as_bytes()[..1]), 1);
        assert_eq!(incomplete(&"a日".as_bytes()[..3]), 2);
        assert_eq!(incomplete(&"👩".as_bytes()[..3]), 3);
        assert_eq!(incomplete(b"\xff\xff"), 0);
        assert_eq!(incomplete(b"\x80\x80\x80\x80"), 0);
        assert_eq!(incomplete(b""), 0);
    }
}
