//! The jobs of this machine, found again by every command that asks, and put right if no supervisor looks after them any more.

use std::collections::HashSet;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};

use taskyard::core::rules::leases::job_fate::{Verdict, judge_job};
use taskyard::core::rules::leases::liveness::Liveness;
use taskyard::core::{AgentName, CommandEnd, Job, JobEnding, JobFate, JobId, JobKind, JobUsage, ListId, TaskId};
use taskyard::jobs::{JobError, JobQuery, JobRecord, JobRecords, SharedJobs, SharedJobsQuery};
use taskyard::liveness::Signs;
use taskyard::operations::JobChecks;
use taskyard::random::random_bytes;
use taskyard::{Error, clock};

use super::output::last_touched;
use super::processes::kill_leftovers;
use super::{JobOptions, OutputReader};

/// The jobs of this machine and, if it shares a store with other machines, of those. Clones are the same; nothing is kept open.
#[derive(Clone, Debug)]
pub struct Jobs {
    pub(crate) options: Arc<JobOptions>,
    pub(crate) shared: Option<Arc<dyn SharedJobs>>,
}

impl Jobs {
    /// Returns the jobs of a data directory.
    pub fn new(options: JobOptions) -> Self {
        Self { options: Arc::new(options), shared: None }
    }

    /// Adds the jobs of other machines that share a store. What is asked about single jobs is asked of this machine first.
    #[must_use]
    pub fn with_shared(self, shared: Arc<dyn SharedJobs>) -> Self {
        Self { shared: Some(shared), ..self }
    }

    /// Returns the options that these jobs are run with.
    pub fn options(&self) -> &JobOptions {
        &self.options
    }

