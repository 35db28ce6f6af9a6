//! The small process between one who waits for a command and the command.
//!
//! It ends with the command, and leaves alone what that left running. But when it is asked to stop, it asks everything that
//! descends from the command, and when whoever waits is gone, it kills all of it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::WaitStatus;
use rustix::stdio::{dup2_stdin, stdin};

use super::ending_all::{Family, adopt_orphans};
use super::trampoline::READ;
use super::wakeup::{Wakeup, wait_for};
use super::{JobPlace, processes};
use crate::liveness::mark_of;
use crate::process::{Cancel, Ending, Word, read_input};

/// How soon is looked again whether everybody has ended.
const SOON: Duration = Duration::from_millis(10);
/// How long is waited for processes that were killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a command for whoever holds the other end of stdin, tells there how it begins and ends, and lets nothing of it outlive
/// that process.
///
/// This is the whole life of a process: it adopts orphans. It must be called on the main thread, with whose end the command ends.
/// When `cancel` is cancelled, everything is asked to end.
pub fn attend(place: &JobPlace, words: &[OsString], cancel: &Cancel) -> io::Result<()> {
    let mut line = UnixStream::from(fcntl_dupfd_cloexec(stdin(), 3)?);
    // Nobody else may keep the line open.
    dup2_stdin(File::open("/dev/null")?)?;
    adopt_orphans()?;
    let wakeup = Wakeup::on(cancel)?;
    let input = read_input(&mut line)?;
    let (child, telling) = start(place, words, &input)?;
    let mut attended = Attended { line, telling: Some(telling), family: Family::of_this_process(&place.data) };
    let handle = mark_of(child.id()).as_ref().and_then(processes::handle);
    let mut status = None;
    let mut is_asked = false;
    loop {
        let things = [
            attended.telling.as_ref().map(|telling| telling.as_fd()),
            handle.as_ref().filter(|_| status.is_none()).map(|handle| handle.as_fd()),
            Some(attended.line.as_fd()),
            Some(wakeup.fd()).filter(|_| !is_asked),
        ];
        let [is_told, _, is_left, _] = wait_for(things, is_asked.then(|| Instant::now() + SOON))?;
        // Nothing is ever written to us any more: what can be read is its end.
        if is_left || is_told && attended.pass_on_beginning().is_err() {
            return attended.kill_everybody();
        }
        status = status.or(attended.family.reap(child.id()));
        if cancel.is_cancelled() && !is_asked {
            is_asked = true;
            attended.family.ask();
        }
        if let Some(status) = status.filter(|_| !is_asked || attended.family.is_alone()) {
            // What could not begin has said so before it ended.
            attended.pass_on_beginning()?;
            return attended.line.write_all(Word::Ended(ending(status)).line().as_bytes());
        }
    }
}

/// A command, and whoever waits for it.
struct Attended<'a> {
    line: UnixStream,
    telling: Option<UnixStream>,
    family: Family<'a>,
}

impl Attended<'_> {
    /// Tells whether the command has begun, where that has not been told.
    fn pass_on_beginning(&mut self) -> io::Result<()> {
        let Some(mut telling) = self.telling.take() else { return Ok(()) };
        let mut why = String::new();
        let _ = telling.read_to_string(&mut why);
        let word = if why.is_empty() { Word::Began } else { Word::Failed(why) };
        self.line.write_all(word.line().as_bytes())
    }

    fn kill_everybody(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        self.family.reap(0);
        while !self.family.is_alone() && Instant::now() < deadline {
            self.family.kill();
            self.family.reap(0);
            std::thread::sleep(SOON);
        }
        Ok(())
    }
}

/// Starts the trampoline of the command, and lets it begin with what it is to read.
fn start(place: &JobPlace, words: &[OsString], input: &[u8]) -> io::Result<(Child, UnixStream)> {
    let (mut telling, theirs) = UnixStream::pair()?;
    let child = {
        let mut command = Command::new(&place.program);
        command.args(["job", "begin", &std::process::id().to_string()]).args(words);
        // A group of its own, so that one that signals its whole group does not signal us.
        command.process_group(0).stdin(Stdio::from(OwnedFd::from(theirs)));
        command.spawn()?
    };
    telling.write_all(&[READ])?;
    telling.write_all(input)?;
    telling.shutdown(std::net::Shutdown::Write)?;
    Ok((child, telling))
}

fn ending(status: WaitStatus) -> Ending {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or_default()),
    }
}
