//! The small process that looks after one job, from its start to its end.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::setsid;
use taskyard::clock;
use taskyard::core::{ClientVersion, CommandEnd, Job, JobEnding, JobFate, JobId, JobUsage, ProcessMark};
use taskyard::jobs::{JobError, JobRecord, JobRecords, SharedJobs};
use taskyard::liveness::{Signs, look_at, own_mark};
use taskyard::process::{Cancel, OutputPipe};

use super::reporting::Reporter;
use super::supervision::{self, Cause, Duties, Leftovers, Supervision, Wish, adopt_orphans};
use super::trampoline::Started;
use crate::housekeeping::widen_room;
use crate::output::OutputWriter;
use crate::processes::{JOB, TOKEN};
use crate::{JobOptions, Jobs};

/// How much is read at once.
const BUFFER: usize = 256 << 10;
/// For how long the end of a job is tried to be recorded, on a disk that is full, say.
const RECORDING: Duration = Duration::from_secs(600);

/// Looks after a job until nothing of it runs any more, and returns it, and whether nothing is left to tell other machines of it. `ready` is
/// told once, when it runs or cannot. `share` opens the store of its list, if other machines share it.
///
/// This is the whole life of a process: it becomes the leader of a session and adopts orphans. It must be called on the main
/// thread, with whose end the command ends. When `cancel` is cancelled, the job is stopped.
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
    // No reader waits for signs of a job that is known to have ended.
    Signs::in_data(&jobs.options.data).take_back();
    let job = recorded?;
    let is_told = supervisor.reporter.take().is_none_or(|reporter| reporter.end(&job));
    Ok((job, is_told))
}

/// A job that runs, and the file its output goes to.
struct Supervisor<'a> {
    jobs: &'a Jobs,
    record: JobRecord,
    writer: OutputWriter,
    /// What its command writes to stdout and, where that is apart, to stderr.
    pipes: [OutputPipe; 2],
    buffer: Vec<u8>,
    /// The records, once more room was asked for.
    records: Option<JobRecords>,
    /// How long the output may get before more room is set aside for it.
    room: u64,
    peak_memory: Option<u64>,
    /// Tells other machines of the job, once it runs.
    reporter: Option<Reporter>,
}

impl<'a> Supervisor<'a> {
    /// Starts the command and records that it runs. Where the command cannot be started, the job runs all the same, and ends at
    /// once.
    fn begin(jobs: &'a Jobs, id: &JobId) -> Result<(Self, io::Result<Started>), JobError> {
        let options = &jobs.options;
        let here = |error: io::Error| JobError::io("cannot become a supervisor at", &options.data)(error);
        // The process that started us may have made us the leader of a session already.
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
                // No command will ever ask for an output to which nothing was written.
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
            // A command may have given us up meanwhile, or asked to stop the job.
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

    /// Lets the command begin, and looks after it until none of its processes is left.
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
        // No process of the job is there to write any more.
        let mut before = None;
        while before != Some(self.writer.output().written) {
            before = Some(self.writer.output().written);
            self.drain([true, true]);
        }
        Ok(ending(ended))
    }

    /// Keeps what there is to read.
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

    /// Lets the file grow only as far as all jobs together may.
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
        // Where that cannot be found out, its own limit is all there is.
        if let Ok(allowed) = allowed {
            self.writer.lower_limit(allowed);
        }
    }

    /// Writes the last line of the output and records the end, with the notice of it.
    fn record_end(&mut self, how: &JobEnding) -> Result<Job, JobError> {
        self.writer.finish(trailer(self.record.job.form, how).as_bytes());
        let started = Instant::now();
        let mut pause = Duration::from_millis(50);
        let usage = JobUsage { peak_memory: self.peak_memory, ..usage_of_children() };
        loop {
            match self.try_record(how, usage) {
                Ok(job) => return Ok(job),
                // The program that took it off the record does not want to know.
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
        // Opening would make it anew.
        if !jobs.options.data.exists() {
            return Err(missing());
        }
        let mut records = JobRecords::open(&jobs.options.data)?;
        records.take_care()?;
        let at = clock::now();
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

/// Starts the command of a job, ready to begin, and opens the pipes it writes to.
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

/// Makes the output file; its folder may be tidied away the moment after it was made.
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

/// Returns the line that the client puts at the end of the output.
fn trailer(form: ClientVersion, how: &JobEnding) -> String {
    match (form, how) {
        (ClientVersion::V2_1_34, _) => String::new(),
        (_, JobEnding::Stopped(_) | JobEnding::TimedOut(_)) => "\n[killed]\n".to_owned(),
        (_, JobEnding::Exited(code) | JobEnding::NotStarted { code, .. }) => format!("\n[exited with code {code}]\n"),
        // As a shell counts it.
        (_, JobEnding::Signalled(signal)) => format!("\n[exited with code {}]\n", 128 + signal),
    }
}

/// Returns the time that everything used which this process took notice of when it ended.
fn usage_of_children() -> JobUsage {
    let times = || {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace().skip(13);
        let mut time = || Some(ticks(fields.next()?.parse().ok()?));
        // The 16th and the 17th field of the line.
        Some((time()?, time()?))
    };
    let (user, system) = times().unwrap_or_default();
    JobUsage { user, system, peak_memory: None }
}

/// Returns the most memory a living process has had; none where its number is another one's by now.
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