    /// Returns every job, the oldest first, as it truly stands.
    pub fn list(&self) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        self.and_shared(self.true_rows(&JobQuery::All)?, &SharedJobsQuery::All)
    }

    /// Returns the jobs of a list, the oldest first, as they truly stand.
    pub fn of_list(&self, list: &ListId) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        let mut here = self.true_rows(&JobQuery::All)?;
        here.retain(|job| job.list == *list);
        self.and_shared(here, &SharedJobsQuery::List(list))
    }

    /// Returns the jobs of a task, the oldest first, as they truly stand.
    pub fn of_task(&self, list: &ListId, task: &TaskId) -> Result<Vec<Job>, JobError> {
        let here = self.true_rows(&JobQuery::OfTask(list.as_str(), task.as_str()))?;
        self.and_shared(here, &SharedJobsQuery::Task(list, task))
    }

    /// Returns a job as it truly stands.
    pub fn get(&self, id: &JobId) -> Result<Job, JobError> {
        match self.true_record(id)? {
            Some(record) => Ok(self.with_output(record).job),
            None => self.elsewhere(id),
        }
    }

    /// Returns the job that a caller means: by its id, or by its name, which means the newest of that name.
    pub fn find(&self, name: &str) -> Result<Job, JobError> {
        let id = name.parse::<JobId>().ok();
        if let Some(id) = &id
            && let Some(record) = self.true_record(id)?
        {
            return Ok(self.with_output(record).job);
        }
        let here = self.true_rows(&JobQuery::NewestNamed(name))?.pop();
        let there = self.newest_elsewhere(name, id.as_ref());
        match (here, there) {
            (Some(here), Ok(Some(there))) if there.started > here.started && there.id != here.id => Ok(there),
            // That others cannot be asked does not keep a caller from a job of this machine.
            (Some(here), _) => Ok(here),
            (None, there) => there?.ok_or_else(|| JobError::NoSuchJob { name: name.to_owned() }),
        }
    }

    /// Returns the jobs of an agent on a list that have not ended, the oldest first, as they truly stand.
    pub fn unfinished(&self, agent: &AgentName, list: &ListId) -> Result<Vec<Job>, JobError> {
        let mut jobs = self.true_rows(&JobQuery::Living)?;
        jobs.retain(|job| job.agent == *agent && job.list == *list);
        Ok(jobs)
    }

    /// Tells whether there may be jobs at all; costs next to nothing.
    pub fn may_be_any(&self) -> bool {
        self.shared.is_some() || JobRecords::may_be_any(&self.options.data)
    }

    /// Opens what a job wrote.
    pub fn output(&self, job: &Job) -> Result<OutputReader, JobError> {
        match &self.shared {
            Some(shared) if job.machine.is_some() => Ok(OutputReader::shared(Arc::clone(shared), job)),
            _ => OutputReader::open(&self.options, job),
        }
    }

    /// Remembers how far the output of a job has been given to the agent that started it.
    pub fn note_read(&self, id: &JobId, offset: u64) -> Result<(), JobError> {
        let mut records = JobRecords::open(&self.options.data)?;
        records.hurry()?;
        records.change(id, |record| {
            let is_further = offset > record.job.output_offset;
            record.job.output_offset = record.job.output_offset.max(offset);
            is_further
        })?;
        Ok(())
    }

    /// Returns a job of another machine.
    pub(crate) fn elsewhere(&self, id: &JobId) -> Result<Job, JobError> {
        let found = self.shared.as_ref().map(|shared| shared.list(&SharedJobsQuery::Id(id))).transpose()?;
        found.and_then(|mut jobs| jobs.pop()).ok_or_else(|| JobError::NoSuchJob { name: id.as_str().to_owned() })
    }

    /// Returns the job of another machine with an id, else the newest one with a name.
    fn newest_elsewhere(&self, name: &str, id: Option<&JobId>) -> Result<Option<Job>, JobError> {
        let Some(shared) = &self.shared else { return Ok(None) };
        if let Some(id) = id
            && let Some(job) = shared.list(&SharedJobsQuery::Id(id))?.pop()
        {
            return Ok(Some(job));
        }
        Ok(shared.list(&SharedJobsQuery::Named(name))?.pop())
    }

    /// Adds jobs of other machines to those of this one. A job that both have is known best here.
    fn and_shared(&self, mut here: Vec<Job>, which: &SharedJobsQuery<'_>) -> Result<Vec<Job>, JobError> {
        let Some(shared) = &self.shared else { return Ok(here) };
        let known: HashSet<JobId> = here.iter().map(|job| job.id.clone()).collect();
        here.extend(shared.list(which)?.into_iter().filter(|job| !known.contains(&job.id)));
        here.sort_by_key(|job| job.started);
        Ok(here)
    }

    /// Returns what is recorded of a job, after what is no longer true was put right.
    pub(crate) fn true_record(&self, id: &JobId) -> Result<Option<JobRecord>, JobError> {
        let Some(record) = self.recorded(id)? else { return Ok(None) };
        if self.judge(&record).is_none() {
            return Ok(Some(record));
        }
        self.put_right(&[record])?;
        self.recorded(id)
    }

    /// Returns what is recorded of a job, true or not.
    pub(crate) fn recorded(&self, id: &JobId) -> Result<Option<JobRecord>, JobError> {
        let records = JobRecords::look(&self.options.data)?;
        records.map_or(Ok(None), |records| records.find(id))
    }

    pub(crate) fn records(&self, which: &JobQuery<'_>) -> Result<Vec<JobRecord>, JobError> {
        let records = JobRecords::look(&self.options.data)?;
        records.map_or(Ok(Vec::new()), |records| records.select(which))
    }

    /// Returns jobs, after what is no longer true of them was put right.
    fn true_rows(&self, which: &JobQuery<'_>) -> Result<Vec<Job>, JobError> {
        let mut records = self.records(which)?;
        if !self.put_right(&records)?.is_empty() {
            records = self.records(which)?;
        }
        Ok(records.into_iter().map(|record| self.with_output(record).job).collect())
    }

    /// Adds what only the files of a job know while it runs.
    fn with_output(&self, mut record: JobRecord) -> JobRecord {
        if !record.job.state().is_over() {
            if let Ok(output) = OutputReader::open(&self.options, &record.job).and_then(|reader| reader.output()) {
                record.job.output = output;
            }
            let touched = last_touched(&self.options.map_file(&record.job.id));
            record.job.last_seen = touched.map_or(record.job.last_seen, |touched| touched.max(record.job.last_seen));
        }
        record
    }
}

