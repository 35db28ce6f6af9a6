//! Notices to agents about ended jobs: the store trait, and an in-memory store.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use taskyard_core::rules::teams::mailing::is_told_of;
use taskyard_core::{AgentName, Job, JobId, ListId, Timestamp};

#[cfg(feature = "sqlite")]
use crate::machine::MachineError;
use crate::store::Moved;
use crate::system;
use crate::system::about_to_block;
use crate::watching::{Watchers, Watching};

/// A store of notices, which keeps each until it is acknowledged.
pub trait Notices: fmt::Debug + Send + Sync {
    /// Queues a notice that a job has ended, for the agent that started it. Calling it again for the same job does
    /// nothing. No notice is queued for a job that has not ended or was stopped by an agent.
    fn queue(&self, job: &Job) -> Result<(), NoticeError>;

    /// Returns the pending notices of a list for all agents, oldest first.
    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError>;

    /// Returns all notices of a list, pending or acknowledged, oldest first, except those of the given jobs.
    /// Acknowledged notices may already have been deleted.
    fn queued(&self, list: &ListId, but: &BTreeSet<JobId>) -> Result<Vec<Notice>, NoticeError>;

    /// Records that notices are being delivered, and removes from the vector those that were acknowledged in the
    /// meantime.
    fn deliver(&self, notices: &mut Vec<Notice>) -> Result<(), NoticeError>;

    /// Records that notices were acknowledged, and returns how many of them were pending. They are never delivered
    /// again.
    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError>;

    /// Returns a number that changes whenever the pending notices may have changed; `None` if this cannot be determined
    /// at the moment. The call is very cheap.
    fn version(&self) -> Option<u64>;

    /// Prepares to call `moved` whenever a notice may have been queued on a list; watching starts with
    /// [`NoticeWatch::keep_up`].
    fn watch(&self, list: &ListId, moved: Moved) -> Result<Box<dyn NoticeWatch>, NoticeError>;
}

/// A watch on the notices of a list for one follower; dropping it ends the watch.
pub trait NoticeWatch: Send {
    /// Ensures that every change from now on triggers a notification; spurious notifications are possible. Returns the
    /// interval at which the follower must also poll, or `None` if every change is notified.
    fn keep_up(&mut self) -> Result<Option<Duration>, NoticeError>;
}

/// A notice that a job has ended, for the agent that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The ended job.
    pub job: Job,
    /// The agent that started the job.
    pub agent: AgentName,
    /// When the job ended.
    pub queued: Timestamp,
    /// When it was last delivered.
    pub delivered: Option<Timestamp>,
}

/// Notices kept in memory, for the lifetime of the process.
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

struct MemoryWatch {
    _watching: Watching,
}

impl Kept {
    /// Returns the selected notices of a list, oldest first.
    fn on(&self, list: &ListId, is_wanted: impl Fn(&KeptNotice) -> bool) -> Vec<Notice> {
        let wanted = self.notices.iter().filter(|kept| kept.notice.job.list == *list && is_wanted(kept));
        let mut notices: Vec<Notice> = wanted.map(|kept| kept.notice.clone()).collect();
        notices.sort_by_key(|notice| notice.queued);
        notices
    }

    /// Returns the pending notices among those of the given jobs.
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
        let now = system::now();
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

/// The pending notices of one list, cached.
#[derive(Debug)]
pub struct NoticeBoard {
    notices: Arc<dyn Notices>,
    list: ListId,
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    version: u64,
    waiting: Vec<Notice>,
}

impl NoticeBoard {
    /// Creates the board of a list.
    pub fn new(notices: Arc<dyn Notices>, list: ListId) -> Self {
        Self { notices, list, known: Mutex::new(None) }
    }

    /// Returns the underlying store.
    pub fn notices(&self) -> &dyn Notices {
        &*self.notices
    }

    /// Returns whether an agent may have pending notices. Very cheap.
    pub fn may_have_any(&self, agent: &AgentName) -> bool {
        // Another thread is reading, which may take a while; this caller must not wait.
        let Ok(known) = self.known.try_lock() else { return true };
        known.as_ref().is_none_or(|known| {
            known.waiting.iter().any(|notice| notice.agent == *agent) || self.notices.version() != Some(known.version)
        })
    }

    /// Returns the pending notices for an agent, oldest first.
    pub fn waiting(&self, agent: &AgentName) -> Result<Vec<Notice>, NoticeError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Query the version before reading, so that a change in between is noticed next time.
        let version = self.notices.version();
        let waiting = match known.take().filter(|known| Some(known.version) == version) {
            Some(known) => known.waiting,
            None => self.notices.waiting(&self.list)?,
        };
        let theirs = waiting.iter().filter(|notice| notice.agent == *agent).cloned().collect();
        *known = version.map(|version| Known { version, waiting });
        Ok(theirs)
    }
}

/// A database changed within this time may change again with the same metadata.
const GRAIN: Duration = Duration::from_millis(100);

/// The metadata of the database files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp([Option<(SystemTime, u64)>; 2]);

impl Stamp {
    /// Looks at the files.
    pub(super) fn of(data: &Path) -> Self {
        about_to_block("looking at a database");
        let look = |path: PathBuf| {
            let found = path.metadata().ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        // A process that only reads may leave an empty log behind, which is not a change.
        let log = look(data.join("machine.sqlite-wal")).filter(|(_, length)| *length > 0);
        Self([look(data.join("machine.sqlite")), log])
    }

    /// Returns a number for this metadata, or `None` unless a later change is certain to alter it.
    pub(super) fn settled(&self) -> Option<u64> {
        let mut number = DefaultHasher::new();
        self.0.hash(&mut number);
        self.is_settled().then(|| number.finish())
    }

    /// Returns whether a later change is certain to alter the metadata.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now();
        let is_old = |changed: &SystemTime| now.duration_since(*changed).is_ok_and(|age| age > GRAIN);
        self.0.iter().flatten().all(|(changed, _)| is_old(changed))
    }
}

/// Why notices could not be read or written: an error of the underlying store.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct NoticeError(Box<dyn Error + Send + Sync>);

impl NoticeError {
    /// Wraps a cause.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }

    /// Returns the database and its format, if the cause is that a newer Taskyard wrote it.
    #[cfg(feature = "sqlite")]
    pub(crate) fn newer_database(&self) -> Option<(&Path, i64)> {
        match self.0.downcast_ref()? {
            MachineError::Database(error) => error.newer_database(),
            _ => None,
        }
    }

    /// Returns the error of this machine's database, if that is the cause.
    #[cfg(feature = "sqlite")]
    pub(crate) fn into_machine(self) -> Result<MachineError, Self> {
        self.0.downcast().map(|error| *error).map_err(Self)
    }
}

#[cfg(feature = "sqlite")]
impl From<MachineError> for NoticeError {
    fn from(error: MachineError) -> Self {
        Self::new(error)
    }
}
