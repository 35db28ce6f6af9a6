//! The first moments of a command: the supervisor starts our program once more, which becomes the command when it is told to.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Signal, getppid};
use rustix::stdio::{dup2_stdin, stdin};
use taskyard::core::ProcessMark;
use taskyard::liveness::{mark_of, own_mark};
use taskyard::process::file_of;

use crate::processes;

/// What is written when the command may begin, before what it is to read.
const GO: u8 = b'g';

/// Becomes the command of a job, and returns the exit code only where that cannot be.
///
/// It ends with its supervisor, begins only when that says so on stdin, and tells it there why it could not.
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

/// Ties our life to the supervisor's and waits for its word; returns the way to tell it that something went wrong.
fn prepare(supervisor: u32) -> io::Result<Option<File>> {
    end_with_parent()?;
    // It may have ended before we were tied to it.
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

/// Does nothing: this system does not tie a process to its parent.
#[cfg(not(target_os = "linux"))]
fn end_with_parent() -> io::Result<()> {
    let _ = Signal::KILL;
    Ok(())
}

/// A command that waits until it may begin.
#[derive(Debug)]
pub(crate) struct Started {
    /// Its process.
    pub(crate) mark: ProcessMark,
    /// What becomes readable when it ends.
    pub(crate) handle: Option<OwnedFd>,
    telling: Option<UnixStream>,
}

impl Started {
    /// Starts the trampoline of a command: our program once more, after `arrange` has given it its surroundings. It must be called
    /// on a thread that lives as long as the command is to live: the command dies with it.
    pub(crate) fn start(
        program: &Path,
        words: &[impl AsRef<OsStr>],
        arrange: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let (telling, stdin) = UnixStream::pair()?;
        let pid = {
            let mut command = Command::new(program);
            command.args(["job", "begin", &std::process::id().to_string()]).args(words);
            // A group of its own, so that one that signals its whole group does not signal the supervisor.
            command.process_group(0).stdin(Stdio::from(OwnedFd::from(stdin)));
            arrange(&mut command);
            command.spawn()?.id()
        };
        let mark = mark_of(pid);
        Ok(Self {
            handle: mark.as_ref().and_then(processes::handle),
            // One that has ended already is noticed when it is reaped.
            mark: mark.unwrap_or_else(|| ProcessMark { pid, started: 0, ..own_mark() }),
            telling: Some(telling),
        })
    }

    /// Lets the command begin, with this to read.
    pub(crate) fn begin(&mut self, input: &[u8]) -> io::Result<()> {
        let Some(telling) = &mut self.telling else { return Ok(()) };
        telling.write_all(&[GO])?;
        telling.write_all(input)?;
        telling.shutdown(std::net::Shutdown::Write)
    }

    /// Returns what becomes readable once it is known whether the command has begun; none when that was heard.
    pub(crate) fn telling(&self) -> Option<BorrowedFd<'_>> {
        self.telling.as_ref().map(|telling| telling.as_fd())
    }

    /// Hears whether the command has begun; returns why it could not.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut why = String::new();
        if let Some(mut telling) = self.telling.take() {
            let _ = telling.read_to_string(&mut why);
        }
        (!why.is_empty()).then_some(why)
    }
}
