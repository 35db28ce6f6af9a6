//! The notices of a machine, and forwarding them to a shared store.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use taskyard_core::{AgentName, Job, JobId, ListId, Timestamp};

use super::{Notice, NoticeError, NoticeWatch, Notices};
use crate::jobs::{job_in, row_of};
use crate::machine::{JobRow, Machine, MachineError, NoticeRow, NoticeRows, has_been, keep_foreign, queue_notice};
use crate::notices::notice_store::Stamp;
use crate::store::{Moved, UNTOLD};
use crate::system;
use crate::watching::WatchedDirectories;

/// The notices of a machine. They are queued where jobs end, and remain pending here until they are acknowledged.
#[derive(Clone, Debug)]
pub struct MachineNotices {
    data: PathBuf,
    store: Option<String>,
}

impl MachineNotices {
    /// Returns the notices in a data directory.
    pub fn in_data(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), store: None }
    }

    /// Restricts the notices to the store with this address, since lists of other stores may have the same names.
    #[must_use]
    pub fn of_store(self, address: impl fmt::Display) -> Self {
        Self { store: Some(address.to_string()), ..self }
    }

    /// Reads the jobs of these rows, including archived ones. An unreadable job does not affect the others.
    fn read(&self, machine: &Machine, rows: Vec<NoticeRow>) -> Result<Vec<Notice>, MachineError> {
        let mut notices = Vec::with_capacity(rows.len());
        for NoticeRow { job, agent, queued, delivered } in rows {
            let (Some(found), Ok(agent)) = (machine.told_job_row(&job)?, AgentName::new(agent)) else { continue };
            match job_in(&found) {
                Ok(job) if self.store.as_ref().is_some_and(|store| *store != job.store) => {}
                Ok(job) => {
                    let (queued, delivered) = (Timestamp(queued), delivered.map(Timestamp));
                    notices.push(Notice { job, agent, queued, delivered });
                }
                Err(error) => tracing::warn!(job, %error, "passed over"),
            }
        }
        Ok(notices)
    }
}

impl Notices for MachineNotices {
    fn queue(&self, job: &Job) -> Result<(), NoticeError> {
        let mut machine = Machine::open(&self.data)?;
        Ok(machine.alone(&self.data, |transaction| {
            if !has_been(transaction, job.id.as_str())? {
                keep_foreign(transaction, &row_of(job))?;
            }
            queue_notice(transaction, job)
        })?)
    }

    fn waiting(&self, list: &ListId) -> Result<Vec<Notice>, NoticeError> {
        let Some(machine) = Machine::look(&self.data)? else { return Ok(Vec::new()) };
        Ok(self.read(&machine, machine.notice_rows(list.as_str(), NoticeRows::Waiting)?)?)
    }

    fn queued(&self, list: &ListId, but: &BTreeSet<JobId>) -> Result<Vec<Notice>, NoticeError> {
        let Some(machine) = Machine::look(&self.data)? else { return Ok(Vec::new()) };
        let but: HashSet<&str> = but.iter().map(JobId::as_str).collect();
        let mut rows = machine.notice_rows(list.as_str(), NoticeRows::All)?;
        rows.retain(|row| !but.contains(row.job.as_str()));
        Ok(self.read(&machine, rows)?)
    }

    fn deliver(&self, notices: &mut Vec<Notice>) -> Result<(), NoticeError> {
        if notices.is_empty() {
            return Ok(());
        }
        let jobs: Vec<&str> = notices.iter().map(|notice| notice.job.id.as_str()).collect();
        let waiting = Machine::open(&self.data)?.deliver_notices(&jobs, system::now().0)?;
        notices.retain(|notice| waiting.iter().any(|job| job == notice.job.id.as_str()));
        Ok(())
    }

    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError> {
        if jobs.is_empty() {
            return Ok(0);
        }
        let jobs: Vec<&str> = jobs.iter().map(JobId::as_str).collect();
        Ok(Machine::open(&self.data)?.acknowledge_notices(&jobs, system::now().0)?.len())
    }

