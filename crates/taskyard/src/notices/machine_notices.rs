//! The notices of a machine: which wait, which were told, which were heard.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::path::PathBuf;

use taskyard_core::{AgentName, Job, JobId, ListId, Timestamp};

use super::stamp::Stamp;
use super::watching::DatabaseWatch;
use super::{Notice, NoticeError, NoticeWatch, Notices};
use crate::clock;
use crate::jobs::{job_in, row_of};
use crate::machine::{Machine, MachineError, NoticeRow, NoticeRows, has_been, keep_foreign, queue_notice};
use crate::store::Moved;

/// The notices of a machine. They are queued where jobs end, and wait here until they are acknowledged.
#[derive(Clone, Debug)]
pub struct MachineNotices {
    data: PathBuf,
    store: Option<String>,
}

impl MachineNotices {
    /// Returns the notices of a data directory.
    pub fn in_data(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), store: None }
    }

    /// Leaves out what belongs to the lists of other stores than the one of this address: theirs may have the same names.
    #[must_use]
    pub fn of_store(self, address: impl fmt::Display) -> Self {
        Self { store: Some(address.to_string()), ..self }
    }

    /// Reads the jobs that rows tell of, also those that were tidied away. One that cannot be read does not keep us from the others.
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
        let waiting = Machine::open(&self.data)?.deliver_notices(&jobs, clock::now().0)?;
        notices.retain(|notice| waiting.iter().any(|job| job == notice.job.id.as_str()));
        Ok(())
    }

    fn acknowledge(&self, jobs: &[JobId]) -> Result<usize, NoticeError> {
        if jobs.is_empty() {
            return Ok(0);
        }
        let jobs: Vec<&str> = jobs.iter().map(JobId::as_str).collect();
        Ok(Machine::open(&self.data)?.acknowledge_notices(&jobs, clock::now().0)?.len())
    }

    fn version(&self) -> Option<u64> {
        Stamp::of(&self.data).settled()
    }

    fn watch(&self, _list: &ListId, moved: Moved) -> Result<Box<dyn NoticeWatch>, NoticeError> {
        Ok(Box::new(DatabaseWatch::of(self.data.clone(), moved)))
    }
}
