//! One command, from its start to its end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::iter;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Cancel, Captured, Output, Sink, Waker, end_of, file_of, wait_for};

/// How soon is looked again whether a command has ended, where the system does not tell.
const SOON: Duration = Duration::from_millis(10);

/// A command to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// What to run.
    pub command: CommandLine,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// Variables to set beside those we have.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads on stdin. It need not read it.
    pub stdin: Vec<u8>,
    /// How long it may take; none is for ever.
    pub timeout: Option<Duration>,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandLine {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments, as they are.
    Words(String, Vec<String>),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With this exit code.
    Exited(i32),
    /// By this signal, which was not ours.
    Signalled(i32),
    /// It took too long and was killed, with everything in its process group.
    TimedOut,
    /// It was cancelled and killed, with everything in its process group.
    Cancelled,
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(code),
            (None, signal) => Self::Signalled(signal.unwrap_or_default()),
        }
    }
}

/// A command that ended, with what it wrote.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// The beginning of what it wrote to stdout.
    pub stdout: String,
    /// The beginning of what it wrote to stderr.
    pub(crate) stderr: String,
}

impl Program {
    /// Runs the command to its end and keeps the first bytes it writes to stdout and to stderr.
    pub fn run_captured(&self, limit: usize, cancel: &Cancel) -> io::Result<Finished> {
        let (stdout, stderr) = (Captured::beginning(limit), Captured::beginning(limit));
        let ending = self.run(stdout.sink(), stderr.sink(), cancel)?;
        Ok(Finished { ending, stdout: stdout.text(), stderr: stderr.text() })
    }

    /// Runs the command to its end; the sinks take what it writes.
    ///
    /// When it takes too long or is cancelled, everything in its process group is killed. What it leaves running otherwise is
    /// left alone, and does not keep us waiting: the sinks may be called after this returned.
    pub fn run(&self, stdout: Sink, stderr: Sink, cancel: &Cancel) -> io::Result<Ending> {
        if cancel.is_cancelled() {
            return Ok(Ending::Cancelled);
        }
        let (mut output, [stdout, stderr]) = Output::to([stdout, stderr])?;
        let mut running = Running::start(self, stdout.into(), stderr.into())?;
        let ending = running.end(self.timeout, cancel, &mut output)?;
        output.drain_after_end()?;
        Ok(ending)
    }

    /// Returns the command, in a process group of its own; where a starter is named, that is given the command's words after its own.
    pub fn command(&self, starter: &[&OsStr]) -> Command {
        let words: Vec<&str> = match &self.command {
            CommandLine::Shell(line) => vec!["sh", "-c", line],
            CommandLine::Words(program, arguments) => {
                iter::once(program).chain(arguments).map(String::as_str).collect()
            }
        };
        let mut words = starter.iter().copied().chain(words.into_iter().map(OsStr::new));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.directory).process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A command at work. Dropped before it was reaped, it is killed: nothing that we started is forgotten.
pub(super) struct Running {
    child: Child,
    group: Pid,
    /// What becomes readable when the command has ended, where the system has that.
    handle: Option<OwnedFd>,
    is_reaped: bool,
}

impl Running {
    pub(super) fn start(program: &Program, stdout: Stdio, stderr: Stdio) -> io::Result<Self> {
        // A command that does not read does not keep us waiting.
        let child = program.command(&[]).stdin(file_of(&program.stdin)?).stdout(stdout).stderr(stderr).spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group, handle: end_of(group), is_reaped: false })
    }

    /// Waits until the command has ended, by itself or by us.
    pub(super) fn end(
        &mut self,
        timeout: Option<Duration>,
        cancel: &Cancel,
        output: &mut Output,
    ) -> io::Result<Ending> {
        let (waker, _subscription) = Waker::on(cancel)?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let soon = self.handle.is_none().then(|| Instant::now() + SOON);
            let [out, err] = output.fds();
            let things = [out, err, self.handle.as_ref().map(|handle| handle.as_fd()), Some(waker.fd())];
            wait_for(things, soon.into_iter().chain(deadline).min())?;
            output.drain();
            if self.has_ended() {
                return self.reap().map(Ending::from);
            }
            if cancel.is_cancelled() {
                return self.kill(Ending::Cancelled);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return self.kill(Ending::TimedOut);
            }
        }
    }

    /// Tells whether the command has ended. It stays unreaped, so that its number, which is the group's, cannot be given to
    /// another process while we may still want to kill the group.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None) | Err(Errno::INTR))
    }

    fn kill(&mut self, why: Ending) -> io::Result<Ending> {
        // It may have ended this very moment; then there is nothing left to kill.
        let _ = kill_process_group(self.group, Signal::KILL);
        self.reap()?;
        Ok(why)
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        self.is_reaped = true;
        status
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.is_reaped {
            let _ = self.kill(Ending::Cancelled);
        }
    }
}