    fn version(&self) -> Option<u64> {
        Stamp::of(&self.data).settled()
    }

    fn watch(&self, _list: &ListId, moved: Moved) -> Result<Box<dyn NoticeWatch>, NoticeError> {
        Ok(Box::new(DatabaseWatch::of(self.data.clone(), moved)))
    }
}

/// Notices kept in a shared store, while jobs leave theirs on this machine when they end. The process that queries them
/// forwards those first.
#[derive(Clone, Debug)]
pub struct ForwardedNotices {
    here: MachineNotices,
    there: Arc<dyn Notices>,
    keeps_here: bool,
}

impl ForwardedNotices {
    /// Forwards notices from this machine to another store; afterwards they are kept only there.
    pub fn new(here: MachineNotices, there: Arc<dyn Notices>) -> Self {
        Self { here, there, keeps_here: false }
    }

    /// Like [`Self::new`], for a store that ends with its process: forwarded notices are also kept here until they are
    /// acknowledged, since they may be for an agent in another process with a store of the same address.
    pub fn keeping(here: MachineNotices, there: Arc<dyn Notices>) -> Self {
        Self { here, there, keeps_here: true }
    }

    /// Forwards the pending notices of this machine.
    fn forward(&self, list: &ListId) -> Result<(), NoticeError> {
        self.here.waiting(list)?.iter().try_for_each(|notice| self.pass_on(&notice.job))
    }

    fn pass_on(&self, job: &Job) -> Result<(), NoticeError> {
        self.there.queue(job)?;
        if !self.keeps_here {
            // If this fails, the notice is forwarded again, which has no effect.
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

/// Watches both, and forwards new notices of this machine.
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

/// Serializes a job like the machine's database does.
pub fn job_to_text(job: &Job) -> String {
    let JobRow { id, state, list, task, started, ended, size, record, is_delivered } = row_of(job);
    json!({
        "id": id, "state": state, "list": list, "task": task, "started": started, "ended": ended, "size": size,
        "record": record, "delivered": is_delivered,
    })
    .to_string()
}

/// Parses a serialized job.
pub fn job_from_text(text: &str) -> Result<Job, NoticeError> {
    let value: Value = serde_json::from_str(text).map_err(NoticeError::new)?;
    let word = |name: &str| value[name].as_str().map(str::to_owned);
    let missing = |name: &'static str| move || NoticeError::new(format!("a job has no {name}"));
    let row = JobRow {
        id: word("id").ok_or_else(missing("id"))?,
        state: word("state").ok_or_else(missing("state"))?,
        list: word("list").ok_or_else(missing("list"))?,
        task: word("task"),
        started: value["started"].as_i64().ok_or_else(missing("start"))?,
        ended: value["ended"].as_i64(),
        size: value["size"].as_i64().unwrap_or(0),
        record: word("record").ok_or_else(missing("record"))?,
        is_delivered: value["delivered"].as_bool().unwrap_or(false),
    };
    job_in(&row).map_err(NoticeError::new)
}

/// Polling interval despite kernel notifications, in case the kernel lost some.
const TOLD: Duration = Duration::from_secs(60);

/// A watch on the machine's database.
#[derive(Debug)]
pub(super) struct DatabaseWatch {
    data: PathBuf,
    watched: WatchedDirectories,
}

impl DatabaseWatch {
    pub(super) fn of(data: PathBuf, moved: Moved) -> Self {
        // The directory must exist to be watched. If it cannot be created, no notices will be queued either.
        if let Err(error) = Machine::open(&data) {
            tracing::debug!(%error, "no notices can be queued");
        }
        Self { data, watched: WatchedDirectories::new(move || moved()) }
    }
}

impl NoticeWatch for DatabaseWatch {
    fn keep_up(&mut self) -> Result<Option<Duration>, NoticeError> {
        Ok(Some(if self.watched.keep_up(&[&self.data]) { TOLD } else { UNTOLD }))
    }
}
