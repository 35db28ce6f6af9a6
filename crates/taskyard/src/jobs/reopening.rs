//! Opening the tasks of jobs again that did not complete.
//!
//! That a task may have to be opened is recorded with the start of its job and forgotten when it was, or need not be. So it
//! happens though whoever should have done it was killed: the next one who looks does it.

use std::fs;
use std::path::PathBuf;

use taskyard_core::rules::job_fate::reopens_its_task;
use taskyard_core::rules::refusal::Refusal;
use taskyard_core::{Job, JobId, Status};

use super::{JobError, Jobs};
use crate::machine::{Machine, insert_reopening, remove_reopening};
use crate::sqlite::{Database, DatabaseError};
use crate::{Error, Outcome, Yard, private};

impl Jobs {
    /// Tells whether the end of a job may have to open a task again; costs next to nothing.
    pub fn may_reopen_tasks(&self) -> bool {
        self.reopening_mark().exists()
    }

    /// Returns the jobs whose tasks are to be opened again: they have failed, ran out of time or were lost, that was wished, and
    /// nobody has done it yet.
    pub fn to_be_reopened(&self) -> Result<Vec<Job>, JobError> {
        let mut found = Vec::new();
        if !self.may_reopen_tasks() {
            return Ok(found);
        }
        let Some(machine) = Machine::look(&self.place.data)? else { return Ok(found) };
        for name in machine.reopenings()? {
            let Ok(id) = name.parse::<JobId>() else { continue };
            match self.true_record(&id)?.map(|record| record.job) {
                Some(job) if reopens_its_task(&job) => found.push(job),
                Some(job) if !job.state().is_over() => {}
                _ => self.settle_reopening(&id)?,
            }
        }
        Ok(found)
    }

    /// Opens the task of a job again, on the list of a yard, and takes note of it. A task that is gone, or that may not be opened,
    /// stays as it is.
    pub fn reopen_task_of(&self, job: &Job, yard: &Yard) -> Result<Option<Refusal>, Error> {
        let Some(task) = job.task.as_ref().filter(|_| reopens_its_task(job)) else { return Ok(None) };
        let yard = yard.acting_as(job.agent.clone()).overruling();
        let refusal = match yard.show(task)? {
            Outcome::Refused(refusal) => Some(refusal),
            // One that is open needs no opening.
            Outcome::Done(shown) if shown.task.status == Status::Pending => None,
            Outcome::Done(_) => match yard.reopen(task)? {
                Outcome::Done(_) => None,
                Outcome::Refused(refusal) => Some(refusal),
            },
        };
        self.settle_reopening(&job.id)?;
        Ok(refusal)
    }

    /// Takes note, within the transaction that records a job, that its end may have to open its task again.
    pub(super) fn expect_reopening(&self, transaction: &Database, id: &JobId) -> Result<(), DatabaseError> {
        insert_reopening(transaction, id.as_str())?;
        // Where the database can be written, so can this, or the commit that follows will fail as well.
        let _ = self.place.prepare_data().map(|()| private::open(&self.reopening_mark()));
        Ok(())
    }

    /// Takes note that there is nothing to open again any more for a job.
    fn settle_reopening(&self, id: &JobId) -> Result<(), JobError> {
        let mut machine = Machine::open(&self.place.data)?;
        let settled = machine.alone(&self.place.data, |transaction| {
            // Both the table and its mark change only for whoever has his turn.
            if remove_reopening(transaction, id.as_str())? {
                let _ = fs::remove_file(self.reopening_mark());
            }
            Ok(())
        });
        if settled.is_err() {
            // What could not be taken out of the table must still be found.
            let _ = private::open(&self.reopening_mark());
        }
        Ok(settled?)
    }

    /// Returns the file that is there while the table of jobs that may reopen tasks is not empty.
    fn reopening_mark(&self) -> PathBuf {
        self.place.data.join("jobs").join("reopening")
    }
}
