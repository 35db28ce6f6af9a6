//! The process that supervises one job, and reports the job to other machines.

use std::os::fd::BorrowedFd;
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, thread};

use rustix::process::setsid;
use taskyard::core::{ClientVersion, CommandEnd, Job, JobEnding, JobFate, JobId, JobOutput, JobUsage, ProcessMark};
use taskyard::jobs::{JobError, JobNews, JobRecord, JobRecords, JobReport, JobRequests, LONGEST_TAIL, SharedJobs};
use taskyard::liveness::{Signs, look_at, own_mark};
use taskyard::process::{Cancel, OutputPipe};
use taskyard::store::StoreError;
use taskyard::system;

use super::supervision;
use super::supervision::{Cause, Duties, Leftovers, Supervision, Wish, adopt_orphans};
use crate::output::OutputWriter;
use crate::processes::{JOB, TOKEN};
use crate::registry::widen_room;
use crate::supervising::supervision::Started;
use crate::{JobOptions, Jobs, OutputReader};

/// The size of a read.
const BUFFER: usize = 256 << 10;
/// How long to keep retrying to record a job's end, for example on a full disk.
const RECORDING: Duration = Duration::from_secs(600);

/// Supervises a job until none of its processes is left; returns the job, and whether other machines have been told of
/// its end. `ready` is called once, when the job runs or could not be started. `share` opens the store of the job's
/// list, or returns `None` if no other machine shares it.
///
/// This takes over the process: it becomes a session leader and adopts orphans. Must be called on the main thread,
/// because the command dies with the calling thread. When `cancel` is cancelled, the job is stopped.
pub(crate) fn supervise(
    options: JobOptions,
    id: &JobId,
    cancel: &Cancel,
    ready: impl FnOnce(Result<(), String>),
    share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>> + Send + 'static,
) -> Result<(Job, bool), JobError> {
    let jobs = Jobs::new(options);
    let (mut supervisor, started) = match Supervisor::begin(&jobs, id) {
        Ok(begun) => begun,
        Err(error) => {
            ready(Err(error.to_string()));
            return Err(error);
        }
    };
    ready(Ok(()));
    supervisor.reporter = Some(Reporter::start(&jobs.options, &supervisor.record.job, cancel, share));
    let how = match started {
        Ok(started) => supervisor.look_after(started, cancel)?,
        Err(error) => supervisor.not_started(&error),
    };
    let recorded = supervisor.record_end(&how);
    // No process waits for heartbeats of a job that is known to have ended.
    Signs::in_data(&jobs.options.data).take_back();
    let job = recorded?;
    let is_told = supervisor.reporter.take().is_none_or(|reporter| reporter.end(&job));
    Ok((job, is_told))
}

/// A running job and its output file.
struct Supervisor<'a> {
    jobs: &'a Jobs,
    record: JobRecord,
    writer: OutputWriter,
    /// The pipes for stdout and, if separate, for stderr.
    pipes: [OutputPipe; 2],
    buffer: Vec<u8>,
    /// The job records, opened when more space is first requested.
    records: Option<JobRecords>,
    /// The output size at which more space has to be reserved.
    room: u64,
    peak_memory: Option<u64>,
    /// Reports the job to other machines, once it runs.
    reporter: Option<Reporter>,
}

impl<'a> Supervisor<'a> {
    /// Starts the command and records that the job runs. If the command cannot be started, the job is recorded as
    /// running nevertheless, and ends at once.
    fn begin(jobs: &'a Jobs, id: &JobId) -> Result<(Self, io::Result<Started>), JobError> {
        let options = &jobs.options;
        let here = |error: io::Error| JobError::io("cannot become a supervisor at", &options.data)(error);
        // The process that started us may already have made us a session leader.
        let _ = setsid();
        adopt_orphans().map_err(here)?;
        let missing = || JobError::NoSuchJob { name: id.as_str().to_owned() };
        let mut record = jobs.recorded(id)?.ok_or_else(missing)?;
        if !matches!(record.job.fate, JobFate::Pending) {
            return Err(missing());
        }
        let writer = create_output(options, &record)?;
        match Self::record_beginning(jobs, &mut record, &writer) {
            Ok((started, pipes)) => {
                let (buffer, room) = (vec![0; BUFFER], record.file_size);
                let (records, peak_memory, reporter) = (None, None, None);
                Ok((Self { jobs, record, writer, pipes, buffer, records, room, peak_memory, reporter }, started))
            }
            Err(error) => {
                // Nothing was written, and no command will ever ask for this output.
                let _ = std::fs::remove_file(&record.job.output_file);
                let _ = std::fs::remove_file(options.map_file(id));
                Err(error)
            }
        }
    }

