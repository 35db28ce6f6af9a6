//! One command, from its start to its end.

use std::ffi::OsString;
use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::{Cancel, Captured, Sink};

/// How long we wait for more output after a command ended, while something it started keeps the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long we wait for it at most, however much still comes.
const LAST_WORDS_AT_MOST: Duration = Duration::from_secs(2);

/// A command to run.
#[derive(Clone, Debug)]
pub struct Program {
    /// What to run.
    pub command: CommandLine,
    /// Where.
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
    pub stderr: String,
}

impl Program {
    /// Runs the command to its end and keeps the first bytes it writes to stdout and to stderr.
    pub fn run_captured(&self, limit: usize, cancel: &Cancel) -> io::Result<Finished> {
        let (stdout, stderr) = (Captured::beginning(limit), Captured::beginning(limit));
        let ending = self.run(stdout.sink(), stderr.sink(), cancel)?;
        Ok(Finished { ending, stdout: stdout.text(), stderr: stderr.text() })
    }

    /// Runs the command to its end; the sinks take what it writes, each on a thread of its own.
    ///
    /// When it takes too long or is cancelled, everything in its process group is killed. What it leaves running otherwise is
    /// left alone, and does not keep us waiting: the sinks may be called after this returned.
    pub fn run(&self, stdout: Sink, stderr: Sink, cancel: &Cancel) -> io::Result<Ending> {
        if cancel.is_cancelled() {
            return Ok(Ending::Cancelled);
        }
        let (tell, hear) = mpsc::channel();
        let mut running = Running::start(self)?;
        let mut readers = running.attend(&self.stdin, stdout, stderr, &tell)?;
        let _woken = cancel.on_cancel(move || drop(tell.send(News::Cancelled)));
        let ending = running.end(self.timeout, &hear, &mut readers)?;
        readers.hear_last_words(&hear);
        Ok(ending)
    }

    pub(super) fn command(&self) -> Command {
        let mut command = match &self.command {
            CommandLine::Shell(line) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(line);
                command
            }
            CommandLine::Words(program, arguments) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        };
        command.current_dir(&self.directory).process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// What the threads around a command tell.
pub(super) enum News {
    /// The command ended; it has not been reaped.
    Ended,
    /// One of its pipes was closed at the other end.
    Closed,
    Cancelled,
}

/// A command at work. Dropped before it was reaped, it is killed: nothing that we started is forgotten.
pub(super) struct Running {
    child: Child,
    group: Pid,
    is_reaped: bool,
}

impl Running {
    fn start(program: &Program) -> io::Result<Self> {
        let mut command = program.command();
        Ok(Self::of(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?))
    }

    /// Takes a command that leads a process group of its own.
    pub(super) fn of(child: Child) -> Self {
        Self { group: Pid::from_child(&child), child, is_reaped: false }
    }

    /// Has somebody feed the command, read what it writes, and tell of its end.
    fn attend(&mut self, stdin: &[u8], stdout: Sink, stderr: Sink, tell: &Sender<News>) -> io::Result<Readers> {
        if let Some(pipe) = self.child.stdin.take() {
            feed(pipe, stdin.to_vec())?;
        }
        let mut readers = Readers::default();
        if let Some(pipe) = self.child.stdout.take() {
            readers.drain(pipe, stdout, tell.clone())?;
        }
        if let Some(pipe) = self.child.stderr.take() {
            readers.drain(pipe, stderr, tell.clone())?;
        }
        self.watch(tell.clone())?;
        Ok(readers)
    }

    /// Tells when the command has ended. It stays unreaped, so that its number, which is the group's, cannot be given to
    /// another process while we may still want to kill the group.
    pub(super) fn watch(&self, tell: Sender<News>) -> io::Result<()> {
        let group = self.group;
        spawn("command", move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(group), options), Err(Errno::INTR)) {}
            let _ = tell.send(News::Ended);
        })
    }

    /// Waits until the command has ended, by itself or by us.
    pub(super) fn end(
        &mut self,
        timeout: Option<Duration>,
        hear: &Receiver<News>,
        readers: &mut Readers,
    ) -> io::Result<Ending> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let news = match deadline {
                Some(deadline) => hear.recv_timeout(deadline.saturating_duration_since(Instant::now())),
                None => hear.recv().map_err(RecvTimeoutError::from),
            };
            match news {
                Ok(News::Closed) => readers.open -= 1,
                Ok(News::Ended) | Err(RecvTimeoutError::Disconnected) => return self.reap().map(Ending::from),
                Ok(News::Cancelled) => return self.kill(Ending::Cancelled),
                Err(RecvTimeoutError::Timeout) => return self.kill(Ending::TimedOut),
            }
        }
    }

    fn kill(&mut self, why: Ending) -> io::Result<Ending> {
        // It may have ended this very moment; then there is nobody left to kill.
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

/// The threads that read what a command writes.
#[derive(Default)]
pub(super) struct Readers {
    open: usize,
    /// How many bytes have come.
    arrived: Arc<AtomicU64>,
}

impl Readers {
    fn drain(&mut self, mut pipe: impl Read + Send + 'static, mut sink: Sink, tell: Sender<News>) -> io::Result<()> {
        self.open += 1;
        let arrived = Arc::clone(&self.arrived);
        spawn("output", move || {
            let mut buffer = vec![0; 64 * 1024];
            loop {
                match pipe.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => {
                        arrived.fetch_add(count as u64, Ordering::Relaxed);
                        sink(&buffer[..count]);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            // It may have something left to do with what came last.
            drop(sink);
            let _ = tell.send(News::Closed);
        })
    }

    /// Waits until the pipes are closed, or nothing more comes through them.
    fn hear_last_words(&mut self, hear: &Receiver<News>) {
        let started = Instant::now();
        let mut arrived = self.arrived.load(Ordering::Relaxed);
        while self.open > 0 && started.elapsed() < LAST_WORDS_AT_MOST {
            match hear.recv_timeout(LAST_WORDS) {
                Ok(News::Closed) => self.open -= 1,
                Ok(News::Ended | News::Cancelled) => {}
                Err(_) => {
                    let now = self.arrived.load(Ordering::Relaxed);
                    if now == arrived {
                        return;
                    }
                    arrived = now;
                }
            }
        }
    }
}

/// Writes to the command's stdin on a thread of its own: a command that does not read keeps nobody waiting.
fn feed(mut stdin: ChildStdin, bytes: Vec<u8>) -> io::Result<()> {
    spawn("input", move || {
        // It need not read any of it.
        let _ = stdin.write_all(&bytes);
    })
}

pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(256 * 1024).spawn(work).map(drop)
}
