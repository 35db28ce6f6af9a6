//! Starting the command of a job, ready to begin but not yet begun.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use taskyard_core::{ClientVersion, ProcessMark};

use super::record::Record;
use super::trampoline::{GO, JOB, TOKEN};
use super::{JobPlace, processes};
use crate::liveness::mark_of;

/// A command that waits for its word to begin.
#[derive(Debug)]
pub(super) struct Started {
    /// Its process.
    pub(super) mark: ProcessMark,
    /// What becomes readable when it ends.
    pub(super) handle: Option<OwnedFd>,
    /// The inode of the pipe it writes to.
    pub(super) pipe: Option<u64>,
    /// What it writes, where stderr is apart: to stdout.
    pub(super) stdout: Option<File>,
    /// What it writes to stderr, where that is apart.
    pub(super) stderr: Option<File>,
    telling: Option<UnixStream>,
}

impl Started {
    /// Starts the trampoline of a job's command. It must be called on a thread that lives as long as the command is to live: the
    /// command dies with it.
    pub(super) fn start(place: &JobPlace, record: &Record) -> io::Result<Self> {
        let job = &record.job;
        let (telling, stdin) = UnixStream::pair()?;
        let (stdout, writes) = io::pipe()?;
        let pipe = fstat(&stdout).ok().map(|status| status.st_ino);
        let (stderr, writes_errors) = match job.form {
            ClientVersion::V2_1_34 => io::pipe().map(|(read, write)| (Some(read), write))?,
            ClientVersion::V2_1_325 => (None, writes.try_clone()?),
        };
        let child = spawn(place, record, stdin, writes, writes_errors)?;
        let pid = child.id();
        let mark = mark_of(pid);
        Ok(Self {
            handle: mark.as_ref().and_then(processes::handle),
            // One that has ended already is noticed when it is reaped.
            mark: mark.unwrap_or_else(|| ProcessMark { pid, started: 0, ..record.starter.clone() }),
            pipe,
            stdout: Some(without_waiting(stdout)?),
            stderr: stderr.map(without_waiting).transpose()?,
            telling: Some(telling),
        })
    }

    /// Lets the command begin.
    pub(super) fn go(&mut self) -> io::Result<()> {
        let Some(telling) = &mut self.telling else { return Ok(()) };
        telling.write_all(&[GO])?;
        telling.shutdown(std::net::Shutdown::Write)
    }

    /// Returns what becomes readable once it is known whether the command has begun.
    pub(super) fn telling(&self) -> Option<BorrowedFd<'_>> {
        self.telling.as_ref().map(|telling| telling.as_fd())
    }

    /// Hears whether the command has begun; returns why it could not.
    pub(super) fn hear(&mut self) -> Option<String> {
        let mut why = String::new();
        if let Some(mut telling) = self.telling.take() {
            let _ = telling.read_to_string(&mut why);
        }
        (!why.is_empty()).then_some(why)
    }
}

fn spawn(
    place: &JobPlace,
    record: &Record,
    stdin: UnixStream,
    stdout: PipeWriter,
    stderr: PipeWriter,
) -> io::Result<std::process::Child> {
    let mut command = Command::new(&place.program);
    command.args(["job", "begin", &std::process::id().to_string()]).args(&record.job.command);
    command.env(JOB, record.job.id.as_str()).env(TOKEN, &record.token);
    // A group of its own, so that one that signals its whole group does not signal the supervisor.
    command.current_dir(&record.job.directory).process_group(0);
    command.stdin(Stdio::from(OwnedFd::from(stdin))).stdout(stdout).stderr(stderr);
    command.spawn()
}

/// Makes reading return at once where there is nothing. The end that the command writes to is not changed by it.
fn without_waiting(pipe: PipeReader) -> io::Result<File> {
    let pipe = OwnedFd::from(pipe);
    fcntl_setfl(&pipe, fcntl_getfl(&pipe)? | OFlags::NONBLOCK)?;
    Ok(File::from(pipe))
}
