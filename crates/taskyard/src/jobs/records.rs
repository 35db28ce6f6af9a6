//! The records of jobs in the machine's database.

use std::fs;
use std::path::{Path, PathBuf};

use taskyard_core::{JobId, JobState};

use super::{JobError, JobRecord};
use crate::blocking::about_to_block;
use crate::machine::jobs::JobQuery;
use crate::machine::{
    JobRow, Machine, find_job, has_been, insert_job, insert_reopening, queue_notice, remove_job, remove_reopening,
    replace_job,
};
use crate::private;
use crate::sqlite::Database;

/// The records of the jobs of this machine, open. Every change is one transaction, which waits for those of other processes.
///
/// A record may no longer be true: that of a job whose supervisor was killed says that it runs. Whether it does is found out by the crate
/// `taskyard-jobs`, which also starts jobs and ends them.
#[derive(Debug)]
pub struct JobRecords {
    data: PathBuf,
    machine: Machine,
}

impl JobRecords {
    /// Opens the records of a data directory for reading; `None` if nothing was ever recorded.
    pub fn look(data: &Path) -> Result<Option<Self>, JobError> {
        Ok(Machine::look(data)?.map(|machine| Self { data: data.to_owned(), machine }))
    }

    /// Opens the records of a data directory for writing, and creates what is missing.
    pub fn open(data: &Path) -> Result<Self, JobError> {
        Ok(Self { data: data.to_owned(), machine: Machine::open(data)? })
    }

    /// Lets commits reach the disk later: after a power loss the last ones may be missing, but none is half there.
    pub fn hurry(&self) -> Result<(), JobError> {
        Ok(self.machine.hurry()?)
    }

    /// Lets commits reach the disk before they return.
    pub fn take_care(&self) -> Result<(), JobError> {
        Ok(self.machine.take_care()?)
    }

    /// Makes the directory of the files that are kept of jobs, closed to other users.
    pub fn make_directory(data: &Path) -> Result<(), JobError> {
        let jobs = data.join("jobs");
        private::make_directory(&jobs).map_err(JobError::io("cannot create", jobs))
    }

    /// Tells whether there may be jobs of a data directory at all; costs next to nothing.
    pub fn may_be_any(data: &Path) -> bool {
        about_to_block("looking for jobs");
        data.join("jobs").exists()
    }

    /// Returns the record of a job.
    pub fn find(&self, id: &JobId) -> Result<Option<JobRecord>, JobError> {
        self.machine.job_row(id.as_str())?.map(|row| JobRecord::from_row(&row)).transpose()
    }

    /// Returns the records of jobs, in the order that the query says. Those that a newer Taskyard wrote and that cannot be read are left out.
    pub fn select(&self, which: &JobQuery<'_>) -> Result<Vec<JobRecord>, JobError> {
        let rows: Vec<JobRow> = self.machine.job_rows(which)?;
        let readable = |row: &JobRow| {
            JobRecord::from_row(row).inspect_err(|error| tracing::warn!(job = row.id, %error, "passed over")).ok()
        };
        Ok(rows.iter().filter_map(readable).collect())
    }

    /// Returns how many bytes are reserved for the output of all jobs.
    pub fn reserved(&self) -> Result<u64, JobError> {
        Ok(self.machine.job_sizes()?)
    }

    /// Records a new job; returns `false`, and records nothing, if its id was given to another one.
    pub fn insert(&mut self, record: &JobRecord) -> Result<bool, JobError> {
        let (data, job) = (&self.data, &record.job);
        let inserted = self.machine.alone(data, |transaction| {
            if has_been(transaction, job.id.as_str())? {
                return Ok(false);
            }
            if job.reopens_task {
                insert_reopening(transaction, job.id.as_str())?;
                // If the database can be written, so can this, or the commit that follows will fail as well.
                let _ = Self::make_directory(data).map(|()| private::open(&reopening_mark(data)));
            }
            insert_job(transaction, &record.to_row()).map(|()| true)
        })?;
        Ok(inserted)
    }

    /// Changes the record of a job if `change` returns `true`; returns the record as it is afterwards. If the change ends the job, the notice
    /// of its end is queued with it.
    pub fn change(
        &mut self,
        id: &JobId,
        change: impl FnOnce(&mut JobRecord) -> bool,
    ) -> Result<Option<JobRecord>, JobError> {
        self.machine.alone(&self.data, |transaction| {
            let Some(row) = find_job(transaction, id.as_str())? else { return Ok(Ok(None)) };
            let mut record = match JobRecord::from_row(&row) {
                Ok(record) => record,
                Err(error) => return Ok(Err(error)),
            };
            let was_over = record.job.state().is_over();
            if change(&mut record) {
                replace_job(transaction, &record.to_row())?;
                if !was_over && record.job.state().is_over() {
                    queue_notice(transaction, &record.job)?;
                }
            }
            Ok(Ok(Some(record)))
        })?
    }

    /// Removes the record of a job that has not begun to run; leaves any other alone.
    pub fn remove_pending(&mut self, id: &JobId) -> Result<bool, JobError> {
        self.remove(id, |row| row.state == JobState::Pending.as_str())
    }

    /// Removes the record of a job that has ended; returns `false` if there is none. What its agent has not heard yet can still be told.
    pub fn remove_ended(&mut self, id: &JobId) -> Result<bool, JobError> {
        self.remove(id, |row| row.ended.is_some())
    }

    fn remove(&mut self, id: &JobId, is_meant: impl FnOnce(&JobRow) -> bool) -> Result<bool, JobError> {
        let remove = |transaction: &Database| match find_job(transaction, id.as_str())? {
            Some(row) if is_meant(&row) => remove_job(transaction, id.as_str()).map(|()| true),
            _ => Ok(false),
        };
        Ok(self.machine.alone(&self.data, remove)?)
    }

    /// Tells whether the end of a job of a data directory may have to reopen a task; costs next to nothing.
    pub fn may_reopen_tasks(data: &Path) -> bool {
        about_to_block("looking for lost jobs");
        reopening_mark(data).exists()
    }

    /// Returns the jobs that were recorded with the wish to reopen their task should they fail, and for which that is not settled.
    pub fn reopenings(&self) -> Result<Vec<JobId>, JobError> {
        Ok(self.machine.reopenings()?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Records that the task of a job was reopened, or need not be. Only the process that reopens tasks of jobs may call this.
    pub fn settle_reopening(&mut self, id: &JobId) -> Result<(), JobError> {
        let mark = reopening_mark(&self.data);
        let settled = self.machine.alone(&self.data, |transaction| {
            if remove_reopening(transaction, id.as_str())? {
                let _ = fs::remove_file(&mark);
            }
            Ok(())
        });
        if settled.is_err() {
            // What could not be taken out of the table must still be found.
            let _ = private::open(&mark);
        }
        Ok(settled?)
    }
}

/// Returns the file that is there while the table of jobs that may reopen tasks is not empty.
fn reopening_mark(data: &Path) -> PathBuf {
    data.join("jobs").join("reopening")
}
