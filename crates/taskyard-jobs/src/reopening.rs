//! Reopening the tasks of failed jobs, and dispatching the internal `job` subcommands.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use taskyard::core::rules::leases::leasing::reopens_its_task;
use taskyard::core::{Job, JobId};
use taskyard::jobs::{JobError, JobRecords, JobSettings, SharedJobs};
use taskyard::liveness::know_machine_by;
use taskyard::opening::Address;
use taskyard::process::Cancel;
use taskyard::{Error, Outcome, Yard};

use super::starting::READY;
use super::supervising::{DELIVER, deliver, leave_to_another, supervise, supervise_tied, trampoline};
use super::{JobOptions, Jobs};
use crate::processes::{cancel_when_stopped, hear_of_children, survive_file_size_limits};

/// How long to wait for another process that is reopening tasks.
const PATIENCE: Duration = Duration::from_secs(12);
/// How soon to check again whether it has finished.
const SOON: Duration = Duration::from_millis(5);

impl Jobs {
    /// Returns whether the end of some job may have to reopen a task. Very cheap.
    pub fn may_reopen_tasks(&self) -> bool {
        JobRecords::may_reopen_tasks(&self.options.data)
    }

    /// Returns the jobs whose tasks have to be reopened: jobs that failed, timed out or were lost, if that was
    /// requested and is still pending.
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

    /// Reopens the tasks whose jobs failed, timed out or were lost, if that was requested and no other process has done
    /// it. Covers every list of the yard's store, whose address is `address`. Called before a command reads or changes
    /// a list.
    pub fn reopen_tasks(&self, yard: &Yard, address: &Address) -> Result<(), Error> {
        if !self.may_reopen_tasks() {
            return Ok(());
        }
        self.settle_reopenings(&address.to_string(), |job| yard.reopen_task_of(job))
    }

    /// Reopens the tasks of jobs that were started for lists of a store, each once: a concurrent process waits, and
    /// then finds nothing left to do.
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

    /// Waits until no other process is reopening tasks, and locks them out.
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

/// Runs an internal subcommand if this process was started for one; returns `None` otherwise.
///
/// A job is supervised by a process of its own, and its command is started through another; both run this program. A
/// program that starts jobs or runs [`work`](crate::work) therefore calls this first in `main`, and exits with the
/// returned code. `options` returns the location of job files. `share` opens the shared jobs of the store that a job
/// was started for, on a separate thread, or returns `None` if no other machine shares that store. `settle` is called
/// when a job has ended, to apply the consequences for its task ([`Jobs::reopen_tasks`]).
///
/// ```no_run
/// use std::process::ExitCode;
/// use taskyard_jobs::{JobOptions, dispatch};
///
/// fn main() -> ExitCode {
///     let options = || Some(JobOptions::of_this_program("/var/lib/host/taskyard", "/tmp"));
///     if let Some(code) = dispatch(std::env::args_os(), options, |_| None, |_, _| {}) {
///         return code;
///     }
///     // What the program is for.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn dispatch(
    arguments: impl IntoIterator<Item = OsString>,
    options: impl FnOnce() -> Option<JobOptions>,
    share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>> + Send + 'static,
    settle: impl FnOnce(&Jobs, &Job),
) -> Option<ExitCode> {
    let arguments: Vec<OsString> = arguments.into_iter().skip(1).collect();
    match arguments.as_slice() {
        [job, word, data, id, quota] if job == "job" && word == "supervise" => {
            let (id, quota) = (id.to_str()?.parse().ok()?, quota.to_str()?.parse().ok()?);
            let settings = JobSettings { quota, ..JobSettings::default() };
            Some(look_after(JobOptions { data: PathBuf::from(data), settings, ..options()? }, &id, share, settle))
        }
        [job, word, data, id] if job == "job" && word == DELIVER => {
            let id = id.to_str()?.parse().ok()?;
            Some(deliver_end(JobOptions { data: PathBuf::from(data), ..options()? }, &id, share, settle))
        }
        [job, word, data, words @ ..] if job == "job" && word == "tied" && !words.is_empty() => {
            Some(look_after_tied(&JobOptions { data: PathBuf::from(data), ..options()? }, words))
        }
        [job, word, supervisor, words @ ..] if job == "job" && word == "begin" => {
            let supervisor = supervisor.to_str()?.parse().ok()?;
            Some(ExitCode::from(trampoline(supervisor, words)))
        }
        _ => None,
    }
}

fn look_after(
    options: JobOptions,
    id: &JobId,
    share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>> + Send + 'static,
    settle: impl FnOnce(&Jobs, &Job),
) -> ExitCode {
    survive_file_size_limits();
    know_machine_by(&options.data);
    match supervise(options.clone(), id, &hear_signals(), tell, share) {
        Ok((job, true)) => {
            settle(&Jobs::new(options), &job);
            ExitCode::SUCCESS
        }
        Ok((job, false)) => {
            leave_to_another(&options, &job.id);
            ExitCode::SUCCESS
        }
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reports the end of a job, for a supervisor that could not wait for the store.
fn deliver_end(
    options: JobOptions,
    id: &JobId,
    share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>>,
    settle: impl FnOnce(&Jobs, &Job),
) -> ExitCode {
    know_machine_by(&options.data);
    let jobs = Jobs::new(options);
    let Ok(job) = jobs.get(id) else { return ExitCode::FAILURE };
    if let Some(shared) = share(&job) {
        deliver(jobs.options(), &job, &*shared);
    }
    settle(&jobs, &job);
    ExitCode::SUCCESS
}

fn look_after_tied(options: &JobOptions, words: &[OsString]) -> ExitCode {
    supervise_tied(options, words, &hear_signals()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

/// Makes exit statuses of children available, and returns a cancellation that stop signals trigger.
fn hear_signals() -> Cancel {
    hear_of_children();
    let cancel = Cancel::new();
    cancel_when_stopped(cancel.clone());
    cancel
}

/// Reports on stdout to the process that started us, which listens there until then; afterwards stdout is discarded.
fn tell(ready: Result<(), String>) {
    let word = ready.map_or_else(|why| why.replace('\n', " "), |()| READY.to_owned());
    let mut stdout = std::io::stdout().lock();
    // The process that started us may be gone; the job continues.
    let _ = stdout.write_all(format!("{word}\n").as_bytes()).and_then(|()| stdout.flush());
    if let Ok(nobody) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nobody);
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

    /// Returns jobs, one of which is lost.
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
    fn only_one_of_two_finders_reopens_task_of_lost_job() {
        let data = tempfile::tempdir().unwrap();
        let jobs = with_a_lost_job(data.path());
        // Waited on twice: first when the first thread has begun, then when the other has checked.
        let moment = Barrier::new(2);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                jobs.settle_reopenings("memory:", |_| {
                    moment.wait();
                    moment.wait();
                    // Usually long enough for the other thread to check as well.
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
    fn unopened_store_is_retried_and_others_left_alone() {
        let data = tempfile::tempdir().unwrap();
        let jobs = with_a_lost_job(data.path());
        jobs.settle_reopenings("claude:", |job| panic!("{} is of another store", job.id)).unwrap();
        assert!(jobs.settle_reopenings("memory:", |_| Err(Error::Cancelled)).is_err());
        assert_eq!(jobs.to_be_reopened().unwrap().len(), 1);
        jobs.settle_reopenings("memory:", |_| Ok(Outcome::Done(()))).unwrap();
        assert_eq!(jobs.to_be_reopened().unwrap(), []);
    }
}
