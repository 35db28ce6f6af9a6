//! Opening the tasks of jobs again that did not complete.
//!
//! That a task may have to be opened is recorded with the start of its job and forgotten when it was, or need not be.
//! So it happens even if the process that should have done it was killed: the next one that looks does it.

use std::fs::File;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use taskyard::core::Job;
use taskyard::core::rules::leases::job_fate::reopens_its_task;
use taskyard::jobs::{JobError, JobRecords};
use taskyard::opening::Address;
use taskyard::{Error, Outcome, Yard};

use super::Jobs;

/// How long another process is waited for that opens tasks again.
const PATIENCE: Duration = Duration::from_secs(12);
/// How soon is looked again whether it is done.
const SOON: Duration = Duration::from_millis(5);

impl Jobs {
    /// Tells whether the end of a job may have to open a task again; costs next to nothing.
    pub fn may_reopen_tasks(&self) -> bool {
        JobRecords::may_reopen_tasks(&self.options.data)
    }

    /// Returns the jobs whose tasks are to be opened again: they have failed, ran out of time or were lost, that was wished, and no process
    /// has done it yet.
    pub fn to_be_reopened(&self) -> Result<Vec<Job>, JobError> {
        let mut found = Vec::new();
        if !self.may_reopen_tasks() {
            return Ok(found);
        }
        let Some(records) = JobRecords::look(&self.options.data)? else { return Ok(found) };
        for id in records.reopenings()? {
            match self.true_record(&id)?.map(|record| record.job) {
                Some(job) if reopens_its_task(&job) => found.push(job),
                Some(job) if !job.state().is_over() => {}
                _ => JobRecords::open(&self.options.data)?.settle_reopening(&id)?,
            }
        }
        Ok(found)
    }

    /// Reopens the tasks whose jobs failed, timed out or were lost, if that was wished and no other process has done it: on every list of the
    /// yard's store, whose address this is. Called before a command looks at a list or changes it.
    pub fn reopen_tasks(&self, yard: &Yard, address: &Address) -> Result<(), Error> {
        if !self.may_reopen_tasks() {
            return Ok(());
        }
        self.settle_reopenings(&address.to_string(), |job| yard.reopen_task_of(job))
    }

    /// Has the tasks opened again of those jobs that were started for lists of a store, each once: a process that comes
    /// while another process is at it waits, and finds nothing left to do.
    fn settle_reopenings(&self, store: &str, reopen: impl Fn(&Job) -> Result<Outcome<()>, Error>) -> Result<(), Error> {
        let is_due = |job: &Job| job.store == store;
        if !self.to_be_reopened()?.iter().any(is_due) {
            return Ok(());
        }
        let _turn = self.settling_turn()?;
        for job in self.to_be_reopened()?.iter().filter(|job| is_due(job)) {
            if let Outcome::Refused(refusal) = reopen(job)? {
                tracing::warn!(job = %job.id, ?refusal, "its task was not opened again");
            }
            JobRecords::open(&self.options.data)?.settle_reopening(&job.id)?;
        }
        Ok(())
    }

    /// Waits until no other process opens tasks again.
    fn settling_turn(&self) -> Result<File, JobError> {
        let path = self.options.data.join("jobs");
        let started = Instant::now();
        let attempt = || -> io::Result<File> {
            let file = File::open(&path)?;
            loop {
                match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => return Ok(file),
                    Err(Errno::WOULDBLOCK | Errno::INTR) if started.elapsed() < PATIENCE => thread::sleep(SOON),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        attempt().map_err(JobError::io("cannot lock", &path))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::time::Duration;

    use taskyard::core::{AgentName, ClientVersion, Job, JobFate, JobKind, JobOutput, ListId, Timestamp};
    use taskyard::jobs::{JobRecord, JobRecords, JobSettings};
    use taskyard::liveness::own_mark;
    use taskyard::{Error, Outcome};

    use crate::{JobOptions, Jobs};

    /// Returns jobs with one among them that was lost.
    fn with_a_lost_job(data: &std::path::Path) -> Jobs {
        let options = JobOptions {
            data: data.to_owned(),
            temporary: data.to_owned(),
            program: "/bin/false".into(),
            environment: Vec::new(),
            settings: JobSettings::default(),
        };
        let jobs = Jobs::new(options);
        let job = Job {
            id: "b000001".parse().unwrap(),
            kind: JobKind::LocalBash,
            description: "a job".into(),
            name: None,
            fate: JobFate::Lost { at: Timestamp(2) },
            started: Timestamp(1),
            output_file: data.join("output"),
            form: ClientVersion::default(),
            output: JobOutput::default(),
            output_offset: 0,
            notified: false,
            task: Some("1".parse().unwrap()),
            reopens_task: true,
            command: vec!["true".into()],
            directory: data.to_owned(),
            agent: AgentName::new("ana").unwrap(),
            list: ListId::new("L").unwrap(),
            store: "memory:".into(),
            tool_use: None,
            time_limit: None,
            max_output: 1,
            last_seen: Timestamp(1),
            machine: None,
        };
        let record = JobRecord::new(job, String::new(), own_mark(), Duration::ZERO);
        assert!(JobRecords::open(data).unwrap().insert(&record).unwrap());
        jobs
    }

    #[test]
    fn of_two_who_find_a_lost_job_at_the_same_moment_one_opens_its_task() {
        let data = tempfile::tempdir().unwrap();
        let jobs = with_a_lost_job(data.path());
        // Passed twice: the first one has begun, and the other has seen that.
        let moment = Barrier::new(2);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                jobs.settle_reopenings("memory:", |_| {
                    moment.wait();
                    moment.wait();
                    // As a rule long enough for the other one to have looked, too.
                    std::thread::sleep(Duration::from_millis(200));
                    Ok(Outcome::Done(()))
                })
            });
            moment.wait();
            assert_eq!(jobs.to_be_reopened().unwrap().len(), 1, "it is due still");
            moment.wait();
            jobs.settle_reopenings("memory:", |job| panic!("{} was opened twice", job.id)).unwrap();
            first.join().unwrap().unwrap();
        });
        assert!(!jobs.may_reopen_tasks());
    }

    #[test]
    fn what_could_not_be_opened_is_tried_again_and_other_stores_are_left_alone() {
        let data = tempfile::tempdir().unwrap();
        let jobs = with_a_lost_job(data.path());
        jobs.settle_reopenings("claude:", |job| panic!("{} is of another store", job.id)).unwrap();
        assert!(jobs.settle_reopenings("memory:", |_| Err(Error::Cancelled)).is_err());
        assert_eq!(jobs.to_be_reopened().unwrap().len(), 1);
        jobs.settle_reopenings("memory:", |_| Ok(Outcome::Done(()))).unwrap();
        assert_eq!(jobs.to_be_reopened().unwrap(), []);
    }
}
