//! Stopping a job.

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use taskyard::core::rules::leases::liveness::Liveness;
use taskyard::core::{AgentName, Job, JobFate, JobId};
use taskyard::jobs::{JobError, JobRecords};
use taskyard::liveness::liveness_of;
use taskyard::process::wait_for;

use super::shared_news::SharedNews;
use super::{Jobs, leftovers, processes};

/// How much longer than its job a supervisor may take to end.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the supervisor of a job of another machine may take to hear that it is to stop the job, and to do so.
const PATIENCE_ELSEWHERE: Duration = Duration::from_secs(90);
/// How long is waited for a job that is just being started.
const SOON: Duration = Duration::from_millis(10);

/// What became of the wish to stop a job.
#[derive(Clone, Debug)]
pub enum Stopping {
    /// Nothing of it runs any more.
    Stopped(Job),
    /// It had ended before.
    WasOver(Job),
}

impl Jobs {
    /// Stops a job: everything it started is asked to end, and killed when that has not helped after a grace period. When this
    /// returns, nothing of it runs any more. `by` is the agent that wants that.
    pub fn stop(&self, id: &JobId, by: &AgentName) -> Result<Stopping, JobError> {
        let missing = || JobError::NoSuchJob { name: id.as_str().to_owned() };
        let Some(record) = self.true_record(id)? else { return self.stop_elsewhere(id, by) };
        if record.job.state().is_over() {
            return Ok(Stopping::WasOver(self.get(id)?));
        }
        if let Some(living) = record.living()
            && liveness_of(living.guardian()) == Liveness::Unknown
        {
            return match self.stop_elsewhere(id, by) {
                Err(JobError::NoSuchJob { .. }) => {
                    Err(JobError::RunsElsewhere { job: id.clone(), by: Box::new(living.guardian().clone()) })
                }
                stopped => stopped,
            };
        }
        let mut records = JobRecords::open(&self.options.data)?;
        records.change(id, |record| {
            let is_alive = !record.job.state().is_over();
            record.is_stop_asked |= is_alive;
            is_alive
        })?;
        let deadline = Instant::now() + record.grace + PATIENCE;
        loop {
            let record = self.recorded(id)?.ok_or_else(missing)?;
            let supervisor = match &record.job.fate {
                JobFate::Ended { .. } | JobFate::Lost { .. } => return Ok(Stopping::Stopped(self.get(id)?)),
                JobFate::Pending => None,
                JobFate::Running { supervisor, .. } => Some(supervisor),
            };
            if self.judge(&record).is_some() {
                // No supervisor is left to do it for us.
                let pids = leftovers::kill(&[&record]);
                self.record_loss(&mut records, &record)?;
                if !pids.is_empty() {
                    return Err(JobError::Unstoppable { job: id.clone(), pids });
                }
                return Ok(Stopping::Stopped(self.get(id)?));
            }
            let Some(handle) = supervisor.and_then(processes::handle) else {
                // It is just being started, or just ended.
                std::thread::sleep(SOON);
                continue;
            };
            processes::signal_through(&handle, Signal::TERM);
            // One that is suspended could not hear it.
            processes::signal_through(&handle, Signal::CONT);
            let failed = |error| JobError::io("cannot wait for", &self.options.data)(error);
            let [has_ended] = wait_for([Some(handle.as_fd())], Some(deadline)).map_err(failed)?;
            if !has_ended && Instant::now() >= deadline {
                // It does not answer: we do its work ourselves.
                processes::signal_through(&handle, Signal::KILL);
                wait_for([Some(handle.as_fd())], None).map_err(failed)?;
            }
        }
    }

    /// Has the supervisor of a job of another machine stop it. If it does not answer, it stops the job as soon as it hears of it.
    fn stop_elsewhere(&self, id: &JobId, by: &AgentName) -> Result<Stopping, JobError> {
        let job = self.elsewhere(id)?;
        let Some(shared) = self.shared.as_ref().filter(|_| !job.state().is_over()) else {
            return Ok(Stopping::WasOver(job));
        };
        let news = SharedNews::of(&**shared, id)?;
        shared.request_stop(id, by)?;
        let deadline = Instant::now() + PATIENCE_ELSEWHERE;
        loop {
            let job = self.elsewhere(id)?;
            let is_lost = matches!(job.fate, JobFate::Lost { .. });
            if is_lost || Instant::now() >= deadline {
                return Err(JobError::NoAnswer { job: job.id, machine: job.machine.unwrap_or_default() });
            }
            if job.state().is_over() {
                return Ok(Stopping::Stopped(job));
            }
            news.wait(None, Some(deadline))?;
        }
    }
}
