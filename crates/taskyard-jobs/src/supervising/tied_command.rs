//! Running a command that does not outlive us: a supervisor stands between, and ends everything when we are gone.
//!
//! That supervisor is on no record and keeps no output: the command writes to the pipes of the waiting process. It talks with that
//! process over its stdin, a socket, on which it first gets what the command is to read, its length before it. Then it
//! hears [`ASK`] and [`KILL`], and says what is in [`CommandNews`]. When the other end is closed, which the system does
//! whichever process is killed, it kills everything the command started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, kill_process};
use rustix::stdio::{dup2_stdin, stdin};
use taskyard::failpoint::reach;
use taskyard::process::{Cancel, Ending, Output, Program, Sink, Stop, wait_for};
use taskyard::store::Subscription;

use super::supervision::{Cause, Duties, Leftovers, Supervision, Wish, adopt_orphans};
use super::trampoline::Started;
use crate::processes::kill_writers;
use crate::{JobOptions, Jobs};

/// How often a supervisor is started for a command that has not begun: one may be killed for want of memory, say.
const ATTEMPTS: u32 = 5;
/// How long the next one waits; after each attempt once more as long.
const BREATH: Duration = Duration::from_millis(50);
/// What is written to have all processes asked to end.
const ASK: u8 = b'a';
/// What is written to have all processes killed.
const KILL: u8 = b'k';

impl Jobs {
    /// Runs a command to its end; the sinks take what it writes. `started` is called once it has begun, before anything it writes is
    /// passed on.
    ///
    /// When it is to stop, everything that descends from it is asked to end, and killed when that has not helped after the grace
    /// period; should this process be killed, so is all of it. What it leaves running when it ends by itself is left alone, and does
    /// not keep us waiting: the sinks may be called after this returned. It is no job: nothing is recorded or kept of it.
    pub(crate) fn run_tied(
        &self,
        program: &Program,
        sinks: [Sink; 2],
        stop: &Stop,
        started: impl FnOnce(),
    ) -> io::Result<Ending> {
        let (mut output, mut writes) = Output::to(sinks)?;
        let mut attempt = 1;
        let (mut tied, _wishes) = loop {
            if stop.asked().is_cancelled() {
                return Ok(Ending::Cancelled);
            }
            match TiedCommand::begin(self, program, writes, stop) {
                Ok(begun) => break begun,
                Err(NotBegun::NoSupervisor(error)) if attempt < ATTEMPTS => {
                    tracing::warn!(attempt, %error, "a supervisor did not come up, and another one is started");
                    // It may have died after the command began and before it said so.
                    kill_writers(&output.inodes());
                    thread::sleep(BREATH * attempt);
                    attempt += 1;
                    writes = output.renew()?;
                }
                Err(NotBegun::NoSupervisor(_) | NotBegun::Refused(_)) if stop.asked().is_cancelled() => {
                    return Ok(Ending::Cancelled);
                }
                Err(NotBegun::NoSupervisor(error) | NotBegun::Refused(error)) => return Err(error),
            }
        };
        started();
        let news = loop {
            let [out, err] = output.fds();
            let [.., is_told] = wait_for([out, err, Some(tied.shared.line.as_fd())], None)?;
            output.drain();
            if is_told {
                break tied.hear();
            }
        };
        let supervisor = tied.reap()?;
        if news.is_none() {
            // Without its supervisor the system has killed the command; what that had started is left to us.
            kill_writers(&output.inodes());
        }
        output.drain_after_end()?;
        Ok(match news {
            Some(CommandNews::Ended(status)) => ExitStatus::from_raw(status).into(),
            None if !stop.asked().is_cancelled() => supervisor.into(),
            _ => Ending::Cancelled,
        })
    }
}

/// Why a command has not begun.
enum NotBegun {
    /// Its supervisor could not be started for now, or died before it said whether the command has begun.
    NoSupervisor(io::Error),
    /// Nothing will come of trying again.
    Refused(io::Error),
}

/// A command, known by its supervisor. When our end of the line to that is closed, everything the command started is killed.
struct TiedCommand {
    supervisor: Child,
    shared: Arc<Shared>,
}

/// What a caller of a supervisor needs. There may be hundreds of them, so that no file is opened twice for it.
struct Shared {
    line: UnixStream,
    /// The supervisor, until it is reaped.
    supervisor: Mutex<Option<Pid>>,
}

