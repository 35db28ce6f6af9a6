//! Running a command that does not outlive us: a supervisor stands between, and ends everything when we are gone.

use std::io::{self, BufRead as _, BufReader, PipeWriter, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::Jobs;
use super::output_pipe::OutputPipe;
use super::tied_supervisor::{ASK, CommandNews, KILL};
use super::wakeup::wait_for;
use crate::process::{Cancel, CommandLine, Ending, Program, Sink, Stop};
use crate::store::Subscription;

/// How much is read at once.
const BUFFER: usize = 64 << 10;
/// How long is waited for more output after a command ended, while something it left behind keeps the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How long is waited for it at most, however much still comes.
const LAST_WORDS_AT_MOST: Duration = Duration::from_secs(2);

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
        if stop.asked().is_cancelled() {
            return Ok(Ending::Cancelled);
        }
        let (stdout, writes) = OutputPipe::new()?;
        let (stderr, writes_errors) = OutputPipe::new()?;
        let mut output = Output { pipes: [stdout, stderr], sinks, buffer: vec![0; BUFFER] };
        let mut tied = TiedCommand::start(self, program, writes, writes_errors)?;
        tied.hand_over(&program.stdin)?;
        let wishes = [tied.pass_on(stop.asked(), ASK)?, tied.pass_on(stop.killed(), KILL)?];
        tied.await_beginning()?;
        started();
        let ending = loop {
            // What is at hand already wakes nobody.
            let is_told = !tied.line.buffer().is_empty() || {
                let [out, err] = output.pipes.each_ref().map(OutputPipe::fd);
                let [.., is_told] = wait_for([out, err, Some(tied.line.get_ref().as_fd())], None)?;
                is_told
            };
            output.drain();
            if is_told {
                break match tied.hear() {
                    Some(CommandNews::Ended(ending)) => Some(ending),
                    _ => None,
                };
            }
        };
        // Whoever is reaped is nobody's to continue.
        drop(wishes);
        let status = tied.reap()?;
        output.hear_last_words()?;
        // Without a supervisor the command was killed by the system.
        let unseen = || if stop.asked().is_cancelled() { Ending::Cancelled } else { status.into() };
        Ok(ending.unwrap_or_else(unseen))
    }
}

/// The supervisor of a command, and our end of the line to it. When that is closed, everything the command started is killed.
struct TiedCommand {
    line: BufReader<UnixStream>,
    supervisor: Child,
}

impl TiedCommand {
    fn start(jobs: &Jobs, program: &Program, stdout: PipeWriter, stderr: PipeWriter) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&jobs.place.program);
        command.args(["job", "tied"]).arg(&jobs.place.data);
        match &program.command {
            CommandLine::Shell(line) => command.args(["sh", "-c", line]),
            CommandLine::Words(program, arguments) => command.arg(program).args(arguments),
        };
        command.current_dir(&program.directory).process_group(0);
        command.envs(program.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(stdout).stderr(stderr);
        // With the command goes our copy of the other ends: what is closed there is noticed here.
        Ok(Self { supervisor: command.spawn()?, line: BufReader::new(line) })
    }

    /// Has a wish passed on to the supervisor when it comes, whatever we are busy with then.
    fn pass_on(&self, from: &Cancel, wish: u8) -> io::Result<Subscription> {
        let mut line = self.line.get_ref().try_clone()?;
        let supervisor = Pid::from_child(&self.supervisor);
        Ok(from.on_cancel(move || {
            // It may have ended this very moment.
            let _ = line.write_all(&[wish]);
            // One that is suspended could not hear it.
            let _ = kill_process(supervisor, Signal::CONT);
        }))
    }

    /// Hands over what the command is to read. Nothing else may have been written before.
    fn hand_over(&self, input: &[u8]) -> io::Result<()> {
        let mut line = self.line.get_ref();
        line.write_all(&(input.len() as u64).to_le_bytes())?;
        line.write_all(input)
    }

    fn await_beginning(&mut self) -> io::Result<()> {
        match self.hear() {
            Some(CommandNews::Began) => Ok(()),
            Some(CommandNews::CannotBegin(why)) => Err(as_error(&why)),
            Some(CommandNews::Ended(_)) | None => Err(io::Error::other("its supervisor did not come up")),
        }
    }

    /// Waits for what the supervisor says next; none where it has ended without a word.
    fn hear(&mut self) -> Option<CommandNews> {
        let mut line = String::new();
        self.line.read_line(&mut line).ok()?;
        CommandNews::read(line.strip_suffix('\n')?)
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        let _ = self.line.get_ref().shutdown(std::net::Shutdown::Both);
        self.supervisor.wait()
    }
}

impl Drop for TiedCommand {
    fn drop(&mut self) {
        // Whoever was reaped already is not waited for again.
        let _ = self.reap();
    }
}

/// What a command writes to stdout and stderr, and who takes it.
struct Output {
    pipes: [OutputPipe; 2],
    sinks: [Sink; 2],
    buffer: Vec<u8>,
}

impl Output {
    fn drain(&mut self) {
        for (pipe, sink) in self.pipes.iter_mut().zip(&mut self.sinks) {
            pipe.drain(&mut self.buffer, sink);
        }
    }

    /// Reads until the pipes are closed or nothing more comes. What comes even later is passed on by somebody else.
    fn hear_last_words(mut self) -> io::Result<()> {
        // However slowly it is taken: a pipe holds no more than is read here.
        self.drain();
        let deadline = Instant::now() + LAST_WORDS_AT_MOST;
        let mut until = deadline.min(Instant::now() + LAST_WORDS);
        loop {
            self.drain();
            let [out, err] = self.pipes.each_ref().map(OutputPipe::fd);
            if out.is_none() && err.is_none() {
                return Ok(());
            }
            let has_come = wait_for([out, err], Some(until))?.contains(&true);
            match Instant::now() {
                now if has_come && now < deadline => until = deadline.min(now + LAST_WORDS),
                now if now >= until => break,
                _ => {}
            }
        }
        let open = self.pipes.into_iter().zip(self.sinks).filter(|(pipe, _)| pipe.fd().is_some());
        for (mut pipe, mut sink) in open {
            let go_on = move || {
                let mut buffer = vec![0; BUFFER];
                while pipe.fd().is_some() && wait_for([pipe.fd()], None).is_ok() {
                    pipe.drain(&mut buffer, &mut sink);
                }
            };
            thread::Builder::new().name("output".to_owned()).stack_size(256 << 10).spawn(go_on)?;
        }
        Ok(())
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
