//! Hearing what the supervisor of a job of another machine reports.

use std::fmt;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use rustix::pipe::{PipeFlags, pipe_with};
use taskyard::core::JobId;
use taskyard::jobs::{JobError, JobNews, JobWatch, SharedJobs};
use taskyard::process::wait_for;

/// The open files of this process.
const OWN_FILES: &str = "/proc/self/fd";

/// Waits for what the supervisor of a job reports.
pub(crate) struct SharedNews {
    heard: OwnedFd,
    watch: Box<dyn JobWatch>,
}

impl SharedNews {
    /// Begins to listen.
    pub(crate) fn of(shared: &dyn SharedJobs, job: &JobId) -> Result<Self, JobError> {
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
        let (heard, other) = pipe.map_err(|error| JobError::io("cannot open a pipe in", OWN_FILES)(error.into()))?;
        let tell = move || {
            // One byte is enough; a pipe that is full of them needs no more.
            let _ = rustix::io::write(&other, b"!");
        };
        Ok(Self { heard, watch: shared.follow(job, JobNews::Reports, Arc::new(tell)) })
    }

    /// Sleeps until there may be news, something else can be read, the time has come, or it is time to look without having been told.
    pub(crate) fn wait(&self, other: Option<BorrowedFd<'_>>, until: Option<Instant>) -> Result<(), JobError> {
        let look = Instant::now() + self.watch.interval();
        let until = until.map_or(look, |until| until.min(look));
        let heard = wait_for([Some(self.heard.as_fd()), other], Some(until));
        let [has_news, _] = heard.map_err(JobError::io("cannot wait for files in", OWN_FILES))?;
        if has_news {
            let mut bytes = [0; 64];
            while rustix::io::read(&self.heard, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        }
        Ok(())
    }
}

impl fmt::Debug for SharedNews {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedNews")
    }
}