impl TiedCommand {
    /// Starts a command under a supervisor, has wishes passed on to it, and waits until it has begun. From the start on the command alone
    /// has the ends it writes to: when they are closed, it is noticed, and many commands that are about to begin need no files for them.
    fn begin(
        jobs: &Jobs,
        program: &Program,
        writes: [PipeWriter; 2],
        stop: &Stop,
    ) -> Result<(Self, [Subscription; 2]), NotBegun> {
        let tied = Self::start(jobs, program, writes).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => NotBegun::NoSupervisor(error),
            _ => NotBegun::Refused(error),
        })?;
        // A supervisor that does not take what it is handed has ended.
        tied.hand_over(&program.stdin).map_err(NotBegun::NoSupervisor)?;
        let wishes = [tied.pass_on(stop.asked(), ASK), tied.pass_on(stop.killed(), KILL)];
        match tied.hear() {
            Some(CommandNews::Began) => Ok((tied, wishes)),
            Some(CommandNews::CannotBegin(why)) => Err(NotBegun::Refused(as_error(&why))),
            Some(CommandNews::Ended(_) | CommandNews::Stopped) | None => {
                Err(NotBegun::NoSupervisor(io::Error::other("its supervisor did not come up")))
            }
        }
    }

    fn start(jobs: &Jobs, program: &Program, [stdout, stderr]: [PipeWriter; 2]) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let options = &jobs.options;
        let starter = [options.program.as_os_str(), "job".as_ref(), "tied".as_ref(), options.data.as_os_str()];
        let mut command = program.command(&starter);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(stdout).stderr(stderr);
        // With the command goes our copy of the other ends: what is closed there is noticed here.
        let supervisor = command.spawn()?;
        let shared = Shared { line, supervisor: Mutex::new(Some(Pid::from_child(&supervisor))) };
        Ok(Self { supervisor, shared: Arc::new(shared) })
    }

    /// Has a wish passed on to the supervisor when it comes, whatever we are busy with then.
    fn pass_on(&self, from: &Cancel, wish: u8) -> Subscription {
        let shared = Arc::clone(&self.shared);
        from.on_cancel(move || {
            if let Some(supervisor) = *shared.supervisor.lock().unwrap_or_else(PoisonError::into_inner) {
                // It may have ended this very moment.
                let _ = (&shared.line).write_all(&[wish]);
                // One that is suspended could not hear it.
                let _ = kill_process(supervisor, Signal::CONT);
            }
        })
    }

    /// Hands over what the command is to read. Nothing else may have been written before.
    fn hand_over(&self, input: &[u8]) -> io::Result<()> {
        let mut line = &self.shared.line;
        line.write_all(&(input.len() as u64).to_le_bytes())?;
        line.write_all(input)
    }

    /// Waits for what the supervisor says next; none where it has ended without a word.
    fn hear(&self) -> Option<CommandNews> {
        let mut said = Vec::new();
        while said.last() != Some(&b'\n') {
            let mut byte = [0];
            (&self.shared.line).read_exact(&mut byte).ok()?;
            said.extend(byte);
        }
        CommandNews::read(std::str::from_utf8(&said).ok()?.trim_end())
    }

    /// Waits for the end of the supervisor. Where it has not said that everything has ended, it sees to that.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        *self.shared.supervisor.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.shared.line.shutdown(std::net::Shutdown::Both);
        self.supervisor.wait()
    }
}

impl Drop for TiedCommand {
    fn drop(&mut self) {
        // One that was reaped is not waited for again.
        let _ = self.reap();
    }
}

/// Returns what the system said as the error it was.
fn as_error(why: &str) -> io::Error {
    let number = why.rsplit_once("(os error ").and_then(|(_, rest)| rest.strip_suffix(')')?.parse().ok());
    number.map_or_else(|| io::Error::other(why.to_owned()), io::Error::from_raw_os_error)
}

/// What a supervisor says of a command, in a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandNews {
    /// It has begun.
    Began,
    /// It could not begin, and why.
    CannotBegin(String),
    /// It has ended by itself, as the system put it.
    Ended(i32),
    /// It has ended because that was wished.
    Stopped,
}

