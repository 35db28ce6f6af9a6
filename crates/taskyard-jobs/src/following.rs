//! Waiting for a job: for its end, or for more of its output; and stopping it.

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

use super::shared_news::SharedNews;
use super::{Jobs, processes};

/// How soon is looked again at a job that is just being started, or where the system does not tell when a process ends.
const SOON: Duration = Duration::from_millis(20);
/// How much longer than its job a supervisor may take to end.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the supervisor of a job of another machine may take to hear that it is to stop the job, and to do so.
const PATIENCE_ELSEWHERE: Duration = Duration::from_secs(90);
/// How long is waited for a job that is just being started.
const PAUSE: Duration = Duration::from_millis(10);

/// What a wait came to.
#[derive(Clone, Debug)]
pub enum Waited {
    /// The job has ended.
    Over(Job),
    /// It has not, and the time is up.
    TimedOut(Job),
    /// It has not, and the caller gave up waiting.
    Cancelled(Job),
}

impl Waited {
    /// Returns the job as it stood at last.
    pub fn job(self) -> Job {
        match self {
            Self::Over(job) | Self::TimedOut(job) | Self::Cancelled(job) => job,
        }
    }
}

impl Jobs {
    /// Sleeps until a job has ended, for so long at most.
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

    /// Sleeps until a job has written more than so much, has ended, or the caller gives up; returns it.
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
            // Listen first, then look once more: what comes in between is heard.
            let Some(heard) = &news else {
                news = Some(news_of(&job));
                continue;
            };
            let end = end_of(&job);
            // Where the system watches too much already, we look again and again, but not at once.
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

    /// Sleeps until there may be news of a job of another machine. The first time it only begins to listen: what came before was not heard.
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
                let pids = processes::kill_leftovers(&[&record]);
                self.record_loss(&mut records, &record)?;
                if !pids.is_empty() {
                    return Err(JobError::Unstoppable { job: id.clone(), pids });
                }
                return Ok(Stopping::Stopped(self.get(id)?));
            }
            let Some(handle) = supervisor.and_then(processes::handle) else {
                // It is just being started, or just ended.
                std::thread::sleep(PAUSE);
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

/// Returns what becomes readable when the supervisor of a job ends.
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

/// What becomes readable when the output of a job was written to.
struct OutputNews {
    end: OwnedFd,
    _watched: WatchedDirectories,
}

/// Begins to listen for output of a job; none where the system does not tell when a file is written to.
fn news_of(job: &Job) -> Option<OutputNews> {
    let (end, other) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
    let mut watched = WatchedDirectories::new(move || {
        // One byte is enough; a pipe that is full of them needs no more.
        let _ = rustix::io::write(&other, b"!");
    });
    let is_told = watched.keep_up(&[job.output_file.parent()?]);
    is_told.then_some(OutputNews { end, _watched: watched })
}