impl Jobs {
    /// Ends what is left of jobs whose supervisor is gone, records that they are lost, and returns them.
    pub fn reconcile(&self) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        self.put_right(&self.records(&JobQuery::Living)?)
    }

    /// Does the same for a few jobs, others each time: all of them where they are few. A command that starts a job has
    /// no time for a look at a thousand others.
    pub fn reconcile_few(&self) -> Result<(), JobError> {
        let anywhere = JobId::from_random(JobKind::LocalBash, self.options.settings.output_form, random()?);
        for from in [anywhere.as_str(), ""] {
            self.put_right(&self.records(&JobQuery::FewLiving(from))?)?;
        }
        Ok(())
    }

    /// Judges a record; none where it stands.
    pub(crate) fn judge(&self, record: &JobRecord) -> Option<Verdict> {
        let living = record.living()?;
        let seen = Signs::in_data(&self.options.data).see(living.guardian());
        // Only where it cannot be seen does it matter when it last was.
        let touched = (seen.liveness == Liveness::Unknown)
            .then(|| last_touched(&self.options.map_file(&record.job.id)))
            .flatten();
        let last_seen = touched.map_or(record.job.last_seen, |touched| touched.max(record.job.last_seen));
        let verdict = judge_job(&living, last_seen, &clock::moment(), seen);
        (verdict != Verdict::Stands).then_some(verdict)
    }

    /// Ends what is left of those among these whose supervisor is gone, records that they are lost, and returns them.
    fn put_right(&self, records: &[JobRecord]) -> Result<Vec<Job>, JobError> {
        let judged: Vec<(&JobRecord, Verdict)> =
            records.iter().filter_map(|record| Some((record, self.judge(record)?))).collect();
        if judged.is_empty() {
            return Ok(Vec::new());
        }
        let with_leftovers = judged.iter().filter(|(_, verdict)| *verdict == Verdict::LostWithLeftovers);
        kill_leftovers(&with_leftovers.map(|(record, _)| *record).collect::<Vec<_>>());
        let mut opened = JobRecords::open(&self.options.data)?;
        let mut lost = Vec::new();
        for (record, _) in judged {
            lost.extend(self.record_loss(&mut opened, record)?);
        }
        Ok(lost)
    }

    /// Records that it is not known how a job ended, unless something else was recorded since.
    pub(crate) fn record_loss(&self, records: &mut JobRecords, judged: &JobRecord) -> Result<Option<Job>, JobError> {
        let known = self.with_output(judged.clone());
        let mut is_ours = false;
        let record = records.change(&judged.job.id, |record| {
            is_ours = record.living() == judged.living();
            if is_ours {
                let at = clock::now();
                record.job.fate = if record.is_stop_asked {
                    JobFate::Ended { how: JobEnding::Stopped(CommandEnd::Unseen), at, usage: JobUsage::default() }
                } else {
                    JobFate::Lost { at }
                };
                record.job.output = known.job.output;
                record.job.last_seen = known.job.last_seen;
                record.file_size = std::fs::metadata(&record.job.output_file).map_or(0, |metadata| metadata.len());
            }
            is_ours
        })?;
        Ok(record.filter(|_| is_ours).map(|record| record.job))
    }
}

impl JobChecks for Jobs {
    fn without_process(&self) -> Result<Vec<Job>, Error> {
        let records = self.records(&JobQuery::Living)?.into_iter();
        Ok(records.filter(|record| self.judge(record).is_some()).map(|record| record.job).collect())
    }

    fn end_without_process(&self) -> Result<Vec<Job>, Error> {
        Ok(self.reconcile()?)
    }
}

/// Takes notice of the supervisors of ours that have ended, so that the system forgets them; keeps another one for later. Those
/// that outlive us are the system's.
pub(crate) fn take_notice_of_ends(another: Option<Child>) {
    static CHILDREN: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    children.extend(another);
}

/// Returns random bytes for the id or the token of a job.
pub(crate) fn random() -> Result<[u8; 16], JobError> {
    random_bytes().map_err(JobError::io("cannot read", "the system's randomness"))
}
