//! What a place that keeps notices promises.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use taskyard_core::{Job, JobId, ListId};

use super::{Notice, NoticeError};
use crate::store::Moved;

/// Keeps notices beside the lists they belong to, until they were heard.
pub trait Notices: fmt::Debug + Send + Sync {
    /// Queues the news that a job has ended for the agent that started it: once, however often it is called. Of a job that has not ended,
    /// or that an agent stopped, there is no news.
    fn queue(&self, job: &Job) -> Result<(), NoticeError>;

    /// Returns what waits on a list, whichever agent it is for, oldest first.
    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError>;

    /// Returns what was queued on a list, heard or not, oldest first, but for these jobs. What was heard may be forgotten.
    fn queued(&self, list: &ListId, but: &BTreeSet<JobId>) -> Result<Vec<Notice>, NoticeError>;

    /// Records that notices are told now, and leaves those among them that still wait: what the agent has acknowledged meanwhile is not to
    /// be told.
    fn deliver(&self, notices: &mut Vec<Notice>) -> Result<(), NoticeError>;

    /// Records that notices were heard, and returns how many of them had waited for that. They are never told again.
    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError>;

    /// Returns a number that is another one whenever something else may wait; none where that cannot be told just now. It costs
    /// next to nothing.
    fn version(&self) -> Option<u64>;

    /// Prepares to call `moved` whenever something may have been queued on a list; nothing is watched before [`NoticeWatch::keep_up`].
    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn NoticeWatch>, NoticeError>;
}

/// Watches the notices of a list for one follower, until it is dropped.
pub trait NoticeWatch: Send {
    /// Sees to it that what moves from now on is told, too often rather than not at all. Returns after how long the follower looks
    /// again without having been told; none where everything will be told.
    fn keep_up(&mut self) -> Result<Option<Duration>, NoticeError>;
}
