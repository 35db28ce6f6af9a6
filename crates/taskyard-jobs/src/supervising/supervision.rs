//! Supervises a command and everything it starts, from its first moments to its end.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getppid, kill_process_group, wait};
use rustix::stdio::{dup2_stdin, stdin};
use taskyard::core::{JobFate, JobId, ProcessMark};
use taskyard::jobs::JobRecords;
use taskyard::liveness::{Process, longest_silence, mark_of, own_mark, sees_processes};
use taskyard::process::{Cancel, Waker, file_of, wait_for};

use crate::processes;

/// When the first heartbeat is due.
const FIRST_BEAT: Duration = Duration::from_secs(1);
/// How many heartbeats fit into the silence after which a process counts as dead.
const BEATS_IN_A_SILENCE: u32 = 6;
/// How long to keep reading output after the command ended while a process that it started is alive.
const OUTPUT_AFTER_END: Duration = Duration::from_millis(500);
/// The grace period of processes that a command left behind.
const SHORT_GRACE: Duration = Duration::from_secs(2);
/// How soon to check again whether every process has ended.
const SOON: Duration = Duration::from_millis(10);
/// How long to wait for killed processes to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many consecutive scans have to find no process, if scanning is the only evidence.
const ENOUGH_LOOKS: u32 = 3;
/// How many times in a row processes that became our children are killed.
const QUICK_LOOKS: u32 = 30;
/// How many scans to make for processes to signal: a single scan may miss a process whose sibling ends.
const LOOKS_TO_ASK: u32 = 2;

/// A command to supervise.
pub(crate) struct Supervision<'a> {
    /// The command, which has not begun.
    pub(crate) started: Started,
    /// Our data directory, which has the records of jobs that the command starts. Those are supervised separately.
    pub(crate) data: &'a Path,
    /// How long a process has to end after it was asked to.
    pub(crate) grace: Duration,
    pub(crate) time_limit: Option<Duration>,
    /// What happens to processes that the command leaves behind when it ends by itself.
    pub(crate) leftovers: Leftovers,
}

/// What happens to processes that a command leaves behind when it ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// They are stopped.
    End,
    /// They are left alone.
    LeaveAlone,
}

/// What a supervisor does besides watching processes.
pub(crate) trait Duties {
    /// Returns the descriptors to poll.
    fn sources(&self) -> [Option<BorrowedFd<'_>>; 2];

    /// Handles the sources that are readable; returns a request to end the command, if there is one.
    fn attend(&mut self, readable: [bool; 2]) -> Option<Wish>;

    /// Called once the command has begun, or with the reason why it could not.
    fn has_begun(&mut self, _why_not: Option<&str>) {}

    /// Called at every heartbeat while the command lives, and once before it is asked to end.
    fn beat(&mut self, _command: &ProcessMark) {}
}

/// A request to end a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Ask all processes to end, and kill them after the grace period.
    Ask,
    /// Kill all processes at once.
    Kill,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit status of its process, if it could be observed.
    pub(crate) status: Option<WaitStatus>,
    /// What ended it: itself, a request or the time limit.
    pub(crate) cause: Cause,
    /// Why it could not begin, if it could not.
    pub(crate) why_not: Option<String>,
}

/// Why all processes are being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The command has ended by itself; only what it left behind is being ended.
    Itself,
    /// The end was requested.
    Wish,
    /// The time limit was exceeded.
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The command runs.
    Running,
    /// The command has ended; until this moment, read what processes that it left behind still write.
    Draining(Instant),
    /// All processes were asked to end, and are killed at this moment.
    Asked(Cause, Instant),
    /// All processes are being killed, since this moment.
    Killing(Cause, Instant),
}

