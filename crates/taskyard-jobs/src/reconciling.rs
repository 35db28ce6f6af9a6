//! Putting right what is recorded of jobs that no supervisor looks after any more.

use taskyard::core::rules::leases::job_fate::{Verdict, judge_job};
use taskyard::core::rules::leases::liveness::Liveness;
use taskyard::core::{CommandEnd, Job, JobEnding, JobFate, JobUsage};
use taskyard::jobs::{JobError, JobQuery, JobRecord, JobRecords};
use taskyard::liveness::Signs;
use taskyard::operations::JobChecks;
use taskyard::{Error, clock};

use super::own_supervisors::take_notice_of_ends;
use super::{Jobs, leftovers, output_map};

impl Jobs {
    /// Ends what is left of jobs whose supervisor is gone, records that they are lost, and returns them.
    pub fn reconcile(&self) -> Result<Vec<Job>, JobError> {
        take_notice_of_ends(None);
        self.put_right(&self.records(&JobQuery::Living)?)
    }

    /// Does the same for a few jobs, others each time: all of them where they are few. A command that starts a job has
    /// no time for a look at a thousand others.
    pub fn reconcile_few(&self) -> Result<(), JobError> {
        let anywhere = super::starting::random_id(&self.options.settings)?;
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
            .then(|| output_map::last_touched(&self.options.map_file(&record.job.id)))
            .flatten();
        let last_seen = touched.map_or(record.job.last_seen, |touched| touched.max(record.job.last_seen));
        let verdict = judge_job(&living, last_seen, &clock::moment(), seen);
        (verdict != Verdict::Stands).then_some(verdict)
    }

    /// Ends what is left of those among these whose supervisor is gone, records that they are lost, and returns them.
    pub(crate) fn put_right(&self, records: &[JobRecord]) -> Result<Vec<Job>, JobError> {
        let judged: Vec<(&JobRecord, Verdict)> =
            records.iter().filter_map(|record| Some((record, self.judge(record)?))).collect();
        if judged.is_empty() {
            return Ok(Vec::new());
        }
        let with_leftovers = judged.iter().filter(|(_, verdict)| *verdict == Verdict::LostWithLeftovers);
        leftovers::kill(&with_leftovers.map(|(record, _)| *record).collect::<Vec<_>>());
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
