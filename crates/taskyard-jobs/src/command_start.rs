//! Starting a command, ready to begin but not yet begun.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use taskyard::core::ProcessMark;
use taskyard::liveness::{mark_of, own_mark};

use super::processes;
use super::trampoline::GO;

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
