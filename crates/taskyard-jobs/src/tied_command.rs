//! Running a command that does not outlive us: a supervisor stands between, and ends everything when we are gone.

use std::io::{self, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use taskyard::process::{Cancel, Ending, Output, Program, Sink, Stop, wait_for};
use taskyard::store::Subscription;

use super::tied_supervisor::{ASK, CommandNews, KILL};
use super::{Jobs, leftovers};

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
                    leftovers::kill_writers(&output.inodes());
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
            leftovers::kill_writers(&output.inodes());
        }
        output.drain_after_end()?;
        Ok(match news {
            Some(CommandNews::Ended(status)) => ExitStatus::from_raw(status).into(),
            None if !stop.asked().is_cancelled() => supervisor.into(),
            _ => Ending::Cancelled,
        })
    }
}

/// How often a supervisor is started for a command that has not begun: one may be killed for want of memory, say.
const ATTEMPTS: u32 = 5;
/// How long the next one waits; after each attempt once more as long.
const BREATH: Duration = Duration::from_millis(50);

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

#[cfg(test)]
mod tests {
    use super::as_error;

    #[test]
    fn what_the_system_said_stays_the_error_it_was() {
        let error = std::io::Error::from_raw_os_error(2);
        assert_eq!(as_error(&error.to_string()).kind(), std::io::ErrorKind::NotFound);
        assert_eq!(as_error("something else").to_string(), "something else");
    }
}
