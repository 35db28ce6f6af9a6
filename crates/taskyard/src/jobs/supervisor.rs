//! The small process that looks after one job, from its start to its end.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{WaitStatus, setsid};
use taskyard_core::{ClientVersion, Farewell, Job, JobEnding, JobFate, JobId, JobUsage};

use super::command_start::Started;
use super::ending_all::{Family, adopt_orphans};
use super::output_writer::OutputWriter;
use super::record::Record;
use super::trailer::trailer;
use super::wakeup::{Wakeup, wait_for};
use super::{JobError, JobPlace, Jobs, quota, usage};
use crate::clock;
use crate::liveness::{Signs, longest_silence, own_mark};
use crate::machine::Machine;
use crate::process::Cancel;

/// How often a sign of life is left while another one is waited for.
const SIGNS_IN_A_SILENCE: u32 = 6;
/// How long is waited for more output after the command ended, while something it started keeps the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long what a command left behind has to end when it is asked to.
const SHORT_GRACE: Duration = Duration::from_secs(2);
/// How soon is looked again whether everybody has ended.
const SOON: Duration = Duration::from_millis(10);
/// How long is waited for processes that were killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// The size of the pipe of a command that writes much.
const LARGE_PIPE: usize = 1 << 20;
/// How much is read at once.
const BUFFER: usize = 256 << 10;
/// How often is read before anything else is looked at.
const READS: usize = 16;
/// What a pipe holds that nobody enlarged.
const SMALL_PIPE: usize = 64 << 10;
/// For how long the end of a job is tried to be recorded, on a disk that is full, say.
const RECORDING: Duration = Duration::from_secs(600);

/// Looks after a job until nothing of it runs any more, and returns it. `ready` is told once, when it runs or cannot.
///
/// This is the whole life of a process: it becomes the leader of a session and adopts orphans. It must be called on the main
/// thread, with whose end the command ends. When `cancel` is cancelled, the job is stopped.
pub fn supervise(
    place: JobPlace,
    id: &JobId,
    cancel: &Cancel,
    ready: impl FnOnce(Result<(), String>),
) -> Result<Job, JobError> {
    let jobs = Jobs::new(place);
    let (supervisor, started) = match Supervisor::begin(&jobs, id) {
        Ok(begun) => begun,
        Err(error) => {
            ready(Err(error.to_string()));
            return Err(error);
        }
    };
    ready(Ok(()));
    let ending = match started {
        Ok(started) => supervisor.attend(started, cancel)?,
        Err(error) => supervisor.not_started(&error),
    };
    let recorded = ending.record(&jobs, id);
    // Nobody waits for signs of a job that is known to have ended.
    Signs::in_data(&jobs.place.data).take_back();
    recorded
}

/// A job that runs, and the file its output goes to.
struct Supervisor<'a> {
    jobs: &'a Jobs,
    record: Record,
    writer: OutputWriter,
}

/// How a job ended, before it is recorded.
struct Ended {
    form: ClientVersion,
    how: JobEnding,
    usage: JobUsage,
    writer: OutputWriter,
}

/// Why a job is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Its command has ended; this is about what it left behind.
    Itself,
    /// Somebody wants it.
    Wish,
    /// Its time is up.
    Time,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The command runs.
    Running,
    /// It has ended; what it left behind may have something to say.
    LastWords(Instant),
    /// Everybody was asked to end.
    Asked(Cause, Instant),
    /// Everybody is killed.
    Killing(Cause, Instant),
}

impl<'a> Supervisor<'a> {
    /// Starts the command and records that it runs. Where the command cannot be started, the job runs all the same, and ends at
    /// once.
    fn begin(jobs: &'a Jobs, id: &JobId) -> Result<(Self, io::Result<Started>), JobError> {
        let place = &jobs.place;
        let here = |error: io::Error| JobError::io("cannot become a supervisor at", &place.data)(error);
        // Whoever started us may have made us the leader of a session already.
        let _ = setsid();
        adopt_orphans().map_err(here)?;
        let missing = || JobError::NoSuchJob { name: id.as_str().to_owned() };
        let mut record = jobs.recorded(id)?.ok_or_else(missing)?;
        if !matches!(record.job.fate, JobFate::Pending) {
            return Err(missing());
        }
        let writer = create_output(place, &record)?;
        match Self::record_beginning(jobs, &mut record, &writer) {
            Ok(started) => Ok((Self { jobs, record, writer }, started)),
            Err(error) => {
                // Nobody will ever ask for what nothing was written to.
                let _ = std::fs::remove_file(&record.job.output_file);
                let _ = std::fs::remove_file(place.map_file(id));
                Err(error)
            }
        }
    }

