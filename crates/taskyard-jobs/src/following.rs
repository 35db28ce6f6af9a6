//! Waiting for a job's end or output, and stopping a job.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use taskyard::core::rules::leases::liveness::Liveness;
use taskyard::core::{AgentName, Job, JobFate, JobId};
use taskyard::jobs::{JobError, JobRecords};
use taskyard::liveness::liveness_of;
use taskyard::process::{Cancel, Waker, wait_for};
use taskyard::watching::WatchedDirectories;

use super::{Jobs, processes};
use crate::output::output_reader::SharedNews;

/// How soon to check again on a job that is starting, or if the system does not notify us.
const SOON: Duration = Duration::from_millis(20);
/// How much longer than its job a supervisor may take to end.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the supervisor of a job on another machine may take to receive and carry out a stop request.
const PATIENCE_ELSEWHERE: Duration = Duration::from_secs(90);
/// The pause between checks on a job that is starting.
const PAUSE: Duration = Duration::from_millis(10);

/// The result of waiting for a job.
#[derive(Clone, Debug)]
pub enum Waited {
    /// The job has ended.
    Over(Job),
    /// It has not ended within the timeout.
    TimedOut(Job),
    /// It has not ended, and the caller cancelled.
    Cancelled(Job),
}

impl Waited {
    /// Returns the job as of the end of the wait.
    pub fn job(self) -> Job {
        match self {
            Self::Over(job) | Self::TimedOut(job) | Self::Cancelled(job) => job,
        }
    }
}

impl Jobs {
    /// Waits until a job has ended, at most `timeout`.
    pub fn wait(&self, id: &JobId, timeout: Option<Duration>, cancel: &Cancel) -> Result<Waited, JobError> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let failed = |error| JobError::io("cannot wait for", &self.options.data)(error);
        let (waker, _subscription) = Waker::on(cancel).map_err(failed)?;
        let mut news = None;
        loop {
            let job = self.get(id)?;
            if job.state().is_over() {
                return Ok(Waited::Over(job));
            }
            if cancel.is_cancelled() {
                return Ok(Waited::Cancelled(job));
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(Waited::TimedOut(job));
            }
            if job.machine.is_some() {
                self.wait_for_news(&mut news, &job, &waker, until)?;
                continue;
            }
            let end = end_of(&job);
            let until = if end.is_some() { until } else { Some(sooner(until, SOON)) };
            wait_for([end.as_ref().map(|end| end.as_fd()), Some(waker.fd())], until).map_err(failed)?;
        }
    }

    /// Waits until a job has written more than `offset` bytes or has ended, or the caller cancels; returns the job.
    pub fn wait_for_output(&self, id: &JobId, offset: u64, cancel: &Cancel) -> Result<Job, JobError> {
        let failed = |error| JobError::io("cannot wait for", &self.options.data)(error);
        let (waker, _subscription) = Waker::on(cancel).map_err(failed)?;
        let (mut news, mut shared_news) = (None, None);
        loop {
            let job = self.get(id)?;
            if job.state().is_over() || job.output.written > offset || cancel.is_cancelled() {
                return Ok(job);
            }
            if job.machine.is_some() {
                self.wait_for_news(&mut shared_news, &job, &waker, None)?;
                continue;
            }
            // Start watching, then check again, so that output in between is not missed.
            let Some(heard) = &news else {
                news = Some(news_of(&job));
                continue;
            };
            let end = end_of(&job);
            // If the file cannot be watched, poll.
            let until = (end.is_none() || heard.is_none()).then(|| sooner(None, SOON));
            let things =
                [end.as_ref(), heard.as_ref().map(|heard| &heard.end)].map(|thing| thing.map(|thing| thing.as_fd()));
            let things = [things[0], Some(waker.fd()), things[1]];
            let [_, _, has_news] = wait_for(things, until).map_err(failed)?;
            if has_news {
                news = None;
            }
        }
    }

    /// Waits until there may be news of a job on another machine. The first call only starts watching, because earlier
    /// news would be missed.
    fn wait_for_news(
        &self,
        news: &mut Option<SharedNews>,
        job: &Job,
        waker: &Waker,
        until: Option<Instant>,
    ) -> Result<(), JobError> {
        match (&*news, &self.shared) {
            (Some(news), _) => news.wait(Some(waker.fd()), until),
            (None, Some(shared)) => {
                *news = Some(SharedNews::of(&**shared, &job.id)?);
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }
}

/// The result of stopping a job.
#[derive(Clone, Debug)]
pub enum Stopping {
    /// It was stopped, and none of its processes is left.
    Stopped(Job),
    /// It had already ended.
    WasOver(Job),
}

impl Jobs {
    /// Stops a job: all its processes are asked to end, and killed after a grace period. When this returns, none of
    /// them is left. `by` is the agent that requests it.
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
                // There is no supervisor left to do it.
                let pids = processes::kill_leftovers(&[&record]);
                self.record_loss(&mut records, &record)?;
                if !pids.is_empty() {
                    return Err(JobError::Unstoppable { job: id.clone(), pids });
                }
                return Ok(Stopping::Stopped(self.get(id)?));
            }
            let Some(handle) = supervisor.and_then(processes::handle) else {
                // It is just starting, or has just ended.
                std::thread::sleep(PAUSE);
                continue;
            };
            processes::signal_through(&handle, Signal::TERM);
            // A suspended supervisor would not handle the signal otherwise.
            processes::signal_through(&handle, Signal::CONT);
            let failed = |error| JobError::io("cannot wait for", &self.options.data)(error);
            let [has_ended] = wait_for([Some(handle.as_fd())], Some(deadline)).map_err(failed)?;
            if !has_ended && Instant::now() >= deadline {
                // It does not respond, so we take over.
                processes::signal_through(&handle, Signal::KILL);
                wait_for([Some(handle.as_fd())], None).map_err(failed)?;
            }
        }
    }

    /// Asks the supervisor of a job on another machine to stop it. If the supervisor does not answer in time, it still
    /// stops the job once it receives the request.
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

/// Returns a descriptor that becomes readable when the supervisor of a job ends.
fn end_of(job: &Job) -> Option<OwnedFd> {
    match &job.fate {
        JobFate::Running { supervisor, .. } => processes::handle(supervisor),
        _ => None,
    }
}

fn sooner(until: Option<Instant>, span: Duration) -> Instant {
    let soon = Instant::now() + span;
    until.map_or(soon, |until| until.min(soon))
}

/// Becomes readable when output is written.
struct OutputNews {
    end: OwnedFd,
    _watched: WatchedDirectories,
}

/// Starts watching the output of a job; `None` if the file cannot be watched.
fn news_of(job: &Job) -> Option<OutputNews> {
    let (end, other) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
    let mut watched = WatchedDirectories::new(move || {
        // One byte is enough; a full pipe needs no more.
        let _ = rustix::io::write(&other, b"!");
    });
    let is_told = watched.keep_up(&[job.output_file.parent()?]);
    is_told.then_some(OutputNews { end, _watched: watched })
}