    fn record_beginning(
        jobs: &Jobs,
        record: &mut JobRecord,
        writer: &OutputWriter,
    ) -> Result<(io::Result<Started>, [OutputPipe; 2]), JobError> {
        let options = &jobs.options;
        let mut pipes = [OutputPipe::default(), OutputPipe::default()];
        let started = start(options, record, &mut pipes);
        record.identity = writer.identity().ok();
        record.pipe = pipes[0].inode();
        let own = own_mark();
        let pid = started.as_ref().map_or(own.pid, |started| started.mark.pid);
        record.job.fate = JobFate::Running { pid, supervisor: own };
        let mut records = JobRecords::open(&options.data)?;
        records.hurry()?;
        let mut is_ours = false;
        records.change(&record.job.id.clone(), |now| {
            // The process that started us may have given up in the meantime, or someone may have asked to stop the job.
            is_ours = matches!(now.job.fate, JobFate::Pending);
            if is_ours {
                record.is_stop_asked = now.is_stop_asked;
                *now = record.clone();
            }
            is_ours
        })?;
        if !is_ours {
            return Err(JobError::NoSuchJob { name: record.job.id.as_str().to_owned() });
        }
        Ok((started, pipes))
    }

    fn not_started(&self, error: &io::Error) -> JobEnding {
        let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        let why = format!("{}: {error}", self.record.job.directory.display());
        JobEnding::NotStarted { code, why }
    }

    /// Lets the command begin, and supervises it until none of its processes is left.
    fn look_after(&mut self, started: Started, cancel: &Cancel) -> Result<JobEnding, JobError> {
        let data = self.jobs.options.data.clone();
        let supervision = Supervision {
            started,
            data: &data,
            grace: self.record.grace,
            time_limit: self.record.job.time_limit,
            leftovers: Leftovers::End,
        };
        let failed = |error| JobError::io("cannot look after", "a job")(error);
        let ended = supervision.look_after(b"", cancel, self).map_err(failed)?;
        // No process of the job can write any more.
        let mut before = None;
        while before != Some(self.writer.output().written) {
            before = Some(self.writer.output().written);
            self.drain([true, true]);
        }
        Ok(ending(ended))
    }

    /// Stores the output that is ready to be read.
    fn drain(&mut self, readable: [bool; 2]) {
        let marks: [&[u8]; 2] = [b"", b"[stderr] "];
        for ((pipe, mark), _) in self.pipes.iter_mut().zip(marks).zip(readable).filter(|(_, is_readable)| *is_readable)
        {
            pipe.drain(&mut self.buffer, |bytes| {
                if !mark.is_empty() {
                    self.writer.write(mark);
                }
                self.writer.write(bytes);
            });
        }
    }

    /// Limits the output file to what the quota of all jobs allows.
    fn heed_quota(&mut self) {
        let opened = match self.records.take() {
            Some(records) => Ok(records),
            None => JobRecords::open(&self.jobs.options.data),
        };
        let length = self.writer.length();
        let allowed = opened.and_then(|mut records| {
            let allowed = widen_room(self.jobs, &mut records, &mut self.record, length);
            self.records = Some(records);
            allowed
        });
        // If that cannot be determined, only the job's own limit applies.
        if let Ok(allowed) = allowed {
            self.writer.lower_limit(allowed);
        }
    }

    /// Writes the last line of the output and records the job's end, which queues the notice.
    fn record_end(&mut self, how: &JobEnding) -> Result<Job, JobError> {
        self.writer.finish(trailer(self.record.job.form, how).as_bytes());
        let started = Instant::now();
        let mut pause = Duration::from_millis(50);
        let usage = JobUsage { peak_memory: self.peak_memory, ..usage_of_children() };
        loop {
            match self.try_record(how, usage) {
                Ok(job) => return Ok(job),
                // The record was removed on purpose, so there is nothing to retry.
                Err(error @ JobError::NoSuchJob { .. }) => return Err(error),
                Err(error) if started.elapsed() > RECORDING => return Err(error),
                Err(error) => {
                    tracing::warn!(job = %self.record.job.id, %error, "the end of the job cannot be recorded yet");
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_secs(5));
                }
            }
        }
    }

    fn try_record(&self, how: &JobEnding, usage: JobUsage) -> Result<Job, JobError> {
        let (jobs, id) = (self.jobs, &self.record.job.id);
        let missing = || JobError::NoSuchJob { name: id.as_str().to_owned() };
        // Opening would recreate it.
        if !jobs.options.data.exists() {
            return Err(missing());
        }
        let mut records = JobRecords::open(&jobs.options.data)?;
        records.take_care()?;
        let at = system::now();
        let record = records.change(id, |record| {
            let is_alive = !record.job.state().is_over();
            if is_alive {
                record.job.fate = JobFate::Ended { how: how.clone(), at, usage };
                record.job.output = self.writer.output();
                record.job.last_seen = at;
                record.file_size = self.writer.length();
            }
            is_alive
        })?;
        record.map(|record| record.job).ok_or_else(missing)
    }
}