    fn record_beginning(
        jobs: &Jobs,
        record: &mut Record,
        writer: &OutputWriter,
    ) -> Result<io::Result<Started>, JobError> {
        let place = &jobs.place;
        let started = Started::start(place, record);
        record.identity = writer.identity().ok();
        record.pipe = started.as_ref().ok().and_then(|started| started.pipe);
        let own = own_mark();
        let pid = started.as_ref().map_or(own.pid, |started| started.mark.pid);
        record.job.fate = JobFate::Running { pid, supervisor: own };
        let mut machine = Machine::open(&place.data)?;
        machine.hurry()?;
        let mut is_ours = false;
        jobs.change(&mut machine, &record.job.id.clone(), |now| {
            // Somebody may have given us up meanwhile, or wants the job stopped.
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
        Ok(started)
    }

    fn not_started(self, error: &io::Error) -> Ended {
        let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
        let why = format!("{}: {error}", self.record.job.directory.display());
        let how = JobEnding::NotStarted { code, why };
        Ended { form: self.record.job.form, how, usage: JobUsage::default(), writer: self.writer }
    }

    /// Lets the command begin, and looks after it until nobody is left.
    fn attend(mut self, mut started: Started, cancel: &Cancel) -> Result<Ended, JobError> {
        let failed = |error| JobError::io("cannot look after", "a job")(error);
        let wakeup = Wakeup::on(cancel).map_err(failed)?;
        let data = self.jobs.place.data.clone();
        let signs = Signs::in_data(&data);
        let mut family = Family::of_this_process(&data);
        let mut buffer = vec![0; BUFFER];
        let mut machine = None;
        let (mut status, mut why, mut peak) = (None, None, None);
        let mut phase = Phase::Running;
        let mut beat = Instant::now() + Duration::from_secs(1);
        // What is set aside for it is filled, and more is wanted.
        let mut look = self.record.file_size;
        let limit = self.record.job.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        // Where nobody hears it, the command has ended already.
        let _ = started.go();
        loop {
            let until = match phase {
                Phase::Running => limit.map_or(beat, |limit| limit.min(beat)),
                Phase::LastWords(until) => until.min(Instant::now() + SOON),
                Phase::Asked(..) | Phase::Killing(..) => Instant::now() + SOON,
            };
            let things = [
                started.stdout.as_ref().map(|pipe| pipe.as_fd()),
                started.stderr.as_ref().map(|pipe| pipe.as_fd()),
                started.telling(),
                started.handle.as_ref().filter(|_| status.is_none()).map(|handle| handle.as_fd()),
                Some(wakeup.fd()).filter(|_| matches!(phase, Phase::Running | Phase::LastWords(_))),
            ];
            let [out, err, told, ..] = wait_for(things, Some(until)).map_err(failed)?;
            if out {
                self.drain(&mut started.stdout, b"", &mut buffer);
            }
            if err {
                self.drain(&mut started.stderr, b"[stderr] ", &mut buffer);
            }
            if told {
                why = started.hear();
            }
            status = status.or(family.reap(started.mark.pid));
            let now = Instant::now();
            if now >= beat {
                beat = now + longest_silence() / SIGNS_IN_A_SILENCE;
                self.writer.touch();
                signs.leave_one();
                peak = usage::peak_memory(&started.mark).or(peak);
            }
            if self.writer.length() >= look {
                look = self.writer.length() * 2;
                self.heed_quota(&mut machine);
            }
            let has_ended = status.is_some();
            phase = match phase {
                Phase::Running | Phase::LastWords(_) if cancel.is_cancelled() && !has_ended => {
                    peak = usage::peak_memory(&started.mark).or(peak);
                    family.ask();
                    Phase::Asked(Cause::Wish, now + self.record.grace)
                }
                Phase::Running if limit.is_some_and(|limit| now >= limit) && !has_ended => {
                    family.ask();
                    Phase::Asked(Cause::Time, now + self.record.grace)
                }
                Phase::Running if has_ended => Phase::LastWords(now + LAST_WORDS),
                other => other,
            };
            let is_alone = has_ended && !matches!(phase, Phase::Running) && family.is_alone();
            match phase {
                _ if is_alone => break,
                Phase::LastWords(until) if now >= until => {
                    family.ask();
                    phase = Phase::Asked(Cause::Itself, now + SHORT_GRACE);
                }
                Phase::Asked(cause, until) if now >= until => phase = Phase::Killing(cause, now),
                Phase::Killing(_, since) if now >= since + PATIENCE && has_ended => break,
                _ => {}
            }
            if matches!(phase, Phase::Killing(..)) {
                family.kill();
            }
        }
        self.drain_rest(&mut started, &mut buffer);
        // What could not begin has said so before it ended.
        why = why.or_else(|| started.hear());
        let cause = match phase {
            Phase::Asked(cause, _) | Phase::Killing(cause, _) => cause,
            Phase::Running | Phase::LastWords(_) => Cause::Itself,
        };
        let usage = JobUsage { peak_memory: peak, ..usage::of_children() };
        Ok(Ended { form: self.record.job.form, how: ending(status, cause, why), usage, writer: self.writer })
    }

    /// Reads what there is, and closes the pipe at its end. What comes is marked where it came from stderr.
    fn drain(&mut self, pipe: &mut Option<File>, mark: &[u8], buffer: &mut [u8]) {
        for _ in 0..READS {
            let Some(file) = pipe else { return };
            match file.read(buffer) {
                Ok(0) => *pipe = None,
                Ok(count) => {
                    if count >= SMALL_PIPE {
                        // It writes more than a small pipe holds. Where the system has no more to give, so be it.
                        let _ = fcntl_setpipe_size(&*file, LARGE_PIPE);
                    }
                    if !mark.is_empty() {
                        self.writer.write(mark);
                    }
                    self.writer.write(&buffer[..count]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => *pipe = None,
            }
        }
    }

    /// Reads what is left in the pipes once nobody of ours is there to write.
    fn drain_rest(&mut self, started: &mut Started, buffer: &mut [u8]) {
        let mut before = None;
        while before != Some(self.writer.output().written) {
            before = Some(self.writer.output().written);
            self.drain(&mut started.stdout, b"", buffer);
            self.drain(&mut started.stderr, b"[stderr] ", buffer);
        }
    }

    /// Lets the file grow only as far as all jobs together may.
    fn heed_quota(&mut self, machine: &mut Option<Machine>) {
        let data = &self.jobs.place.data;
        let opened = match machine.take() {
            Some(machine) => Ok(machine),
            None => Machine::open(data),
        };
        let length = self.writer.length();
        let allowed = opened.map_err(JobError::from).and_then(|mut opened| {
            let allowed = quota::widen(self.jobs, &mut opened, &mut self.record, length);
            *machine = Some(opened);
            allowed
        });
        // Where that cannot be found out, its own limit is all there is.
        if let Ok(allowed) = allowed {
            self.writer.lower_limit(allowed);
        }
    }
}

impl Ended {
    /// Writes the last line of the output and records the end, with the notice of it.
    fn record(mut self, jobs: &Jobs, id: &JobId) -> Result<Job, JobError> {
        self.writer.finish(trailer(self.form, &self.how).as_bytes());
        let started = Instant::now();
        let mut pause = Duration::from_millis(50);
        loop {
            match self.try_record(jobs, id) {
                Ok(job) => return Ok(job),
                // Whoever took it off the record does not want to know.
                Err(error @ JobError::NoSuchJob { .. }) => return Err(error),
                Err(error) if started.elapsed() > RECORDING => return Err(error),
                Err(error) => {
                    tracing::warn!(job = %id, %error, "the end of the job cannot be recorded yet");
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_secs(5));
                }
            }
        }
    }

    fn try_record(&self, jobs: &Jobs, id: &JobId) -> Result<Job, JobError> {
        let missing = || JobError::NoSuchJob { name: id.as_str().to_owned() };
        // Opening would make it anew.
        if !jobs.place.data.exists() {
            return Err(missing());
        }
        let mut machine = Machine::open(&jobs.place.data)?;
        machine.take_care()?;
        let at = clock::now();
        let record = jobs.change(&mut machine, id, |record| {
            let is_alive = !record.job.state().is_over();
            if is_alive {
                record.job.fate = JobFate::Ended { how: self.how.clone(), at, usage: self.usage };
                record.job.output = self.writer.output();
                record.job.last_seen = at;
                record.file_size = self.writer.length();
            }
            is_alive
        })?;
        record.map(|record| record.job).ok_or_else(missing)
    }
}

/// Makes the output file; its folder may be tidied away the moment after it was made.
fn create_output(place: &JobPlace, record: &Record) -> Result<OutputWriter, JobError> {
    let path = &record.job.output_file;
    let mut attempts = 0;
    loop {
        place.prepare(path)?;
        attempts += 1;
        match OutputWriter::create(path, &place.map_file(&record.job.id), record.job.max_output) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < 10 => {}
            result => return result.map_err(JobError::io("cannot create", path)),
        }
    }
}

fn ending(status: Option<WaitStatus>, cause: Cause, why: Option<String>) -> JobEnding {
    let code = status.and_then(|status| status.exit_status());
    let signal = status.and_then(|status| status.terminating_signal());
    let farewell = match (code, signal) {
        (Some(code), _) => Farewell::Exited(code),
        (None, Some(signal)) => Farewell::Signalled(signal),
        (None, None) => Farewell::Unseen,
    };
    match (cause, farewell, why) {
        (Cause::Wish, farewell, _) => JobEnding::Stopped(farewell),
        (Cause::Time, farewell, _) => JobEnding::TimedOut(farewell),
        (Cause::Itself, Farewell::Exited(code), Some(why)) => JobEnding::NotStarted { code, why },
        (Cause::Itself, Farewell::Exited(code), None) => JobEnding::Exited(code),
        (Cause::Itself, Farewell::Signalled(signal), _) => JobEnding::Signalled(signal),
        (Cause::Itself, Farewell::Unseen, _) => JobEnding::Signalled(0),
    }
}
