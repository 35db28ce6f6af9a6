//! What programs are told of jobs: what they wrote, and what waits for the agent that started them.

use std::collections::HashSet;
use std::sync::Arc;

use taskyard::core::answers::jobs::JobOutput;
use taskyard::core::answers::teams::Notification;
use taskyard::core::dialect::task_notification::block;
use taskyard::core::problem::{Problem, ProblemKind};
use taskyard::core::{AgentName, ClientVersion, Job, JobId, ListId};
use taskyard::jobs::JobError;
use taskyard::notices::{Notice, Notices};

use crate::following::Stopping;
use crate::registry::Jobs;

/// How much is read at once.
const PART: u64 = 256 << 10;

/// What a job wrote from a place on.
#[derive(Debug)]
pub struct OutputRead<'a> {
    /// The answer. Its `next_offset` is where to go on.
    pub answer: JobOutput<'a>,
    /// How much there was: the beginning of a character waits for its rest.
    pub there: u64,
}

impl Jobs {
    /// Reads everything that a job wrote, from a place on. `timed_out` says whether the caller stopped waiting before the job ended.
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
            // One that opened while we read is for the reader that goes on from here: the answer tells of one.
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

/// Returns how many bytes at the end are the beginning of a character.
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
    /// Returns the job that was stopped, or the problem that it was not running.
    pub fn stopped(self) -> Result<Job, Problem> {
        match self {
            Self::Stopped(job) => Ok(job),
            Self::WasOver(job) => {
                let message = format!("job {} is not running (status: {})", job.id, job.state());
                Err(Problem::new(ProblemKind::Refused, "job_not_running", message)
                    .hint(format!("see what it wrote with `taskyard job output {}`", job.id))
                    .detail("job", job.id.as_str())
                    .detail("status", job.state().as_str()))
            }
        }
    }
}

/// The jobs among what waits for an agent on a list: which have ended, and which still run.
#[derive(Debug)]
pub struct JobNotices {
    jobs: Jobs,
    notices: Arc<dyn Notices>,
    agent: AgentName,
    list: ListId,
    version: ClientVersion,
}

impl JobNotices {
    /// Looks for what waits for an agent. Notifications are worded as this release of the client words them.
    pub fn of(jobs: Jobs, notices: Arc<dyn Notices>, agent: AgentName, list: ListId, version: ClientVersion) -> Self {
        // A job that was lost tells no agent of it before a process has looked.
        if let Err(error) = jobs.reconcile() {
            tracing::warn!(%error, "jobs that were lost are not told of");
        }
        Self { jobs, notices, agent, list, version }
    }

    /// Returns the notices that wait, oldest first, without those of known jobs, and records that they are told.
    pub fn take(&self, known: &HashSet<JobId>) -> Result<Vec<Notice>, Problem> {
        let mut waiting = self.notices.waiting(&self.list)?;
        waiting.retain(|notice| notice.agent == self.agent && !known.contains(&notice.job.id));
        self.notices.deliver(&mut waiting)?;
        Ok(waiting)
    }

    /// Returns the jobs that have not ended, oldest first.
    pub fn unfinished(&self) -> Result<Vec<Job>, JobError> {
        self.jobs.unfinished(&self.agent, &self.list)
    }

    /// Records that notices were heard: they do not come again.
    pub fn acknowledge(&self, heard: &[Notice]) -> Result<(), Problem> {
        let jobs: Vec<JobId> = heard.iter().map(|notice| notice.job.id.clone()).collect();
        self.notices.acknowledge(&jobs)?;
        Ok(())
    }

    /// Returns the list whose jobs they are.
    pub fn list(&self) -> &ListId {
        &self.list
    }

    /// Returns a notice in the client's words, for models.
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