impl Duties for Supervisor<'_> {
    fn sources(&self) -> [Option<BorrowedFd<'_>>; 2] {
        self.pipes.each_ref().map(OutputPipe::fd)
    }

    fn attend(&mut self, readable: [bool; 2]) -> Option<Wish> {
        self.drain(readable);
        if let Some(reporter) = self.reporter.as_ref().filter(|_| readable.contains(&true)) {
            reporter.note_output();
        }
        if self.writer.length() >= self.room {
            self.room = self.writer.length() * 2;
            self.heed_quota();
        }
        None
    }

    fn beat(&mut self, command: &ProcessMark) {
        self.writer.touch();
        Signs::in_data(&self.jobs.options.data).leave_one();
        self.peak_memory = peak_memory(command).or(self.peak_memory);
    }
}

/// Starts the command of a job, which then waits for permission to begin, and opens its output pipes.
fn start(options: &JobOptions, record: &JobRecord, pipes: &mut [OutputPipe; 2]) -> io::Result<Started> {
    let job = &record.job;
    let (stdout, writes) = OutputPipe::new()?;
    let (stderr, writes_errors) = match job.form {
        ClientVersion::V2_1_34 => OutputPipe::new()?,
        ClientVersion::V2_1_325 => (OutputPipe::default(), writes.try_clone()?),
    };
    *pipes = [stdout, stderr];
    Started::start(&options.program, &job.command, |command| {
        command.env(JOB, job.id.as_str()).env(TOKEN, &record.token).current_dir(&job.directory);
        command.stdout(writes).stderr(writes_errors);
    })
}

/// Creates the output file. Retries, because a cleanup may remove the folder right after it was created.
fn create_output(options: &JobOptions, record: &JobRecord) -> Result<OutputWriter, JobError> {
    let path = &record.job.output_file;
    let mut attempts = 0;
    loop {
        options.prepare(path)?;
        attempts += 1;
        match OutputWriter::create(path, &options.map_file(&record.job.id), record.job.max_output) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < 10 => {}
            result => return result.map_err(JobError::io("cannot create", path)),
        }
    }
}

fn ending(supervision::Ended { status, cause, why_not }: supervision::Ended) -> JobEnding {
    let code = status.and_then(|status| status.exit_status());
    let signal = status.and_then(|status| status.terminating_signal());
    let end = match (code, signal) {
        (Some(code), _) => CommandEnd::Exited(code),
        (None, Some(signal)) => CommandEnd::Signalled(signal),
        (None, None) => CommandEnd::Unseen,
    };
    match (cause, end, why_not) {
        (Cause::Wish, end, _) => JobEnding::Stopped(end),
        (Cause::Time, end, _) => JobEnding::TimedOut(end),
        (Cause::Itself, CommandEnd::Exited(code), Some(why)) => JobEnding::NotStarted { code, why },
        (Cause::Itself, CommandEnd::Exited(code), None) => JobEnding::Exited(code),
        (Cause::Itself, CommandEnd::Signalled(signal), _) => JobEnding::Signalled(signal),
        (Cause::Itself, CommandEnd::Unseen, _) => JobEnding::Signalled(0),
    }
}

/// Returns the line that the client appends to the output.
fn trailer(form: ClientVersion, how: &JobEnding) -> String {
    match (form, how) {
        (ClientVersion::V2_1_34, _) => String::new(),
        (_, JobEnding::Stopped(_) | JobEnding::TimedOut(_)) => "\n[killed]\n".to_owned(),
        (_, JobEnding::Exited(code) | JobEnding::NotStarted { code, .. }) => format!("\n[exited with code {code}]\n"),
        // As a shell reports it.
        (_, JobEnding::Signalled(signal)) => format!("\n[exited with code {}]\n", 128 + signal),
    }
}

