//! Runs one command in its own process group, from start to end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, iter, thread};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Cancel, Captured, Output, Sink, Waker, end_of, wait_for};
use crate::store::Subscription;

/// How soon to check again whether a command has ended, if the system does not notify us.
const SOON: Duration = Duration::from_millis(10);

/// A command to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// What to run.
    pub command: CommandLine,
    /// The directory it runs in.
    pub directory: PathBuf,
    /// Variables to set in addition to our own environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The input on stdin. The command need not read it.
    pub stdin: Vec<u8>,
    /// The time limit; `None` for no limit.
    pub timeout: Option<Duration>,
}

/// What to run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandLine {
    /// A line for the shell.
    Shell(String),
    /// A program and its arguments, passed unchanged.
    Words(String, Vec<String>),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// It was killed by this signal, which we did not send.
    Signalled(i32),
    /// It exceeded its time limit and was killed, with its whole process group.
    TimedOut,
    /// It was cancelled and killed, with its whole process group.
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

/// A command that has ended, with its output.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// The beginning of its stdout.
    pub stdout: String,
    /// The beginning of its stderr.
    pub(crate) stderr: String,
}

impl Program {
    /// Runs the command to its end, and captures the first `limit` bytes of stdout and of stderr.
    pub fn run_captured(&self, limit: usize, cancel: &Cancel) -> io::Result<Finished> {
        let (stdout, stderr) = (Captured::beginning(limit), Captured::beginning(limit));
        let ending = self.run(stdout.sink(), stderr.sink(), cancel)?;
        Ok(Finished { ending, stdout: stdout.text(), stderr: stderr.text() })
    }

    /// Runs the command to its end; the sinks receive its output.
    ///
    /// On a timeout or cancellation, its whole process group is killed. Otherwise, processes that it leaves running are
    /// left alone and not waited for, so the sinks may be called after this returned.
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

    /// Returns the command, in its own process group. If `starter` is not empty, the command's words are appended to it
    /// as arguments.
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

/// A running command. If dropped before it was reaped, it is killed, so that no process of ours is left behind.
pub(super) struct Running {
    child: Child,
    group: Pid,
    /// Becomes readable when the command has ended, if the system supports that.
    handle: Option<OwnedFd>,
    is_reaped: bool,
}

impl Running {
    pub(super) fn start(program: &Program, stdout: Stdio, stderr: Stdio) -> io::Result<Self> {
        // A file as stdin, so that a command that does not read does not block us.
        let child = program.command(&[]).stdin(file_of(&program.stdin)?).stdout(stdout).stderr(stderr).spawn()?;
        let group = Pid::from_child(&child);
        Ok(Self { child, group, handle: end_of(group), is_reaped: false })
    }

    /// Waits until the command has ended or was killed.
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

    /// Returns whether the command has ended. It is left unreaped, so that its pid, which is also the process group's
    /// id, cannot be reused while we may still kill the group.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(self.group), options), Ok(None) | Err(Errno::INTR))
    }

    fn kill(&mut self, why: Ending) -> io::Result<Ending> {
        // If it has just ended, there is nothing left to kill.
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

/// Returns an unnamed file with these contents. Unlike a pipe, it needs no writer.
pub fn file_of(bytes: &[u8]) -> io::Result<File> {
    let mut file = nameless()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("taskyard-input", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// Returns a file whose name was removed: this system has no files that never had one.
#[cfg(not(target_os = "linux"))]
fn nameless() -> io::Result<File> {
    let path = format!("/tmp/taskyard-input-{}-{}", std::process::id(), crate::system::now().0);
    let file = crate::private::create_new(std::path::Path::new(&path))?;
    std::fs::remove_file(path)?;
    Ok(file)
}

impl Program {
    /// Starts the command without waiting for it; its output is discarded.
    ///
    /// The command outlives this process. While this process lives, the time limit is enforced.
    pub(crate) fn start_detached(&self) -> io::Result<()> {
        let mut running = Running::start(self, Stdio::null(), Stdio::null())?;
        let timeout = self.timeout;
        let wait = move || drop(running.end(timeout, &Cancel::new(), &mut Output::default()));
        thread::Builder::new().name("detached".to_owned()).stack_size(256 << 10).spawn(wait).map(drop)
    }
}

/// Stops commands in two steps. Clones share the same state; a stop cannot be taken back.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Cancel,
    killed: Cancel,
    /// Propagates the stop of the parent, if this is a part.
    _outer: Option<Arc<[Subscription; 2]>>,
}

impl Stop {
    /// Returns a stop that has not been requested.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a stop that is also triggered by this one.
    #[must_use]
    pub fn part(&self) -> Self {
        let (asked, killed) = (Cancel::new(), Cancel::new());
        let lead = |from: &Cancel, to: &Cancel| {
            let to = to.clone();
            from.on_cancel(move || to.cancel())
        };
        let outer = [lead(&self.asked, &asked), lead(&self.killed, &killed)];
        Self { asked, killed, _outer: Some(Arc::new(outer)) }
    }

    /// Asks all commands to end.
    pub fn ask(&self) {
        self.asked.cancel();
    }

    /// Kills all commands immediately.
    pub fn kill(&self) {
        self.asked.cancel();
        self.killed.cancel();
    }

    /// Returns the cancellation that asks commands to end.
    pub fn asked(&self) -> &Cancel {
        &self.asked
    }

    /// Returns the cancellation that kills commands.
    pub fn killed(&self) -> &Cancel {
        &self.killed
    }
}

#[cfg(test)]
mod tests {
    use super::Stop;

    #[test]
    fn a_part_stops_with_the_whole_and_does_not_stop_it() {
        let stop = Stop::new();
        let part = stop.part();
        stop.part().kill();
        assert!(!stop.asked().is_cancelled() && !part.asked().is_cancelled());
        stop.ask();
        for stopped in [&part, &stop.part()] {
            assert!(stopped.asked().is_cancelled() && !stopped.killed().is_cancelled());
        }
        stop.kill();
        assert!(part.killed().is_cancelled());
    }
}