impl CommandNews {
    /// Returns the line.
    fn line(&self) -> String {
        match self {
            Self::Began => "began\n".to_owned(),
            Self::CannotBegin(why) => format!("cannot {}\n", why.replace('\n', " ")),
            Self::Ended(status) => format!("ended {status}\n"),
            Self::Stopped => "stopped\n".to_owned(),
        }
    }

    /// Reads a line, without its end.
    fn read(line: &str) -> Option<Self> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("began", _) => Some(Self::Began),
            ("cannot", why) => Some(Self::CannotBegin(why.to_owned())),
            ("ended", status) => status.parse().ok().map(Self::Ended),
            ("stopped", _) => Some(Self::Stopped),
            _ => None,
        }
    }
}

/// Looks after a command for the process at the other end of stdin, and lets nothing of it outlive that process.
///
/// This is the whole life of a process: it adopts orphans. It must be called on the main thread, with whose end the command ends.
/// When `cancel` is cancelled, everything is asked to end.
pub(crate) fn supervise_tied(options: &JobOptions, words: &[OsString], cancel: &Cancel) -> io::Result<()> {
    let mut line = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
    // No other process may keep the line open.
    dup2_stdin(File::open("/dev/null")?)?;
    adopt_orphans()?;
    let input = read_input(&mut line)?;
    reach("tied: coming up");
    let supervision = Supervision {
        started: Started::start(&options.program, words, |_| {})?,
        data: &options.data,
        grace: options.settings.grace,
        time_limit: None,
        leftovers: Leftovers::LeaveAlone,
    };
    let mut waiting = Waiting { line, is_gone: false, has_wished: false };
    let ended = supervision.look_after(&input, cancel, &mut waiting)?;
    // A command that another process asked to end tells how it ended.
    let is_stopped = ended.cause == Cause::Wish && waiting.has_wished;
    let status = ended.status.filter(|_| !is_stopped);
    waiting.say(&status.map_or(CommandNews::Stopped, |status| CommandNews::Ended(status.as_raw())));
    Ok(())
}

/// The process that waits for the command.
struct Waiting {
    line: UnixStream,
    /// Whether the other end was closed.
    is_gone: bool,
    /// Whether it wished for the end.
    has_wished: bool,
}

impl Waiting {
    fn say(&mut self, news: &CommandNews) {
        // That the other end is closed is noticed when the line is read.
        let _ = self.line.write_all(news.line().as_bytes());
    }
}

impl Duties for Waiting {
    fn sources(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [Some(self.line.as_fd()).filter(|_| !self.is_gone), None]
    }

    fn attend(&mut self, [is_written, _]: [bool; 2]) -> Option<Wish> {
        if !is_written {
            return None;
        }
        let mut wishes = [0; 8];
        let count = loop {
            match self.line.read(&mut wishes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read.unwrap_or(0),
            }
        };
        (self.is_gone, self.has_wished) = (count == 0, true);
        let is_kill = self.is_gone || wishes.contains(&KILL);
        Some(if is_kill { Wish::Kill } else { Wish::Ask })
    }

    fn has_begun(&mut self, why_not: Option<&str>) {
        self.say(&why_not.map_or(CommandNews::Began, |why| CommandNews::CannotBegin(why.to_owned())));
    }
}

/// Reads what the command is to read.
fn read_input(line: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    line.read_exact(&mut length)?;
    let mut input = Vec::new();
    line.take(u64::from_le_bytes(length)).read_to_end(&mut input)?;
    Ok(input)
}

#[cfg(test)]
mod tests {
    use super::{CommandNews, as_error};

    #[test]
    fn what_the_system_said_stays_the_error_it_was() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(as_error(&error.to_string()).kind(), std::io::ErrorKind::NotFound);
        assert_eq!(as_error("something else").to_string(), "something else");
    }

    #[test]
    fn what_a_supervisor_says_is_understood() {
        for news in [CommandNews::Began, CommandNews::Ended(-1), CommandNews::Stopped] {
            assert_eq!(CommandNews::read(news.line().trim_end()), Some(news));
        }
        let why = CommandNews::CannotBegin("no such file\nor directory".to_owned());
        let heard = CommandNews::CannotBegin("no such file or directory".to_owned());
        assert_eq!(CommandNews::read(why.line().trim_end()), Some(heard));
        for nonsense in ["", "ended", "ended x", "hello"] {
            assert_eq!(CommandNews::read(nonsense), None, "{nonsense:?}");
        }
    }
}
