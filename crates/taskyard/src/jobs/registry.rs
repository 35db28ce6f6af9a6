//! The jobs of this machine, found again by every command that asks.

use std::sync::Arc;

use taskyard_core::{AgentName, Job, JobId, ListId, TaskId};

use super::own_supervisors::take_notice_of_ends;
use super::record::Record;
use super::{JobError, JobOptions, OutputReader, output_map};
use crate::blocking::about_to_block;
use crate::machine::{JobRow, JobRows, Machine, find_job, replace_job};

/// The jobs of this machine. Clones are the same; nothing is kept open.
#[derive(Clone, Debug)]
pub struct Jobs {
    pub(super) options: Arc<JobOptions>,
}

impl Jobs {
    /// Returns the jobs of a data directory.
    pub fn new(options: JobOptions) -> Self {
        Self { options: Arc::new(options) }
    }

    /// Returns the options that these jobs are run with.
    pub fn options(&self) -> &JobOptions {
        &self.options
    }

    /// Returns every job, the oldest first, as it truly stands.
    pub fn list(&self) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        self.true_rows(&JobRows::All)
    }

    /// Returns the jobs of a task, the oldest first, as they truly stand.
    pub fn of_task(&self, list: &ListId, task: &TaskId) -> Result<Vec<Job>, JobError> {
        self.true_rows(&JobRows::OfTask(list.as_str(), task.as_str()))
    }

    /// Returns a job as it truly stands.
    pub fn get(&self, id: &JobId) -> Result<Job, JobError> {
        let missing = || JobError::NoSuchJob { name: id.as_str().to_owned() };
        let record = self.true_record(id)?.ok_or_else(missing)?;
        Ok(self.with_output(record).job)
    }

    /// Returns the job that a caller means: by its id, or by its name, which means the newest of that name.
    pub fn find(&self, name: &str) -> Result<Job, JobError> {
        if let Ok(id) = name.parse::<JobId>()
            && let Some(record) = self.true_record(&id)?
        {
            return Ok(self.with_output(record).job);
        }
        let newest = self.true_rows(&JobRows::NewestNamed(name))?.pop();
        newest.ok_or_else(|| JobError::NoSuchJob { name: name.to_owned() })
    }

    /// Returns the jobs of an agent on a list that have not ended, the oldest first, as they truly stand.
    pub fn unfinished(&self, agent: &AgentName, list: &ListId) -> Result<Vec<Job>, JobError> {
        let mut jobs = self.true_rows(&JobRows::Living)?;
        jobs.retain(|job| job.agent == *agent && job.list == *list);
        Ok(jobs)
    }

    /// Tells whether there may be jobs at all; costs next to nothing.
    pub fn may_be_any(&self) -> bool {
        about_to_block("looking for jobs");
        self.options.data.join("jobs").exists()
    }

    /// Opens what a job wrote.
    pub fn output(&self, job: &Job) -> Result<OutputReader, JobError> {
        OutputReader::open(&self.options, job)
    }

    /// Remembers how far the output of a job has been given to the agent that started it.
    pub fn note_read(&self, id: &JobId, offset: u64) -> Result<(), JobError> {
        let mut machine = Machine::open(&self.options.data)?;
        machine.hurry()?;
        self.change(&mut machine, id, |record| {
            let is_further = offset > record.job.output_offset;
            record.job.output_offset = record.job.output_offset.max(offset);
            is_further
        })?;
        Ok(())
    }

    /// Returns what is recorded of a job, after what is no longer true was put right.
    pub(super) fn true_record(&self, id: &JobId) -> Result<Option<Record>, JobError> {
        let Some(record) = self.recorded(id)? else { return Ok(None) };
        if self.judge(&record).is_none() {
            return Ok(Some(record));
        }
        self.put_right(&[record])?;
        self.recorded(id)
    }

    /// Returns what is recorded of a job, true or not.
    pub(super) fn recorded(&self, id: &JobId) -> Result<Option<Record>, JobError> {
        let Some(machine) = Machine::look(&self.options.data)? else { return Ok(None) };
        machine.job_row(id.as_str())?.map(|row| Record::from_row(&row)).transpose()
    }

    pub(super) fn records(&self, which: &JobRows<'_>) -> Result<Vec<Record>, JobError> {
        let Some(machine) = Machine::look(&self.options.data)? else { return Ok(Vec::new()) };
        let rows: Vec<JobRow> = machine.job_rows(which)?;
        // One that a newer Taskyard wrote, and that we cannot read, keeps no caller from the others.
        let readable = |row: &JobRow| {
            Record::from_row(row).inspect_err(|error| tracing::warn!(job = row.id, %error, "passed over")).ok()
        };
        Ok(rows.iter().filter_map(readable).collect())
    }

    /// Changes what is recorded of a job, where the closure says that something changed; returns what it is then.
    pub(super) fn change(
        &self,
        machine: &mut Machine,
        id: &JobId,
        change: impl FnOnce(&mut Record) -> bool,
    ) -> Result<Option<Record>, JobError> {
        let data = self.options.data.clone();
        machine.alone(&data, |transaction| {
            let Some(row) = find_job(transaction, id.as_str())? else { return Ok(Ok(None)) };
            let mut record = match Record::from_row(&row) {
                Ok(record) => record,
                Err(error) => return Ok(Err(error)),
            };
            let was_over = record.job.state().is_over();
            if change(&mut record) {
                replace_job(transaction, &record.to_row())?;
                if !was_over && record.job.state().is_over() {
                    crate::machine::queue_notice(transaction, &record.job)?;
                }
            }
            Ok(Ok(Some(record)))
        })?
    }

    /// Returns jobs, after what is no longer true of them was put right.
    fn true_rows(&self, which: &JobRows<'_>) -> Result<Vec<Job>, JobError> {
        let mut records = self.records(which)?;
        if !self.put_right(&records)?.is_empty() {
            records = self.records(which)?;
        }
        Ok(records.into_iter().map(|record| self.with_output(record).job).collect())
    }

    /// Adds what only the files of a job know while it runs.
    pub(super) fn with_output(&self, mut record: Record) -> Record {
        if !record.job.state().is_over() {
            if let Ok(output) = OutputReader::open(&self.options, &record.job).and_then(|reader| reader.output()) {
                record.job.output = output;
            }
            let touched = output_map::last_touched(&self.options.map_file(&record.job.id));
            record.job.last_seen = touched.map_or(record.job.last_seen, |touched| touched.max(record.job.last_seen));
        }
        record
    }
}