impl Supervision<'_> {
    /// Lets the command begin with `input` on stdin, and supervises it until no process is left that has to end with
    /// it. It is asked to end when `cancel` is cancelled, when the duties request it, and when its time limit is
    /// exceeded.
    pub(crate) fn look_after(mut self, input: &[u8], cancel: &Cancel, duties: &mut impl Duties) -> io::Result<Ended> {
        let (waker, _subscription) = Waker::on(cancel)?;
        let mut family = Family::of_this_process(self.data, self.started.mark.pid);
        let (mut status, mut why_not) = (None, None);
        let mut phase = Phase::Running;
        let mut beat = Instant::now() + FIRST_BEAT;
        let limit = self.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        // If the pipe has no reader, the command has ended already.
        let _ = self.started.begin(input);
        let cause = loop {
            let until = match phase {
                Phase::Running => limit.map_or(beat, |limit| limit.min(beat)),
                Phase::Draining(until) => until.min(Instant::now() + SOON),
                Phase::Asked(..) | Phase::Killing(..) => Instant::now() + SOON,
            };
            let [one, other] = duties.sources();
            let things = [
                one,
                other,
                self.started.telling(),
                self.started.handle.as_ref().filter(|_| status.is_none()).map(|handle| handle.as_fd()),
                Some(waker.fd()).filter(|_| matches!(phase, Phase::Running | Phase::Draining(_))),
            ];
            let [one, other, told, ..] = wait_for(things, Some(until))?;
            let wish = duties.attend([one, other]).or(cancel.is_cancelled().then_some(Wish::Ask));
            if told {
                why_not = self.started.hear();
                duties.has_begun(why_not.as_deref());
            }
            status = status.or(family.reap());
            let now = Instant::now();
            if now >= beat {
                beat = now + longest_silence() / BEATS_IN_A_SILENCE;
                duties.beat(&self.started.mark);
            }
            let has_ended = status.is_some();
            let cause = match (phase, wish) {
                (Phase::Running | Phase::Draining(_) | Phase::Asked(..), Some(Wish::Kill)) => {
                    phase = Phase::Killing(Cause::Wish, now);
                    None
                }
                (Phase::Running, _) if has_ended && self.leftovers == Leftovers::LeaveAlone => break Cause::Itself,
                (Phase::Running, _) if has_ended => {
                    phase = Phase::Draining(now + OUTPUT_AFTER_END);
                    None
                }
                (Phase::Running, Some(Wish::Ask)) => Some((Cause::Wish, self.grace)),
                (Phase::Running, None) if limit.is_some_and(|limit| now >= limit) => Some((Cause::Time, self.grace)),
                (Phase::Draining(until), _) if now >= until => Some((Cause::Itself, SHORT_GRACE)),
                _ => None,
            };
            if has_ended && phase != Phase::Running && family.is_alone() {
                break phase.cause();
            }
            if let Some((cause, grace)) = cause {
                duties.beat(&self.started.mark);
                family.ask();
                phase = Phase::Asked(cause, now + grace);
            }
            match phase {
                Phase::Asked(cause, until) if now >= until => phase = Phase::Killing(cause, now),
                // A process in uninterruptible sleep may take long to die. A caller that promised that nothing outlives
                // the command waits for it.
                Phase::Killing(cause, since)
                    if now >= since + PATIENCE && (has_ended || self.leftovers == Leftovers::LeaveAlone) =>
                {
                    break cause;
                }
                _ => {}
            }
            if matches!(phase, Phase::Killing(..)) {
                family.kill();
            }
        };
        // A command that could not begin has reported that before it ended.
        if self.started.telling().is_some() && status.is_some() {
            why_not = self.started.hear();
            duties.has_begun(why_not.as_deref());
        }
        Ok(Ended { status, cause, why_not })
    }
}

impl Phase {
    /// Returns why the command is being ended.
    fn cause(self) -> Cause {
        match self {
            Self::Asked(cause, _) | Self::Killing(cause, _) => cause,
            Self::Running | Self::Draining(_) => Cause::Itself,
        }
    }
}

/// The descendants of this process, which adopts orphaned descendants.
///
/// A job that was started from within a job is separate: neither its supervisor nor the supervisor's descendants count.
#[derive(Debug)]
struct Family<'a> {
    data: &'a Path,
    own: u32,
    /// The command that all other processes descend from, until it is reaped.
    command: Option<u32>,
    /// Whether a child was left at the last check.
    may_have_children: bool,
    /// How many consecutive scans found no process.
    empty_looks: u32,
}