/// Returns the CPU time of all reaped descendants of this process.
fn usage_of_children() -> JobUsage {
    let times = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace().skip(13);
        let mut time = || Some(ticks(fields.next()?.parse().ok()?));
        // Fields 16 and 17 of the line.
        Some((time()?, time()?))
    };
    let (user, system) = times().unwrap_or_default();
    JobUsage { user, system, peak_memory: None }
}

/// Returns the peak memory of a living process; `None` if its pid has been reused.
fn peak_memory(process: &ProcessMark) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
    look_at(process.pid).filter(|now| now.started == process.started)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn ticks(count: u64) -> Duration {
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Duration::from_millis(count.saturating_mul(1000) / per_second)
}

/// The subcommand that reports the end of a job to other machines.
pub(crate) const DELIVER: &str = "deliver";

/// The minimum time between two reports while output flows, and the first pause before a retry.
const BETWEEN_REPORTS: Duration = Duration::from_secs(1);
/// The longest pause before a retry.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long the supervisor waits for its last report before it leaves that to another process: local waiters wait for
/// the supervisor to end.
const END_PATIENCE: Duration = Duration::from_secs(1);
/// How long that process keeps retrying.
const DELIVERING: Duration = Duration::from_secs(600);
/// The largest piece of output that is sent at once, in bytes.
const LONGEST_PIECE: u64 = 1 << 20;

/// Reports this supervisor's job to other machines, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Reporter {
    signals: Arc<Signals>,
}

/// Wakes the reporting thread.
#[derive(Debug, Default)]
struct Signals {
    pending: Mutex<Pending>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    has_output: bool,
    /// Whether there may be a request from another machine.
    may_be_asked: bool,
    ended: Option<Job>,
    /// Whether nothing is left to report.
    is_done: bool,
}

impl Reporter {
    /// Starts reporting a running job. `share` opens the store on the reporting thread; it returns `None` if no other
    /// machine shares the store. A request to stop the job cancels `cancel`.
    pub(crate) fn start(
        options: &Arc<JobOptions>,
        job: &Job,
        cancel: &Cancel,
        share: impl FnOnce(&Job) -> Option<Arc<dyn SharedJobs>> + Send + 'static,
    ) -> Self {
        let signals = Arc::new(Signals::default());
        let reporting = Reporting { options: Arc::clone(options), job: job.clone(), host: host_name() };
        let (cancel, told) = (cancel.clone(), Arc::clone(&signals));
        let thread = thread::Builder::new().name("taskyard-report".to_owned());
        let started = thread.spawn(move || {
            if let Some(shared) = share(&reporting.job) {
                reporting.run(&*shared, &told, &cancel);
            }
            told.note(|pending| pending.is_done = true);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "other machines are not told of the job");
            signals.note(|pending| pending.is_done = true);
        }
        Self { signals }
    }

    /// Records that there is new output.
    pub(crate) fn note_output(&self) {
        self.signals.note(|pending| pending.has_output = true);
    }

    /// Reports the end of the job and waits briefly for that. Returns whether nothing is left to report.
    pub(crate) fn end(self, job: &Job) -> bool {
        let until = Instant::now() + END_PATIENCE;
        self.signals.note(|pending| pending.ended = Some(job.clone()));
        self.signals.sleep(|pending| (!pending.is_done).then_some(until));
        self.signals.pending().is_done
    }
}

