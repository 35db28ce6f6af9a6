//! The first moments of a job's command.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Signal, getppid};
use rustix::stdio::{dup2_stdin, stdin};
use taskyard::process::file_of;

/// The variable that holds a job's id in the environment of everything it starts.
pub(crate) const JOB: &str = "TASKYARD_JOB";
/// The variable that tells a job's processes from all other processes.
pub(crate) const TOKEN: &str = "TASKYARD_JOB_TOKEN";
/// What is written when the command may begin, before what it is to read.
pub(crate) const GO: u8 = b'g';

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