impl<'a> Family<'a> {
    /// Returns the family of this process, which has started this command and nothing else.
    fn of_this_process(data: &'a Path, command: u32) -> Self {
        Self { data, own: std::process::id(), command: Some(command), may_have_children: true, empty_looks: 0 }
    }

    /// Reaps children that have ended; returns the status of the command if it is among them.
    fn reap(&mut self) -> Option<WaitStatus> {
        let mut found = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    // Its pid may be reused from now on.
                    if self.command.take_if(|command| *command == pid.as_raw_pid().unsigned_abs()).is_some() {
                        found = Some(status);
                    }
                }
                Ok(None) => {
                    self.may_have_children = true;
                    return found;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.may_have_children = false;
                    return found;
                }
            }
        }
    }

    /// Returns whether no process of the job is alive.
    ///
    /// An orphaned process becomes our child, so without children there are certainly no descendants. If the supervisor
    /// of another job is our child, several consecutive scans have to find no other process: a scan may miss a process
    /// that forks and exits at that moment.
    fn is_alone(&mut self) -> bool {
        if !self.may_have_children {
            return true;
        }
        self.empty_looks = if self.living().is_empty() { self.empty_looks + 1 } else { 0 };
        self.empty_looks >= ENOUGH_LOOKS
    }

    /// Asks every living process of the job to end. A process that starts later is not asked: it may be cleaning up.
    fn ask(&self) {
        self.signal_unseen(&[Signal::TERM, Signal::CONT]);
        let mut asked = HashSet::new();
        for _ in 0..LOOKS_TO_ASK {
            for process in self.living() {
                if asked.insert((process.pid, process.started)) {
                    processes::signal(&process, Signal::TERM);
                    // A suspended process would not handle the signal otherwise.
                    processes::signal(&process, Signal::CONT);
                }
            }
        }
    }

    /// Kills every living process of the job, and repeatedly those that became our children in the meantime: a program
    /// that keeps forking and exiting is faster than a full scan.
    fn kill(&self) {
        self.signal_unseen(&[Signal::KILL]);
        let kill = |process: &Process| {
            processes::signal(process, Signal::KILL);
        };
        self.living().iter().for_each(kill);
        for _ in 0..QUICK_LOOKS {
            let children = processes::children(self.own);
            children.iter().filter(|child| !self.is_supervisor(child)).for_each(kill);
        }
    }

    /// Signals the command's process group if processes cannot be listed: nothing else is known then.
    fn signal_unseen(&self, signals: &[Signal]) {
        if let Some(group) = self.command.filter(|_| !sees_processes()).and_then(processes::pid) {
            for signal in signals {
                // It may have just ended.
                let _ = kill_process_group(group, *signal);
            }
        }
    }

    fn living(&self) -> Vec<Process> {
        if !self.may_have_children {
            return Vec::new();
        }
        processes::descendants(self.own, |process| self.is_supervisor(process))
    }

    /// Returns whether a process is the supervisor of another job. Its command line names the job; the job's record
    /// confirms it.
    fn is_supervisor(&self, process: &Process) -> bool {
        if process.session != process.pid {
            return false;
        }
        let Some(job) = supervised_by(process.pid) else { return false };
        let records = JobRecords::look(self.data).ok().flatten();
        let record = records.and_then(|records| records.find(&job).ok().flatten());
        record.is_some_and(|record| match record.job.fate {
            JobFate::Running { supervisor, .. } => {
                (supervisor.pid, supervisor.started) == (process.pid, process.started)
            }
            _ => false,
        })
    }
}

/// Returns the job that a process was started to supervise.
fn supervised_by(pid: u32) -> Option<JobId> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0).skip_while(|word| *word != b"supervise");
    // The word itself, the data directory, then the job.
    std::str::from_utf8(words.nth(2)?).ok()?.parse().ok()
}

/// Makes this process adopt its orphaned descendants.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    // Any non-zero value enables it.
    Ok(rustix::process::set_child_subreaper(Some(Pid::INIT))?)
}

