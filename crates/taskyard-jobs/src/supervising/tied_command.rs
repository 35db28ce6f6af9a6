//! Runs a command that does not outlive this process: a supervisor in between ends everything if this process dies.
//!
//! The supervisor is not recorded and stores no output: the command writes to the pipes of the waiting process.
//! Supervisor and waiting process communicate over a socket, the supervisor's stdin. The waiting process first sends
//! the command's input, preceded by its length, and later [`ASK`] and [`KILL`]; the supervisor sends [`CommandNews`].
//! When the system closes the other end because the waiting process was killed, the supervisor kills everything that
//! the command started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Pid, Signal, kill_process};
use rustix::stdio::{dup2_stdin, stdin};
use taskyard::failpoint::reach;
use taskyard::process::{Cancel, Ending, Output, Program, Sink, Stop, wait_for};
use taskyard::store::Subscription;

use super::supervision::{Cause, Duties, Leftovers, Supervision, Wish, adopt_orphans};
use crate::processes::kill_writers;
use crate::supervising::supervision::Started;
use crate::{JobOptions, Jobs};

/// How many supervisors to start for a command that has not begun: one may be killed for lack of memory.
const ATTEMPTS: u32 = 5;
/// The pause after the first failed attempt; each further pause is longer by the same amount.
const BREATH: Duration = Duration::from_millis(50);
/// Asks all processes to end.
const ASK: u8 = b'a';
/// Kills all processes.
const KILL: u8 = b'k';

impl Jobs {
    /// Runs a command to its end; the sinks receive its output. `started` is called once the command has begun, before
    /// any output is passed on.
    ///
    /// On a stop, all descendants of the command are asked to end, and killed after the grace period; if this process
    /// is killed, they are killed as well. Processes that the command leaves running when it ends by itself are left
    /// alone and not waited for, so the sinks may be called after this returned. The command is not a job: nothing is
    /// recorded, and no output is kept.
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
                    // The supervisor may have died after the command began and before it reported that.
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
            // With the supervisor gone, the system has killed the command; its remaining descendants are left to us.
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

enum NotBegun {
    /// The supervisor could not be started for now, or died before it reported whether the command has begun.
    NoSupervisor(io::Error),
    /// Retrying is pointless.
    Refused(io::Error),
}

/// A command, represented by its supervisor. When our end of the socket is closed, everything the command started is
/// killed.
struct TiedCommand {
    supervisor: Child,
    shared: Arc<Shared>,
}

/// State shared with cancellation callbacks. There may be hundreds of commands, so no descriptor is duplicated for it.
struct Shared {
    line: UnixStream,
    /// The supervisor, until it is reaped.
    supervisor: Mutex<Option<Pid>>,
}

impl TiedCommand {
    /// Starts a command under a supervisor, forwards stop requests to it, and waits until it has begun. From the start,
    /// only the command holds the write ends of its pipes: closing them is noticed, and commands that are about to
    /// begin need no descriptors for them.
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
        // A supervisor that does not accept its input has died.
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
        // Drops our copies of the write ends along with `command`, so that we notice when the command closes them.
        let supervisor = command.spawn()?;
        let shared = Shared { line, supervisor: Mutex::new(Some(Pid::from_child(&supervisor))) };
        Ok(Self { supervisor, shared: Arc::new(shared) })
    }

    /// Forwards a stop request to the supervisor when it is made, whatever this thread is doing then.
    fn pass_on(&self, from: &Cancel, wish: u8) -> Subscription {
        let shared = Arc::clone(&self.shared);
        from.on_cancel(move || {
            if let Some(supervisor) = *shared.supervisor.lock().unwrap_or_else(PoisonError::into_inner) {
                // The supervisor may have just ended.
                let _ = (&shared.line).write_all(&[wish]);
                // A suspended supervisor would not handle the request otherwise.
                let _ = kill_process(supervisor, Signal::CONT);
            }
        })
    }

    /// Sends the command's input. Nothing else may have been sent before.
    fn hand_over(&self, input: &[u8]) -> io::Result<()> {
        let mut line = &self.shared.line;
        line.write_all(&(input.len() as u64).to_le_bytes())?;
        line.write_all(input)
    }

    /// Waits for the next report of the supervisor; `None` if it has ended without one.
    fn hear(&self) -> Option<CommandNews> {
        let mut said = Vec::new();
        while said.last() != Some(&b'\n') {
            let mut byte = [0];
            (&self.shared.line).read_exact(&mut byte).ok()?;
            said.extend(byte);
        }
        CommandNews::read(std::str::from_utf8(&said).ok()?.trim_end())
    }

    /// Waits for the supervisor to end. If it has not reported the end of the command, closing the socket makes it kill
    /// everything.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        *self.shared.supervisor.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let _ = self.shared.line.shutdown(std::net::Shutdown::Both);
        self.supervisor.wait()
    }
}

impl Drop for TiedCommand {
    fn drop(&mut self) {
        // Does nothing if the supervisor was already reaped.
        let _ = self.reap();
    }
}

/// Parses a message of the system back into the error it describes.
fn as_error(why: &str) -> io::Error {
    let number = why.rsplit_once("(os error ").and_then(|(_, rest)| rest.strip_suffix(')')?.parse().ok());
    number.map_or_else(|| io::Error::other(why.to_owned()), io::Error::from_raw_os_error)
}

/// A report of the supervisor; each is one line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandNews {
    /// The command has begun.
    Began,
    /// The command could not begin, for this reason.
    CannotBegin(String),
    /// The command has ended by itself, with this wait status.
    Ended(i32),
    /// The command was stopped on request.
    Stopped,
}

impl CommandNews {
    fn line(&self) -> String {
        match self {
            Self::Began => "began\n".to_owned(),
            Self::CannotBegin(why) => format!("cannot {}\n", why.replace('\n', " ")),
            Self::Ended(status) => format!("ended {status}\n"),
            Self::Stopped => "stopped\n".to_owned(),
        }
    }

    /// Parses a line, without its line end.
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

/// Supervises a command for the process at the other end of stdin, and lets none of its processes outlive that process.
///
/// This takes over the process, which adopts orphans. Must be called on the main thread, because the command dies with
/// the calling thread. When `cancel` is cancelled, all processes are asked to end.
pub(crate) fn supervise_tied(options: &JobOptions, words: &[OsString], cancel: &Cancel) -> io::Result<()> {
    let mut line = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
    // No other process may keep the socket open.
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
    // If another process than the waiting one asked the command to end, its status is reported.
    let is_stopped = ended.cause == Cause::Wish && waiting.has_wished;
    let status = ended.status.filter(|_| !is_stopped);
    waiting.say(&status.map_or(CommandNews::Stopped, |status| CommandNews::Ended(status.as_raw())));
    Ok(())
}

/// The connection to the process that waits for the command.
struct Waiting {
    line: UnixStream,
    /// Whether the other end was closed.
    is_gone: bool,
    /// Whether the process asked to end the command, or closed its end.
    has_wished: bool,
}

impl Waiting {
    fn say(&mut self, news: &CommandNews) {
        // A closed connection is noticed when the socket is read.
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

/// Reads the command's input.
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