impl Signals {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut Pending)) {
        change(&mut self.pending());
        self.changed.notify_all();
    }

    /// Sleeps until the moment that `until` returns for the pending state; wakes immediately once it returns `None`.
    fn sleep(&self, until: impl Fn(&Pending) -> Option<Instant>) {
        let mut pending = self.pending();
        while let Some(until) = until(&pending) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            pending = self.changed.wait_timeout(pending, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A job that is reported to other machines.
struct Reporting {
    options: Arc<JobOptions>,
    job: Job,
    host: String,
}

impl Reporting {
    /// Reports the job until its end has been reported.
    fn run(&self, shared: &dyn SharedJobs, signals: &Arc<Signals>, cancel: &Cancel) {
        let heard = Arc::clone(signals);
        let hear = move || heard.note(|pending| pending.may_be_asked = true);
        let watch = shared.follow(&self.job.id, JobNews::Requests, Arc::new(hear));
        let (mut ended, mut is_news, mut was_told) = (None, true, false);
        let mut pause = BETWEEN_REPORTS;
        loop {
            {
                let mut pending = signals.pending();
                ended = ended.or_else(|| pending.ended.take());
                is_news |= pending.has_output || ended.is_some();
                (pending.has_output, pending.may_be_asked) = (false, false);
            }
            let now = Instant::now();
            match self.tell(shared, ended.as_ref(), is_news, cancel) {
                Ok(true) if ended.is_some() => return,
                Ok(true) => {
                    (is_news, was_told, pause) = (false, true, BETWEEN_REPORTS);
                    let interval = watch.interval();
                    signals.sleep(|pending| match pending {
                        Pending { ended: Some(_), .. } | Pending { may_be_asked: true, .. } => None,
                        Pending { has_output: true, .. } => Some(now + BETWEEN_REPORTS),
                        Pending { .. } => Some(now + interval),
                    });
                }
                Ok(false) => {
                    tracing::warn!(job = %self.job.id, "another machine has a job of this id: others are not told of this one");
                    return;
                }
                // A store that never admitted us most likely never will.
                Err(error) if !was_told && !is_passing(&error) => {
                    tracing::warn!(job = %self.job.id, %error, "other machines are not told of the job");
                    return;
                }
                Err(error) => {
                    tracing::debug!(job = %self.job.id, %error, "other machines are told of the job later");
                    let until = Instant::now() + pause;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    // The first try after the end is made at once.
                    signals.sleep(|pending| pending.ended.is_none().then_some(until));
                }
            }
        }
    }

    /// Reports the job if there is news, and handles requests; returns `false` if another machine has a job of this id.
    fn tell(
        &self,
        shared: &dyn SharedJobs,
        ended: Option<&Job>,
        is_news: bool,
        cancel: &Cancel,
    ) -> Result<bool, StoreError> {
        let heard = if is_news { None } else { shared.requests(&self.job.id)? };
        let heard = match heard {
            Some(requests) => Some(requests),
            None => self.report(shared, ended)?,
        };
        let Some(JobRequests { stop, output }) = heard else { return Ok(false) };
        if stop && ended.is_none() {
            cancel.cancel();
        }
        for request in output {
            let read = OutputReader::open(&self.options, ended.unwrap_or(&self.job))
                .and_then(|reader| reader.read(request.offset, request.length.min(LONGEST_PIECE)));
            let part = read.unwrap_or_else(|error| {
                tracing::warn!(job = %self.job.id, %error, "its output cannot be read");
                Default::default()
            });
            shared.answer(&self.job.id, &request, &part)?;
        }
        Ok(true)
    }

    fn report(&self, shared: &dyn SharedJobs, ended: Option<&Job>) -> Result<Option<JobRequests>, StoreError> {
        let mut job = ended.unwrap_or(&self.job).clone();
        if ended.is_none() {
            job.last_seen = system::now();
        }
        let (output, tail) = self.newest(&job).unwrap_or_else(|error| {
            tracing::warn!(job = %job.id, %error, "its output cannot be read");
            (job.output, Vec::new())
        });
        job.output = output;
        shared.report(&JobReport { job: &job, host: &self.host, tail: &tail })
    }

    /// Returns the size of the output, and its end.
    fn newest(&self, job: &Job) -> Result<(JobOutput, Vec<u8>), JobError> {
        let reader = OutputReader::open(&self.options, job)?;
        let mut output = reader.output()?;
        let first = output.gap.map_or(0, |gap| gap.to);
        let part = reader.read(output.written.saturating_sub(LONGEST_TAIL).max(first), LONGEST_TAIL)?;
        if !part.bytes.is_empty() {
            // The job may have written more in the meantime.
            output.written = part.next;
        }
        Ok((output, part.bytes))
    }
}

/// Starts a detached process that reports the end of a job to other machines.
pub(crate) fn leave_to_another(options: &JobOptions, job: &JobId) {
    let mut command = std::process::Command::new(&options.program);
    command.args(["job", DELIVER]).arg(&options.data).arg(job.as_str()).current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        tracing::warn!(%job, %error, "other machines are not told of the end of the job");
    }
}

/// Reports the end of a job to other machines, retrying until that succeeds or takes too long.
pub(crate) fn deliver(options: &JobOptions, job: &Job, shared: &dyn SharedJobs) {
    let reporting = Reporting { options: Arc::new(options.clone()), job: job.clone(), host: host_name() };
    let (started, mut pause) = (Instant::now(), BETWEEN_REPORTS);
    while let Err(error) = reporting.report(shared, Some(job)) {
        if started.elapsed() > DELIVERING {
            return tracing::warn!(job = %job.id, %error, "other machines are not told of the end of the job");
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn is_passing(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. } | StoreError::Busy { .. })
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
