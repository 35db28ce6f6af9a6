//! How much room the output of all jobs together takes, and how much one may take.
//!
//! Each job has some room set aside, and asks for more when it has filled that. So the sum is known without a look at their files.

use taskyard::jobs::{JobError, JobQuery, JobRecord, JobRecords, JobSettings};

use super::Jobs;

/// Returns how large the output of another job may become, after the oldest that ended have made room for it where that was
/// needed.
pub(crate) fn grant(jobs: &Jobs, records: &mut JobRecords, wanted: Option<u64>) -> Result<u64, JobError> {
    let settings = &jobs.options.settings;
    let wanted = wanted.unwrap_or(settings.max_output).max(JobSettings::SMALLEST_OUTPUT);
    let left = make_room(jobs, records, wanted)?;
    if left < JobSettings::SMALLEST_OUTPUT {
        return Err(JobError::NoRoom { used: settings.quota.saturating_sub(left), quota: settings.quota });
    }
    Ok(wanted.min(left))
}

/// Sets aside as much again as a job has filled, as far as there is room; returns how large its output may become.
pub(crate) fn widen(
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

/// Returns how much the output of all jobs really takes: what is set aside for those that run may be more than they will fill.
fn filled(jobs: &Jobs) -> Result<u64, JobError> {
    let size = |record: &JobRecord| match record.job.state().is_over() {
        true => record.file_size,
        false => std::fs::metadata(&record.job.output_file).map_or(0, |metadata| metadata.len()),
    };
    Ok(jobs.records(&JobQuery::All)?.iter().map(size).sum())
}
