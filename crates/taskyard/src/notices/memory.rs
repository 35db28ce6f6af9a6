//! Notices that live as long as the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use taskyard_core::rules::teams::notifying::is_told_of;
use taskyard_core::{Job, JobId, ListId};

use super::{Notice, NoticeError, NoticeWatch, Notices};
use crate::clock;
use crate::store::Moved;
use crate::watching::{Watchers, Watching};

/// Notices that live as long as the process.
#[derive(Debug, Default)]
pub struct MemoryNotices {
    kept: Mutex<Kept>,
    watchers: Watchers,
}

#[derive(Debug, Default)]
struct Kept {
    notices: Vec<KeptNotice>,
    version: u64,
}

#[derive(Debug)]
struct KeptNotice {
    notice: Notice,
    is_acknowledged: bool,
}

/// A follower that is told that something was queued, until this is dropped.
struct MemoryWatch {
    _watching: Watching,
}

impl Kept {
    /// Returns those of a list that are wanted, oldest first.
    fn on(&self, list: &ListId, is_wanted: impl Fn(&KeptNotice) -> bool) -> Vec<Notice> {
        let wanted = self.notices.iter().filter(|kept| kept.notice.job.list == *list && is_wanted(kept));
        let mut notices: Vec<Notice> = wanted.map(|kept| kept.notice.clone()).collect();
        notices.sort_by_key(|notice| notice.queued);
        notices
    }

    /// Returns those that wait among the notices of jobs.
    fn waiting_among(&mut self, jobs: impl Fn(&JobId) -> bool) -> impl Iterator<Item = &mut KeptNotice> {
        self.version += 1;
        self.notices.iter_mut().filter(move |kept| !kept.is_acknowledged && jobs(&kept.notice.job.id))
    }
}

impl MemoryNotices {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A thread that panicked has changed nothing or everything.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notices for MemoryNotices {
    fn queue(&self, job: &Job) -> Result<(), NoticeError> {
        let Some(queued) = job.ended().filter(|_| is_told_of(&job.fate)) else { return Ok(()) };
        let mut kept = self.kept();
        if kept.notices.iter().any(|kept| kept.notice.job.id == job.id) {
            return Ok(());
        }
        let notice = Notice { job: job.clone(), agent: job.agent.clone(), queued, delivered: None };
        kept.version += 1;
        kept.notices.push(KeptNotice { notice, is_acknowledged: false });
        drop(kept);
        self.watchers.tell();
        Ok(())
    }

    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError> {
        Ok(self.kept().on(list, |kept| !kept.is_acknowledged))
    }

    fn queued(&self, list: &ListId, but: &BTreeSet<JobId>) -> Result<Vec<Notice>, NoticeError> {
        Ok(self.kept().on(list, |kept| !but.contains(&kept.notice.job.id)))
    }

    fn deliver(&self, notices: &mut Vec<Notice>) -> Result<(), NoticeError> {
        let mut kept = self.kept();
        let now = clock::now();
        notices.retain(|notice| {
            kept.waiting_among(|job| *job == notice.job.id).map(|kept| kept.notice.delivered = Some(now)).count() > 0
        });
        Ok(())
    }

    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError> {
        let mut kept = self.kept();
        Ok(kept.waiting_among(|job| jobs.contains(job)).map(|kept| kept.is_acknowledged = true).count())
    }

    fn version(&self) -> Option<u64> {
        Some(self.kept().version)
    }

    fn watch(&self, _list: &ListId, moved: Moved) -> Result<Box<dyn NoticeWatch>, NoticeError> {
        Ok(Box::new(MemoryWatch { _watching: self.watchers.add(moved) }))
    }
}

impl NoticeWatch for MemoryWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, NoticeError> {
        Ok(None)
    }
}
