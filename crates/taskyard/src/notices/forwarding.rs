//! Passing on what the jobs of this machine have to tell to the notices that belong to their lists.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use taskyard_core::{Job, JobId, ListId};

use super::{MachineNotices, Notice, NoticeError, NoticeWatch, Notices};
use crate::store::Moved;

/// Notices that are kept elsewhere than on this machine, where jobs leave theirs when they end. The process that asks
/// passes them on first.
#[derive(Clone, Debug)]
pub struct ForwardedNotices {
    here: MachineNotices,
    there: Arc<dyn Notices>,
    keeps_here: bool,
}

impl ForwardedNotices {
    /// Returns the notices of a store, to which are passed on those that its jobs leave here. They are kept there alone from then on.
    pub fn new(here: MachineNotices, there: Arc<dyn Notices>) -> Self {
        Self { here, there, keeps_here: false }
    }

    /// Does the same for a store that ends with its process: what was passed on is kept here, too, until it was heard. An agent in another
    /// process may be meant, with a store of the same address.
    pub fn keeping(here: MachineNotices, there: Arc<dyn Notices>) -> Self {
        Self { here, there, keeps_here: true }
    }

    /// Passes on what waits here.
    fn forward(&self, list: &ListId) -> Result<(), NoticeError> {
        self.here.waiting(list)?.iter().try_for_each(|notice| self.pass_on(&notice.job))
    }

    fn pass_on(&self, job: &Job) -> Result<(), NoticeError> {
        self.there.queue(job)?;
        if !self.keeps_here {
            // Should this not happen, it is queued again, which changes nothing.
            self.here.acknowledge(std::slice::from_ref(&job.id))?;
        }
        Ok(())
    }
}

impl Notices for ForwardedNotices {
    fn queue(&self, job: &Job) -> Result<(), NoticeError> {
        if self.keeps_here {
            self.here.queue(job)?;
        }
        self.pass_on(job)
    }

    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError> {
        self.forward(list)?;
        self.there.waiting(list)
    }

    fn queued(&self, list: &ListId, but: &BTreeSet<JobId>) -> Result<Vec<Notice>, NoticeError> {
        self.forward(list)?;
        self.there.queued(list, but)
    }

    fn deliver(&self, notices: &mut Vec<Notice>) -> Result<(), NoticeError> {
        if self.keeps_here {
            self.here.deliver(notices)?;
        }
        self.there.deliver(notices)
    }

    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError> {
        let here = self.here.acknowledge(jobs)?;
        Ok(self.there.acknowledge(jobs)?.max(here))
    }

    fn version(&self) -> Option<u64> {
        let mut versions = DefaultHasher::new();
        (self.here.version()?, self.there.version()?).hash(&mut versions);
        Some(versions.finish())
    }

    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn NoticeWatch>, NoticeError> {
        let there = self.there.watch(list, Arc::clone(&moved))?;
        let here = self.here.watch(list, moved)?;
        Ok(Box::new(ForwardingWatch { notices: self.clone(), list: list.clone(), here, there }))
    }
}

/// Watches both, and passes on what comes here.
struct ForwardingWatch {
    notices: ForwardedNotices,
    list: ListId,
    here: Box<dyn NoticeWatch>,
    there: Box<dyn NoticeWatch>,
}

impl NoticeWatch for ForwardingWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, NoticeError> {
        let pauses = [self.here.keep_up()?, self.there.keep_up()?];
        self.notices.forward(&self.list)?;
        Ok(pauses.into_iter().flatten().min())
    }
}
