//! Looking after a command and everything it started, until it has ended: what the supervisors of jobs and of tied commands have
//! in common.
//!
//! Nothing is recorded here, and no output is read: that is up to the supervisor that runs the command.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait};
use taskyard::core::{JobFate, JobId, ProcessMark};
use taskyard::jobs::JobRecords;
use taskyard::liveness::{Process, longest_silence, sees_processes};
use taskyard::process::{Cancel, Waker, wait_for};

use super::trampoline::Started;
use crate::processes;

/// When a beat comes for the first time.
const FIRST_BEAT: Duration = Duration::from_secs(1);
/// How many beats there are in the time after which silence means death.
const BEATS_IN_A_SILENCE: u32 = 6;
/// How long we wait for more output after the command ended, while a process that it started lives.
const OUTPUT_AFTER_END: Duration = Duration::from_millis(500);
/// How long what a command left behind has to end when it is asked to.
const SHORT_GRACE: Duration = Duration::from_secs(2);
/// How soon we look again whether every process has ended.
const SOON: Duration = Duration::from_millis(10);
/// How long is waited for processes that were killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many looks in a row have to find no process, where only looking tells.
const ENOUGH_LOOKS: u32 = 3;
/// How often processes that became our children are killed at once.
const QUICK_LOOKS: u32 = 30;
/// How often we look for the processes that are to be asked: one look may miss a process beside which another one ends.
const LOOKS_TO_ASK: u32 = 2;

/// A command to look after.
pub(crate) struct Supervision<'a> {
    /// The command, which has not begun.
    pub(crate) started: Started,
    /// Our data directory, where jobs that the command starts are on record: they stand for themselves.
    pub(crate) data: &'a Path,
    /// How long a process has that is asked to end.
    pub(crate) grace: Duration,
    /// How long the command may take.
    pub(crate) time_limit: Option<Duration>,
    /// What becomes of those the command leaves behind when it ends by itself.
    pub(crate) leftovers: Leftovers,
}

/// What becomes of those a command leaves behind when it ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leftovers {
    /// They are ended, too.
    End,
    /// They are left alone.
    LeaveAlone,
}

/// What a supervisor does beside looking after processes.
pub(crate) trait Duties {
    /// Returns what is listened to.
    fn sources(&self) -> [Option<BorrowedFd<'_>>; 2];

    /// Attends to those sources that can be read; returns what is wished of the command.
    fn attend(&mut self, readable: [bool; 2]) -> Option<Wish>;

    /// Hears that the command has begun, or why it could not.
    fn has_begun(&mut self, _why_not: Option<&str>) {}

    /// Does what is done from time to time while the command lives, and once before it is asked to end.
    fn beat(&mut self, _command: &ProcessMark) {}
}

/// What is wished of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// All processes are to be asked to end, and killed after the grace period.
    Ask,
    /// All processes are to be killed at once.
    Kill,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// How its process did, where that was seen.
    pub(crate) status: Option<WaitStatus>,
    /// What ended it: itself, a wish, or its time.
    pub(crate) cause: Cause,
    /// Why it could not begin, where it could not.
    pub(crate) why_not: Option<String>,
}

/// Why all processes are being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The command has ended; this is about what it left behind.
    Itself,
    /// A command asked for it.
    Wish,
    /// The time is up.
    Time,
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The command runs.
    Running,
    /// The command has ended; until this moment we read what processes that it left behind still write.
    Draining(Instant),
    /// All processes were asked to end.
    Asked(Cause, Instant),
    /// All processes are killed.
    Killing(Cause, Instant),
}

