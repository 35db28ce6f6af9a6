//! What a place that keeps notices promises.

use std::fmt;

use taskyard_core::{Job, JobId, ListId};

use super::{Notice, NoticeError};
use crate::store::Subscription;

/// Hears of a notice.
pub type NoticeListener = Box<dyn Fn(&Notice) + Send>;

/// Keeps notices beside the lists they belong to, until they were heard.
pub trait Notices: fmt::Debug + Send + Sync {
    /// Queues the news that a job has ended for the agent that started it: once, however often it is called. Of a job that has
    /// not ended, or that somebody stopped, there is no news.
    fn queue(&self, job: &Job) -> Result<(), NoticeError>;

    /// Returns what waits on a list, whoever it is for, oldest first.
    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError>;

    /// Records that notices are told now, and leaves those among them that still wait: what somebody has acknowledged meanwhile
    /// is not to be told.
    fn deliver(&self, notices: &mut Vec<Notice>) -> Result<(), NoticeError>;

    /// Records that notices were heard, and returns how many of them had waited for that. They are never told again.
    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError>;

    /// Returns a number that is another one whenever something else may wait; none where that cannot be told just now. It costs
    /// next to nothing.
    fn version(&self) -> Option<u64>;

    /// Calls a listener for every notice that is queued on a list from now on, whoever it is for, until the subscription is
    /// dropped.
    fn follow(&self, list: &ListId, to: NoticeListener) -> Result<Subscription, NoticeError>;
}
