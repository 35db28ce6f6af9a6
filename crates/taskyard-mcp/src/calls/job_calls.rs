//! `TaskRun`, `TaskOutput`, `TaskStop`

use std::path::Path;

use serde_json::Value;
use taskyard::core::tools::task_output::{Retrieval, Tail, TaskOutput, bytes_needed};
use taskyard::core::tools::task_run::TaskRun;
use taskyard::core::tools::{Answer, Scope, task_output, task_run, task_stop};
use taskyard::core::{Job, JobId};
use taskyard::jobs::JobError;
use taskyard::{Error, Outcome};
use taskyard_jobs::{Jobs, NewJob, Stopping, Waited};

use super::toolbox::NoAnswer;
use super::{JobDesk, Toolbox};

/// The shell that the client uses, and the one that every system has.
const SHELLS: [&str; 2] = ["bash", "sh"];

impl Toolbox {
    pub(super) fn run_job(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let rules = self.yard.rules();
        let TaskRun { command, description, task, time_limit } = task_run::read(input, rules)?;
        // Without a desk, the tool does not exist.
        let Some(desk) = &self.desk else { return Ok(task_run::not_started("jobs are not kept here")) };
        if let Some(task) = &task
            && let Outcome::Refused(refusal) = self.yard.show(task)?
        {
            return self.explained(|around| task_run::refused(&refusal, around));
        }
        let has_bash = ["/bin/bash", "/usr/bin/bash"].into_iter().any(|path| Path::new(path).exists());
        let shell = SHELLS[usize::from(!has_bash)];
        let words = vec![shell.to_owned(), "-c".to_owned(), command];
        let list = self.yard.list_id().clone();
        let new = NewJob {
            description,
            task,
            time_limit,
            store: desk.store.to_string(),
            session: desk.session.clone(),
            tool_use: desk.tool_use.clone(),
            ..NewJob::command(words, desk.directory.clone(), self.yard.actor().clone(), list)
        };
        match desk.jobs.start(new) {
            Ok(job) => Ok(task_run::started(&job, rules)),
            Err(error) => {
                tracing::warn!(%error, "no job was started");
                Ok(task_run::not_started(&error.to_string()))
            }
        }
    }

    pub(super) fn job_output(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let TaskOutput { job: named, wait } = task_output::read(input, self.yard.rules())?;
        if named.is_empty() {
            return Ok(task_output::without_id());
        }
        let Some((desk, job)) = self.named(&named)? else { return Ok(task_output::not_found(&named)) };
        let (retrieval, job) = match wait {
            _ if job.state().is_over() => (Retrieval::Success, job),
            None => (Retrieval::NotReady, job),
            Some(wait) => match desk.aside(|jobs| jobs.wait(&job.id, Some(wait), &desk.cancel)).map_err(Error::from)? {
                Waited::Over(job) => (Retrieval::Success, job),
                Waited::TimedOut(job) => (Retrieval::Timeout, job),
                Waited::Cancelled(_) => return Err(Error::Cancelled.into()),
            },
        };
        let acknowledges = self.rights.scope >= Scope::Work && job.agent == *self.yard.actor();
        if retrieval == Retrieval::Success && acknowledges {
            // An agent that has seen the end of the job needs no notification. If this fails, the agent is notified
            // again.
            if let Err(error) = desk.notices.acknowledge(std::slice::from_ref(&job.id)) {
                tracing::warn!(%error, "a notification will come though it is not needed");
            }
        }
        let (text, is_all) = last_of(&desk.jobs, &job, bytes_needed(desk.longest_output)).map_err(Error::from)?;
        Ok(task_output::retrieved(retrieval, &job, &Tail { text: &text, is_all, longest: desk.longest_output }))
    }

    pub(super) fn stop_job(&self, input: &Value) -> Result<Answer, NoAnswer> {
        let rules = self.yard.rules();
        let Some(named) = task_stop::read(input, rules)? else { return Ok(task_stop::without_id()) };
        let Some((desk, job)) = self.named(&named)? else { return Ok(task_output::not_found(&named)) };
        let is_own = self.rights.is_proved && job.agent == *self.yard.actor();
        if self.rights.scope < Scope::All && !is_own {
            return Ok(task_stop::not_own(&named));
        }
        match desk.aside(|jobs| jobs.stop(&job.id, self.yard.actor())).map_err(Error::from)? {
            Stopping::Stopped(job) => Ok(task_stop::stopped(&job)),
            Stopping::WasOver(job) => Ok(task_stop::not_running(&named, &job, rules)),
        }
    }

    /// Returns the job with an id or, except under the client's rules, with a name.
    fn named(&self, name: &str) -> Result<Option<(&JobDesk, Job)>, JobError> {
        let Some(desk) = &self.desk else { return Ok(None) };
        let found = match name.parse::<JobId>() {
            Ok(id) if self.yard.rules().is_client() => desk.jobs.get(&id),
            Err(_) if self.yard.rules().is_client() => return Ok(None),
            _ => desk.jobs.find(name),
        };
        match found {
            Ok(job) => Ok(Some((desk, job))),
            Err(JobError::NoSuchJob { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the end of a job's output, at least `bytes` bytes if there are as many, and whether that is the whole
/// output.
fn last_of(jobs: &Jobs, job: &Job, bytes: u64) -> Result<(String, bool), JobError> {
    let reader = jobs.output(job)?;
    let written = reader.output()?.written;
    let mut offset = written.saturating_sub(bytes);
    let mut is_all = offset == 0;
    let mut text = Vec::new();
    while offset < written {
        let part = reader.read(offset, written - offset)?;
        is_all &= part.gap.is_none();
        if part.next <= offset {
            break;
        }
        text.extend_from_slice(&part.bytes);
        offset = part.next;
    }
    Ok((String::from_utf8_lossy(&text).into_owned(), is_all))
}

impl From<JobError> for NoAnswer {
    fn from(error: JobError) -> Self {
        Self::Failed(error.into())
    }
}
