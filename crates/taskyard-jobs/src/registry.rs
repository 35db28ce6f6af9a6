//! The registry of jobs: finding and judging them, and removing old ones.

use std::collections::HashSet;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use taskyard::core::rules::leases::leasing::{Verdict, judge_job};
use taskyard::core::rules::leases::liveness::Liveness;
use taskyard::core::{AgentName, CommandEnd, Job, JobEnding, JobFate, JobId, JobKind, JobUsage, ListId, TaskId};
use taskyard::jobs::{JobError, JobQuery, JobRecord, JobRecords, SharedJobs, SharedJobsQuery};
use taskyard::liveness::Signs;
use taskyard::operations::JobChecks;
use taskyard::system::random_bytes;
use taskyard::{Error, system};

use super::output::{SMALLEST, last_touched};
use super::processes::kill_leftovers;
use super::{JobOptions, OutputReader};

/// The jobs of this machine and, with a shared store, those of other machines. Clones share the same jobs; no file is
/// kept open.
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

    /// Adds the jobs of other machines that share a store. Single jobs are looked up on this machine first.
    #[must_use]
    pub fn with_shared(self, shared: Arc<dyn SharedJobs>) -> Self {
        Self { shared: Some(shared), ..self }
    }

    /// Returns the options that jobs are run with.
    pub fn options(&self) -> &JobOptions {
        &self.options
    }

    /// Returns every job, oldest first, in its actual state.
    pub fn list(&self) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        self.and_shared(self.true_rows(&JobQuery::All)?, &SharedJobsQuery::All)
    }

    /// Returns the jobs of a list, oldest first, in their actual state.
    pub fn of_list(&self, list: &ListId) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        let mut here = self.true_rows(&JobQuery::All)?;
        here.retain(|job| job.list == *list);
        self.and_shared(here, &SharedJobsQuery::List(list))
    }

    /// Returns the jobs of a task, oldest first, in their actual state.
    pub fn of_task(&self, list: &ListId, task: &TaskId) -> Result<Vec<Job>, JobError> {
        let here = self.true_rows(&JobQuery::OfTask(list.as_str(), task.as_str()))?;
        self.and_shared(here, &SharedJobsQuery::Task(list, task))
    }

    /// Returns a job in its actual state.
    pub fn get(&self, id: &JobId) -> Result<Job, JobError> {
        match self.true_record(id)? {
            Some(record) => Ok(self.with_output(record).job),
            None => self.elsewhere(id),
        }
    }

    /// Returns the job with this id, or else the newest job with this name.
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
            // If the other machines cannot be asked, a job of this machine is still returned.
            (Some(here), _) => Ok(here),
            (None, there) => there?.ok_or_else(|| JobError::NoSuchJob { name: name.to_owned() }),
        }
    }

    /// Returns the unfinished jobs of an agent on a list, oldest first, in their actual state.
    pub fn unfinished(&self, agent: &AgentName, list: &ListId) -> Result<Vec<Job>, JobError> {
        let mut jobs = self.true_rows(&JobQuery::Living)?;
        jobs.retain(|job| job.agent == *agent && job.list == *list);
        Ok(jobs)
    }

    /// Returns whether there may be jobs at all. Very cheap.
    pub fn may_be_any(&self) -> bool {
        self.shared.is_some() || JobRecords::may_be_any(&self.options.data)
    }

    /// Opens the output of a job.
    pub fn output(&self, job: &Job) -> Result<OutputReader, JobError> {
        match &self.shared {
            Some(shared) if job.machine.is_some() => Ok(OutputReader::shared(Arc::clone(shared), job)),
            _ => OutputReader::open(&self.options, job),
        }
    }

    /// Records how much of a job's output the agent that started it has received.
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

    /// Returns the job of another machine with this id, or else the newest one with this name.
    fn newest_elsewhere(&self, name: &str, id: Option<&JobId>) -> Result<Option<Job>, JobError> {
        let Some(shared) = &self.shared else { return Ok(None) };
        if let Some(id) = id
            && let Some(job) = shared.list(&SharedJobsQuery::Id(id))?.pop()
        {
            return Ok(Some(job));
        }
        Ok(shared.list(&SharedJobsQuery::Named(name))?.pop())
    }

    /// Adds jobs of other machines to those of this one. The local record takes precedence if both have a job.
    fn and_shared(&self, mut here: Vec<Job>, which: &SharedJobsQuery<'_>) -> Result<Vec<Job>, JobError> {
        let Some(shared) = &self.shared else { return Ok(here) };
        let known: HashSet<JobId> = here.iter().map(|job| job.id.clone()).collect();
        here.extend(shared.list(which)?.into_iter().filter(|job| !known.contains(&job.id)));
        here.sort_by_key(|job| job.started);
        Ok(here)
    }

    /// Returns the record of a job, after correcting it if it is out of date.
    pub(crate) fn true_record(&self, id: &JobId) -> Result<Option<JobRecord>, JobError> {
        let Some(record) = self.recorded(id)? else { return Ok(None) };
        if self.judge(&record).is_none() {
            return Ok(Some(record));
        }
        self.put_right(&[record])?;
        self.recorded(id)
    }

    /// Returns the record of a job as it is, which may be out of date.
    pub(crate) fn recorded(&self, id: &JobId) -> Result<Option<JobRecord>, JobError> {
        let records = JobRecords::look(&self.options.data)?;
        records.map_or(Ok(None), |records| records.find(id))
    }

    pub(crate) fn records(&self, which: &JobQuery<'_>) -> Result<Vec<JobRecord>, JobError> {
        let records = JobRecords::look(&self.options.data)?;
        records.map_or(Ok(Vec::new()), |records| records.select(which))
    }

    /// Returns jobs, after correcting records that are out of date.
    fn true_rows(&self, which: &JobQuery<'_>) -> Result<Vec<Job>, JobError> {
        let mut records = self.records(which)?;
        if !self.put_right(&records)?.is_empty() {
            records = self.records(which)?;
        }
        Ok(records.into_iter().map(|record| self.with_output(record).job).collect())
    }

    /// Adds what only the files of a running job contain.
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
    /// Ends what is left of jobs whose supervisor is gone, records them as lost, and returns them.
    pub fn reconcile(&self) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        self.put_right(&self.records(&JobQuery::Living)?)
    }

    /// Like [`Self::reconcile`], for a few jobs, different ones each time; for all jobs if there are few. A command
    /// that starts a job has no time to check a thousand others.
    pub fn reconcile_few(&self) -> Result<(), JobError> {
        let anywhere = JobId::from_random(JobKind::LocalBash, self.options.settings.output_form, random()?);
        for from in [anywhere.as_str(), ""] {
            self.put_right(&self.records(&JobQuery::FewLiving(from))?)?;
        }
        Ok(())
    }

    /// Judges a record; `None` if it is up to date.
    pub(crate) fn judge(&self, record: &JobRecord) -> Option<Verdict> {
        let living = record.living()?;
        let seen = Signs::in_data(&self.options.data).see(living.guardian());
        // The last heartbeat only matters if the process cannot be seen.
        let touched = (seen.liveness == Liveness::Unknown)
            .then(|| last_touched(&self.options.map_file(&record.job.id)))
            .flatten();
        let last_seen = touched.map_or(record.job.last_seen, |touched| touched.max(record.job.last_seen));
        let verdict = judge_job(&living, last_seen, &system::moment(), seen);
        (verdict != Verdict::Stands).then_some(verdict)
    }

    /// Ends what is left of those of the jobs whose supervisor is gone, records them as lost, and returns them.
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

    /// Records that a job's end was not observed, unless its record has changed since it was judged. Returns the job if
    /// so recorded.
    pub(crate) fn record_loss(&self, records: &mut JobRecords, judged: &JobRecord) -> Result<Option<Job>, JobError> {
        let known = self.with_output(judged.clone());
        let mut is_ours = false;
        let record = records.change(&judged.job.id, |record| {
            is_ours = record.living() == judged.living();
            if is_ours {
                let at = system::now();
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

/// Reaps supervisors that have ended, and keeps `another` for later. Supervisors that outlive this process are reaped
/// by the system.
pub(crate) fn take_notice_of_ends(another: Option<Child>) {
    static CHILDREN: Mutex<Vec<Child>> = Mutex::new(Vec::new());
    let mut children = CHILDREN.lock().unwrap_or_else(PoisonError::into_inner);
    children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    children.extend(another);
}

/// Returns random bytes, for the id or the token of a job.
pub(crate) fn random() -> Result<[u8; 16], JobError> {
    random_bytes().map_err(JobError::io("cannot read", "the system's randomness"))
}

/// The result of removing old jobs.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// The removed jobs.
    pub jobs: Vec<Job>,
    /// The size of their output in bytes.
    pub bytes: u64,
    /// Removed jobs whose output file had been replaced by another program. That file was left alone.
    pub foreign: Vec<Job>,
}

impl Jobs {
    /// Removes jobs that ended longer ago than `older_than`, with their output.
    pub fn gc(&self, older_than: Duration) -> Result<Swept, JobError> {
        self.reconcile()?;
        let mut swept = Swept::default();
        let due = self.due(older_than)?;
        if due.is_empty() {
            return Ok(swept);
        }
        let mut records = JobRecords::open(&self.options.data)?;
        for record in due {
            if !is_ours_or_gone(&record) {
                swept.foreign.push(record.job.clone());
            }
            let size = record.file_size;
            if self.sweep(&mut records, &record)? {
                swept.bytes += size;
                swept.jobs.push(record.job);
            }
        }
        let ids: Vec<JobId> = swept.jobs.iter().map(|job| job.id.clone()).collect();
        if let Some(Err(error)) = self.shared.as_ref().map(|shared| shared.forget(&ids)) {
            // They expire there eventually.
            tracing::warn!(%error, "jobs that were tidied away are still shown to other machines");
        }
        Ok(swept)
    }

    /// Returns the jobs that ended longer ago than `age`.
    pub fn ended_before(&self, age: Duration) -> Result<Vec<Job>, JobError> {
        self.reconcile()?;
        Ok(self.due(age)?.into_iter().map(|record| record.job).collect())
    }

    fn due(&self, age: Duration) -> Result<Vec<JobRecord>, JobError> {
        let now = system::moment();
        let before = now.wall.0.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        // A measured age takes precedence over the wall clock, which may have been changed.
        let is_due = |record: &JobRecord| {
            record.job.ended().is_some_and(|at| at.0 <= before) && !record.is_surely_younger_than(age, &now)
        };
        Ok(self.records(&JobQuery::All)?.into_iter().filter(is_due).collect())
    }

    /// Removes the record and files of a job that has ended; returns whether there was one.
    fn sweep(&self, records: &mut JobRecords, record: &JobRecord) -> Result<bool, JobError> {
        let was_there = records.remove_ended(&record.job.id)?;
        if was_there {
            // Remove only the file we created.
            if is_ours(record) {
                remove(&record.job.output_file)?;
                remove_empty_folders(&record.job.output_file);
            }
            remove(&self.options.map_file(&record.job.id))?;
        }
        Ok(was_there)
    }
}

impl Jobs {
    /// Removes the output of a job that has ended, and keeps its record.
    fn sweep_output(&self, records: &mut JobRecords, record: &JobRecord) -> Result<(), JobError> {
        if is_ours(record) {
            remove(&record.job.output_file)?;
        }
        records.change(&record.job.id, |record| {
            let takes_room = record.job.ended().is_some() && record.file_size > 0;
            record.file_size = 0;
            takes_room
        })?;
        Ok(())
    }
}

fn is_ours_or_gone(record: &JobRecord) -> bool {
    is_ours(record) || std::fs::symlink_metadata(&record.job.output_file).is_err()
}

fn is_ours(record: &JobRecord) -> bool {
    let found = std::fs::symlink_metadata(&record.job.output_file);
    found.is_ok_and(|metadata| record.identity == Some((metadata.dev(), metadata.ino())) && metadata.is_file())
}

fn remove(path: &Path) -> Result<(), JobError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(JobError::io("cannot remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes `tasks/`, and the folders of the session and the project above it, if they are empty.
fn remove_empty_folders(file: &Path) {
    for folder in file.ancestors().skip(1).take(3) {
        let is_root = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("claude-"));
        if is_root || std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Returns the maximum output size for a new job, after removing the output of the oldest ended jobs if necessary.
pub(crate) fn grant_room(jobs: &Jobs, records: &mut JobRecords, wanted: Option<u64>) -> Result<u64, JobError> {
    let settings = &jobs.options.settings;
    let wanted = wanted.unwrap_or(settings.max_output).max(SMALLEST);
    let left = make_room(jobs, records, wanted)?;
    if left < SMALLEST {
        return Err(JobError::NoRoom {
            used: settings.quota.saturating_sub(left),
            quota: settings.quota,
            needed: SMALLEST,
        });
    }
    Ok(wanted.min(left))
}

/// Doubles the space reserved for a job's output, as far as the quota allows; returns the maximum size of the output.
pub(crate) fn widen_room(
    jobs: &Jobs,
    records: &mut JobRecords,
    record: &mut JobRecord,
    length: u64,
) -> Result<u64, JobError> {
    let most = record.job.max_output;
    let wanted = length.saturating_mul(2).min(most).max(record.file_size);
    let left = make_room(jobs, records, wanted - record.file_size)?;
    let allowed = record.file_size.saturating_add(left).min(most);
    record.file_size = wanted.min(allowed.max(record.file_size));
    let room = record.file_size;
    records.change(&record.job.id, |record| {
        let is_running = !record.job.state().is_over();
        if is_running {
            record.file_size = room;
        }
        is_running
    })?;
    Ok(allowed)
}

/// Removes the output of ended jobs, oldest first, until `wanted` bytes are available or no more can be removed;
/// returns the available space.
fn make_room(jobs: &Jobs, records: &mut JobRecords, wanted: u64) -> Result<u64, JobError> {
    let quota = jobs.options.settings.quota;
    loop {
        let used = records.reserved()?;
        if used.saturating_add(wanted) <= quota {
            return Ok(quota - used);
        }
        let oldest = jobs.records(&JobQuery::FewWithOutput)?;
        if oldest.is_empty() {
            return Ok(quota.saturating_sub(filled(jobs)?));
        }
        let mut excess = used.saturating_add(wanted) - quota;
        for record in oldest {
            if excess == 0 {
                break;
            }
            jobs.sweep_output(records, &record)?;
            excess = excess.saturating_sub(record.file_size);
        }
    }
}

/// Returns the size of all output on disk, which may be less than what is reserved for running jobs.
fn filled(jobs: &Jobs) -> Result<u64, JobError> {
    let size = |record: &JobRecord| match record.job.state().is_over() {
        true => record.file_size,
        false => std::fs::metadata(&record.job.output_file).map_or(0, |metadata| metadata.len()),
    };
    Ok(jobs.records(&JobQuery::All)?.iter().map(size).sum())
}
