//! How much room the output of all jobs together takes, and how much one may take.

use taskyard_core::Job;

use super::output_writer::SMALLEST;
use super::record::Record;
use super::{JobError, Jobs};
use crate::machine::{JobRows, Machine};

/// Returns how large the output of another job may become, after the oldest that ended have made room for it where that was
/// needed.
pub(super) fn grant(jobs: &Jobs, machine: &mut Machine, wanted: Option<u64>) -> Result<u64, JobError> {
    let settings = &jobs.place.settings;
    let wanted = wanted.unwrap_or(settings.max_output).max(SMALLEST);
    let left = make_room(jobs, machine, wanted)?;
    if left < SMALLEST {
        return Err(JobError::NoRoom { used: settings.quota.saturating_sub(left), quota: settings.quota });
    }
    Ok(wanted.min(left))
}

/// Returns how large the output of a running job may still become.
pub(super) fn allowance(jobs: &Jobs, machine: &mut Machine, job: &Job, length: u64) -> Result<u64, JobError> {
    // As much as it has already may come to it before somebody looks again.
    let left = make_room(jobs, machine, length)?;
    Ok(length.saturating_add(left).min(job.max_output))
}

/// Tidies away the oldest that ended until so much is left, as far as that goes; returns what is left.
fn make_room(jobs: &Jobs, machine: &mut Machine, wanted: u64) -> Result<u64, JobError> {
    let quota = jobs.place.settings.quota;
    // Mostly there is room whatever they still write, and nothing has to be looked at.
    let most = machine.job_sizes()?;
    if most.saturating_add(wanted) <= quota {
        return Ok(quota - most);
    }
    let mut records = jobs.records(&JobRows::All)?;
    let sizes: Vec<u64> = records.iter().map(size).collect();
    let mut used: u64 = sizes.iter().sum();
    if used.saturating_add(wanted) <= quota {
        return Ok(quota - used);
    }
    let mut ended: Vec<(Record, u64)> =
        records.drain(..).zip(sizes).filter(|(one, _)| one.job.ended().is_some()).collect();
    ended.sort_by_key(|(record, _)| record.job.ended());
    for (record, size) in ended.into_iter().filter(|(_, size)| *size > 0) {
        if used.saturating_add(wanted) <= quota {
            break;
        }
        if jobs.sweep_output(machine, &record)? {
            used = used.saturating_sub(size);
        }
    }
    Ok(quota.saturating_sub(used))
}

/// Returns how much room the output of a job takes.
fn size(record: &Record) -> u64 {
    if record.job.state().is_over() {
        return record.file_size;
    }
    std::fs::metadata(&record.job.output_file).map_or(0, |metadata| metadata.len())
}
