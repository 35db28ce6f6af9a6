//! Tidying away what ended long ago, and the room that the output of all jobs together may take.
//!
//! Each job has some room set aside, and asks for more when it has filled that. So the sum is known without a look at their files.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use taskyard::clock;
use taskyard::core::{Job, JobId};
use taskyard::jobs::{JobError, JobQuery, JobRecord, JobRecords};

use super::Jobs;
use super::output::SMALLEST;

/// What was tidied away.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// How many bytes their output took.
    pub bytes: u64,
    /// Jobs whose file another program exchanged: it was left alone.
    pub foreign: Vec<Job>,
}

impl Jobs {
    /// Removes the jobs that ended longer ago than `older_than`, with their output.
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
            // They are forgotten there in time.
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
        let now = clock::moment();
        let before = now.wall.0.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
        // What was measured counts for more than a clock that may have been set.
        let is_due = |record: &JobRecord| {
            record.job.ended().is_some_and(|at| at.0 <= before) && !record.is_surely_younger_than(age, &now)
        };
        Ok(self.records(&JobQuery::All)?.into_iter().filter(is_due).collect())
    }

    /// Takes a job that ended off the record, and its files away; tells whether it was there.
    fn sweep(&self, records: &mut JobRecords, record: &JobRecord) -> Result<bool, JobError> {
        let was_there = records.remove_ended(&record.job.id)?;
        if was_there {
            // Only the very file we made is ours to remove.
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
    /// Takes the output of a job that ended away, and leaves the job on record.
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

/// Removes `tasks/`, and the folders of the session and the project above it if they are empty then.
fn remove_empty_folders(file: &Path) {
    for folder in file.ancestors().skip(1).take(3) {
        let is_root = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with("claude-"));
        if is_root || std::fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

/// Returns how large the output of another job may become, after the oldest that ended have made room for it where that was
/// needed.
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

/// Sets aside as much again as a job has filled, as far as there is room; returns how large its output may become.
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

/// Takes away the output of the first that ended until so much is left, as far as that goes; returns what is left.
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

/// Returns the size of the output of all jobs on disk, which may be less than what is reserved for jobs that run.
fn filled(jobs: &Jobs) -> Result<u64, JobError> {
    let size = |record: &JobRecord| match record.job.state().is_over() {
        true => record.file_size,
        false => std::fs::metadata(&record.job.output_file).map_or(0, |metadata| metadata.len()),
    };
    Ok(jobs.records(&JobQuery::All)?.iter().map(size).sum())
}
