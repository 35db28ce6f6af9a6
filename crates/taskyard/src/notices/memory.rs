//! Notices that live as long as the process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use taskyard_core::rules::notifying::is_told_of;
use taskyard_core::{Job, JobId, ListId};

use super::{Notice, NoticeError, NoticeListener, Notices};
use crate::clock;
use crate::store::Subscription;

/// Notices that live as long as the process.
#[derive(Debug, Default)]
pub struct MemoryNotices(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    notices: Vec<KeptNotice>,
    version: u64,
    followers: Vec<Follower>,
    last_follower: u64,
}

struct KeptNotice {
    notice: Notice,
    is_acknowledged: bool,
}

#[derive(Clone)]
struct Follower {
    number: u64,
    list: ListId,
    listener: Arc<Mutex<NoticeListener>>,
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} notices, {} followers", self.notices.len(), self.followers.len())
    }
}

impl Kept {
    /// Returns those that wait among the notices of jobs.
    fn waiting_among(&mut self, jobs: impl Fn(&JobId) -> bool) -> impl Iterator<Item = &mut KeptNotice> {
        self.version += 1;
        self.notices.iter_mut().filter(move |kept| !kept.is_acknowledged && jobs(&kept.notice.job.id))
    }
}

impl MemoryNotices {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        lock(&self.0)
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
        kept.notices.push(KeptNotice { notice: notice.clone(), is_acknowledged: false });
        let followers: Vec<Follower> = kept.followers.iter().filter(|one| one.list == job.list).cloned().collect();
        // A listener may ask for notices, and may end its own subscription.
        drop(kept);
        followers.iter().for_each(|follower| lock(&follower.listener)(&notice));
        Ok(())
    }

    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError> {
        let kept = self.kept();
        let waits = kept.notices.iter().filter(|kept| !kept.is_acknowledged && kept.notice.job.list == *list);
        let mut waiting: Vec<Notice> = waits.map(|kept| kept.notice.clone()).collect();
        waiting.sort_by_key(|notice| notice.queued);
        Ok(waiting)
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

    fn follow(&self, list: &ListId, to: NoticeListener) -> Result<Subscription, NoticeError> {
        let mut kept = self.kept();
        kept.last_follower += 1;
        let number = kept.last_follower;
        kept.followers.push(Follower { number, list: list.clone(), listener: Arc::new(Mutex::new(to)) });
        let followers = Arc::clone(&self.0);
        Ok(Subscription::new(move || lock(&followers).followers.retain(|follower| follower.number != number)))
    }
}

/// Whoever panicked has changed nothing or everything.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