impl Supervision<'_> {
    /// Lets the command begin, with this to read, and looks after it until no process is left that is to end with it. It is asked to end
    /// when `cancel` is cancelled, when the duties wish so, and when its time is up.
    pub(crate) fn look_after(mut self, input: &[u8], cancel: &Cancel, duties: &mut impl Duties) -> io::Result<Ended> {
        let (waker, _subscription) = Waker::on(cancel)?;
        let mut family = Family::of_this_process(self.data, self.started.mark.pid);
        let (mut status, mut why_not) = (None, None);
        let mut phase = Phase::Running;
        let mut beat = Instant::now() + FIRST_BEAT;
        let limit = self.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        // Where the pipe has no reader, the command has ended already.
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
                // One that waits for a device may take long to die. A caller that promised that nothing runs on waits
                // for it.
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
        // What could not begin has said so before it ended.
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

/// What descends from this process, which has adopted everything its descendants left behind.
///
/// A job that was started from within a job stands for itself: neither its supervisor nor what descends from it is counted.
#[derive(Debug)]
struct Family<'a> {
    data: &'a Path,
    own: u32,
    /// The command that all other processes descend from, until it was reaped.
    command: Option<u32>,
    /// Whether there was a child left when we last looked.
    may_have_children: bool,
    /// How many looks in a row have found no process.
    empty_looks: u32,
}

impl<'a> Family<'a> {
    /// Returns the family of this process, which has started this command and nothing else.
    fn of_this_process(data: &'a Path, command: u32) -> Self {
        Self { data, own: std::process::id(), command: Some(command), may_have_children: true, empty_looks: 0 }
    }

    /// Takes notice of those that have ended; returns how the command ended, when it is among them.
    fn reap(&mut self) -> Option<WaitStatus> {
        let mut found = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    // Its number may be another process's from now on.
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

    /// Tells whether no process of the job is alive.
    ///
    /// A process that loses its parent becomes our child: without a child we have no descendants, and that is certain. Where the supervisor
    /// of another job is our child, several looks that find no other process have to agree: one may miss a process that hands on to a child
    /// of its own that very moment.
    fn is_alone(&mut self) -> bool {
        if !self.may_have_children {
            return true;
        }
        self.empty_looks = if self.living().is_empty() { self.empty_looks + 1 } else { 0 };
        self.empty_looks >= ENOUGH_LOOKS
    }

    /// Asks every living process of the job to end. A process that begins later is not asked: it may be what brings things in order.
    fn ask(&self) {
        self.signal_unseen(&[Signal::TERM, Signal::CONT]);
        let mut asked = HashSet::new();
        for _ in 0..LOOKS_TO_ASK {
            for process in self.living() {
                if asked.insert((process.pid, process.started)) {
                    processes::signal(&process, Signal::TERM);
                    // One that is suspended could not hear it.
                    processes::signal(&process, Signal::CONT);
                }
            }
        }
    }

    /// Kills every living process of the job, and again and again those that became our children meanwhile: a program that hands on from
    /// process to process is faster than a look at all of them.
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

    /// Signals the command's process group where processes cannot be seen: that is all that is known of them then.
    fn signal_unseen(&self, signals: &[Signal]) {
        if let Some(group) = self.command.filter(|_| !sees_processes()).and_then(processes::pid) {
            for signal in signals {
                // It may have ended this very moment.
                let _ = kill_process_group(group, *signal);
            }
        }
    }

    /// Returns every living process of the job.
    fn living(&self) -> Vec<Process> {
        if !self.may_have_children {
            return Vec::new();
        }
        processes::descendants(self.own, |process| self.is_supervisor(process))
    }

    /// Tells whether a process is the supervisor of another job. What it was started with says which; whether that is so, the
    /// record.
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

/// Returns the job that a process was started to look after.
fn supervised_by(pid: u32) -> Option<JobId> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut words = line.split(|byte| *byte == 0).skip_while(|word| *word != b"supervise");
    // The word itself, the data directory, and then the job.
    std::str::from_utf8(words.nth(2)?).ok()?.parse().ok()
}

/// Has this process adopt those of its descendants that lose their parent.
#[cfg(target_os = "linux")]
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    // Any number but zero means yes.
    Ok(rustix::process::set_child_subreaper(Some(Pid::INIT))?)
}

/// Does nothing: this system gives orphans to its first process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    let _ = Pid::INIT;
    Ok(())
}
