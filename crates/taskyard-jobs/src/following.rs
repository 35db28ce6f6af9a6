//! Waiting for a job: for its end, or for more of its output.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use taskyard::core::{Job, JobFate, JobId};
use taskyard::jobs::JobError;
use taskyard::process::{Cancel, Wakeup, wait_for};
use taskyard::watching::WatchedDirectories;

use super::shared_news::SharedNews;
use super::{Jobs, processes};

/// How soon is looked again at a job that is just being started, or where the system does not tell when a process ends.
const SOON: Duration = Duration::from_millis(20);

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
        let wakeup = Wakeup::on(cancel).map_err(failed)?;
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
                self.wait_for_news(&mut news, &job, &wakeup, until)?;
                continue;
            }
            let end = end_of(&job);
            let until = if end.is_some() { until } else { Some(sooner(until, SOON)) };
            wait_for([end.as_ref().map(|end| end.as_fd()), Some(wakeup.fd())], until).map_err(failed)?;
        }
    }

    /// Sleeps until a job has written more than so much, has ended, or the caller gives up; returns it.
    pub fn wait_for_output(&self, id: &JobId, offset: u64, cancel: &Cancel) -> Result<Job, JobError> {
        let failed = |error| JobError::io("cannot wait for", &self.options.data)(error);
        let wakeup = Wakeup::on(cancel).map_err(failed)?;
        let (mut news, mut shared_news) = (None, None);
        loop {
            let job = self.get(id)?;
            if job.state().is_over() || job.output.written > offset || cancel.is_cancelled() {
                return Ok(job);
            }
            if job.machine.is_some() {
                self.wait_for_news(&mut shared_news, &job, &wakeup, None)?;
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
            let things = [things[0], Some(wakeup.fd()), things[1]];
            let [_, _, has_news] = wait_for(things, until).map_err(failed)?;
            if has_news {
                news = None;
            }
        }
    }
}

impl Jobs {
    /// Sleeps until there may be news of a job of another machine. The first time it only begins to listen: what came before was not heard.
    fn wait_for_news(
        &self,
        news: &mut Option<SharedNews>,
        job: &Job,
        wakeup: &Wakeup,
        until: Option<Instant>,
    ) -> Result<(), JobError> {
        match (&*news, &self.shared) {
            (Some(news), _) => news.wait(Some(wakeup.fd()), until),
            (None, Some(shared)) => {
                *news = Some(SharedNews::of(&**shared, &job.id)?);
                Ok(())
            }
            (None, None) => Ok(()),
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
