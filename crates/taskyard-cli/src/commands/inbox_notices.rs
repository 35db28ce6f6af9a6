//! The jobs among what waits for an agent: which have ended, and which still run.

use std::collections::HashSet;
use std::sync::Arc;

use taskyard::core::answers::teams::Notification;
use taskyard::core::dialect::task_notification::block;
use taskyard::core::render::{Look, job_line};
use taskyard::core::{AgentName, ClientVersion, Job, JobId, ListId, Timestamp};
use taskyard::notices::{Notice, Notices};
use taskyard_jobs::Jobs;

use crate::context::Context;
use crate::output::Output;
use crate::problem::Problem;

/// What waits for one agent on one list.
pub(super) struct JobNotices {
    jobs: Jobs,
    notices: Arc<dyn Notices>,
    agent: AgentName,
    list: ListId,
    version: ClientVersion,
}

impl JobNotices {
    /// Finds where notifications for the acting agent are kept.
    pub(super) fn of(context: &Context) -> Result<Self, Problem> {
        // A job that was lost tells no agent of it before a process has looked.
        let jobs = context.jobs()?;
        if let Err(error) = jobs.reconcile() {
            tracing::warn!(%error, "jobs that were lost are not told of");
        }
        Ok(Self {
            jobs,
            notices: context.notices()?,
            agent: context.actor()?,
            list: context.choice()?.list,
            version: context.rules()?.client_version(),
        })
    }

    /// Returns what waits, oldest first, and records that it is told.
    pub(super) fn take(&self, known: &HashSet<JobId>) -> Result<Vec<Notice>, Problem> {
        let mut waiting = self.notices.waiting(&self.list)?;
        waiting.retain(|notice| notice.agent == self.agent && !known.contains(&notice.job.id));
        self.notices.deliver(&mut waiting)?;
        Ok(waiting)
    }

    /// Returns the jobs that have not ended, oldest first.
    pub(super) fn unfinished(&self) -> Result<Vec<Job>, Problem> {
        Ok(self.jobs.unfinished(&self.agent, &self.list)?)
    }

    /// Says that notifications were heard.
    pub(super) fn acknowledge(&self, heard: &[Notice]) -> Result<(), Problem> {
        let jobs: Vec<JobId> = heard.iter().map(|notice| notice.job.id.clone()).collect();
        self.notices.acknowledge(&jobs)?;
        Ok(())
    }

    /// Returns the list whose jobs they are.
    pub(super) fn list(&self) -> &ListId {
        &self.list
    }

    /// Writes one for people, or for models in the client's words.
    pub(super) fn show(&self, notice: &Notice, output: &mut Output) -> Result<(), Problem> {
        if output.is_terminal() {
            let now = Some(Timestamp(jiff::Timestamp::now().as_millisecond()));
            let look = Look { now, ..output.look() };
            return Ok(output.line(&job_line("", &notice.job, &look))?);
        }
        Ok(output.text(&format!("{}\n", block(&notice.job, self.version)))?)
    }

    /// Returns one for programs.
    pub(super) fn notification<'a>(&self, notice: &'a Notice) -> Notification<'a> {
        let text = block(&notice.job, self.version);
        Notification { job: notice.job.id.as_str(), text, timestamp: notice.queued.to_string() }
    }
}
