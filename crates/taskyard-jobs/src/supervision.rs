//! Looking after a command and everything it started, until it has ended: what the supervisors of jobs and of tied commands have
//! in common.
//!
//! Nothing is recorded here, and no output is read: that is up to the supervisor that runs the command.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::WaitStatus;
use taskyard::core::ProcessMark;
use taskyard::liveness::longest_silence;
use taskyard::process::{Cancel, Wakeup, wait_for};

use super::command_start::Started;
use super::ending_all::Family;

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
        let wakeup = Wakeup::on(cancel)?;
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
                Some(wakeup.fd()).filter(|_| matches!(phase, Phase::Running | Phase::Draining(_))),
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