/// Does nothing: on this system, orphans go to the first process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    let _ = Pid::INIT;
    Ok(())
}

/// The byte that lets the command begin; the command's input follows.
const GO: u8 = b'g';

/// Becomes the command of a job; returns the exit code only if that fails.
///
/// The command dies with its supervisor, begins only when told so on stdin, and reports there why it could not begin.
pub(crate) fn trampoline(supervisor: u32, words: &[std::ffi::OsString]) -> u8 {
    match prepare(supervisor) {
        Ok(Some(mut telling)) => {
            let Some((program, arguments)) = words.split_first() else { return 127 };
            let error = Command::new(program).args(arguments).exec();
            // The supervisor may be gone.
            let _ = telling.write_all(error.to_string().as_bytes());
            if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
        }
        // The supervisor is gone.
        Ok(None) | Err(_) => 126,
    }
}

/// Ties this process to its supervisor and waits for permission to begin; returns the stream on which to report a
/// failure, or `None` if the supervisor is gone.
fn prepare(supervisor: u32) -> io::Result<Option<File>> {
    end_with_parent()?;
    // The supervisor may have ended before this process was tied to it.
    if getppid().map(|parent| parent.as_raw_pid().unsigned_abs()) != Some(supervisor) {
        return Ok(None);
    }
    let mut telling = File::from(fcntl_dupfd_cloexec(stdin(), 3)?);
    let mut word = [0];
    if telling.read_exact(&mut word).is_err() || word[0] != GO {
        return Ok(None);
    }
    let mut input = Vec::new();
    telling.read_to_end(&mut input)?;
    dup2_stdin(if input.is_empty() { File::open("/dev/null")? } else { file_of(&input)? })?;
    Ok(Some(telling))
}

#[cfg(target_os = "linux")]
fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Does nothing: on this system, a process cannot be tied to its parent.
#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> io::Result<()> {
    let _ = Signal::KILL;
    Ok(())
}

/// A command that waits for permission to begin.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) mark: ProcessMark,
    /// Becomes readable when the process ends.
    pub(crate) handle: Option<OwnedFd>,
    telling: Option<UnixStream>,
}

impl Started {
    /// Starts the trampoline of a command, which is our own program; `arrange` sets its environment, directory and
    /// output. Must be called on a thread that lives as long as the command should live, because the command dies with
    /// that thread.
    pub(crate) fn start(
        program: &Path,
        words: &[impl AsRef<OsStr>],
        arrange: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let (telling, stdin) = UnixStream::pair()?;
        let pid = {
            let mut command = Command::new(program);
            command.args(["job", "begin", &std::process::id().to_string()]).args(words);
            // A process group of its own, so that a command that signals its whole group does not signal the
            // supervisor.
            command.process_group(0).stdin(Stdio::from(OwnedFd::from(stdin)));
            arrange(&mut command);
            command.spawn()?.id()
        };
        let mark = mark_of(pid);
        Ok(Self {
            handle: mark.as_ref().and_then(processes::handle),
            // A command that has already ended is noticed when it is reaped.
            mark: mark.unwrap_or_else(|| ProcessMark { pid, started: 0, ..own_mark() }),
            telling: Some(telling),
        })
    }

    /// Lets the command begin, with `input` on its stdin.
    pub(crate) fn begin(&mut self, input: &[u8]) -> io::Result<()> {
        let Some(telling) = &mut self.telling else { return Ok(()) };
        telling.write_all(&[GO])?;
        telling.write_all(input)?;
        telling.shutdown(std::net::Shutdown::Write)
    }

    /// Returns the descriptor that becomes readable once the outcome of the start is known; `None` after
    /// [`Self::hear`].
    pub(crate) fn telling(&self) -> Option<BorrowedFd<'_>> {
        self.telling.as_ref().map(|telling| telling.as_fd())
    }

    /// Reads the outcome of the start; returns why the command could not begin, or `None` if it has begun.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut why = String::new();
        if let Some(mut telling) = self.telling.take() {
            let _ = telling.read_to_string(&mut why);
        }
        (!why.is_empty()).then_some(why)
    }
}
