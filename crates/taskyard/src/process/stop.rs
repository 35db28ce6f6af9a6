//! Ending a command from outside: it is asked first, and killed when that does not help.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process_group};

use super::program::{News, Readers, Running};
use super::{Attendant, Cancel, Ending, Program, Sink};
use crate::store::Subscription;

/// How long a command that was asked to end has for it.
const GRACE: Duration = Duration::from_secs(5);

/// Ends commands in two steps. Clones are the same stop; what has been done stays done.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    asked: Cancel,
    killed: Cancel,
    /// What leads here from the stop this one is part of.
    _outer: Option<Arc<[Subscription; 2]>>,
}

impl Stop {
    /// Returns a stop that has not happened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns one that also happens when this one does.
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

    /// Asks everything to end.
    pub fn ask(&self) {
        self.asked.cancel();
    }

    /// Kills everything at once.
    pub fn kill(&self) {
        self.asked.cancel();
        self.killed.cancel();
    }

    /// Returns what is cancelled when everything is asked to end.
    pub fn asked(&self) -> &Cancel {
        &self.asked
    }
}

impl Program {
    /// Runs the command to its end, as [`Program::run`] does; when it is to stop, everything in its process group gets
    /// SIGTERM, and SIGKILL when that has not helped after five seconds. `started` is called once it has been started, before
    /// anything it writes is passed on.
    pub fn run_until_stopped(
        &self,
        stdout: Sink,
        stderr: Sink,
        stop: &Stop,
        started: impl FnOnce(),
    ) -> io::Result<Ending> {
        self.run_in_two_steps(|| Running::start(self), stdout, stderr, stop, started)
    }

    /// Does the same under an attendant: should we be killed, nothing that the command started outlives us.
    pub fn run_attended_until_stopped(
        &self,
        by: &Attendant,
        stdout: Sink,
        stderr: Sink,
        stop: &Stop,
        started: impl FnOnce(),
    ) -> io::Result<Ending> {
        self.run_in_two_steps(|| Running::start_attended(self, by), stdout, stderr, stop, started)
    }

    fn run_in_two_steps(
        &self,
        start: impl FnOnce() -> io::Result<Running>,
        stdout: Sink,
        stderr: Sink,
        stop: &Stop,
        started: impl FnOnce(),
    ) -> io::Result<Ending> {
        if stop.asked.is_cancelled() {
            return Ok(Ending::Cancelled);
        }
        let (tell, hear) = mpsc::channel();
        let mut running = start()?;
        started();
        let mut readers = running.attend(&self.stdin, stdout, stderr, &tell)?;
        let (ask, kill) = (tell.clone(), tell);
        let _asked = stop.asked.on_cancel(move || drop(ask.send(News::Asked)));
        let _killed = stop.killed.on_cancel(move || drop(kill.send(News::Cancelled)));
        let ending = running.end_in_two_steps(&hear, &mut readers)?;
        readers.hear_last_words(&hear);
        Ok(ending)
    }
}

impl Running {
    /// Waits until the command has ended, by itself or by us.
    fn end_in_two_steps(&mut self, hear: &Receiver<News>, readers: &mut Readers) -> io::Result<Ending> {
        let mut deadline: Option<Instant> = None;
        let mut has_ended = false;
        loop {
            let news = match deadline {
                Some(deadline) => hear.recv_timeout(deadline.saturating_duration_since(Instant::now())),
                None => hear.recv().map_err(RecvTimeoutError::from),
            };
            match news {
                Ok(News::Ended) if deadline.is_none() => return self.conclude(),
                Ok(News::Ended) => has_ended = true,
                Ok(News::Closed) => readers.open -= 1,
                Ok(News::Asked) => {
                    // One that is suspended could not hear it.
                    let _ = kill_process_group(self.group, Signal::TERM);
                    let _ = kill_process_group(self.group, Signal::CONT);
                    deadline = Some(Instant::now() + GRACE);
                }
                Ok(News::Cancelled) | Err(_) => return self.kill(Ending::Cancelled),
            }
            // What it started may need its time, too; with the pipes closed nobody is left, or nobody who cares.
            if has_ended && readers.open == 0 {
                return self.kill(Ending::Cancelled);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Stop;
    use crate::process::{Captured, CommandLine, Ending, Program, Sink};

    fn shell(line: &str) -> Program {
        Program {
            command: CommandLine::Shell(line.to_owned()),
            directory: "/".into(),
            environment: Vec::new(),
            stdin: Vec::new(),
            timeout: None,
        }
    }

    /// Returns a sink that does something as soon as anything is written.
    fn at_first_word(act: impl FnOnce() + Send + 'static) -> Sink {
        let mut act = Some(act);
        Box::new(move |_| {
            if let Some(act) = act.take() {
                act();
            }
        })
    }

    #[test]
    fn a_command_that_is_asked_to_end_can_say_goodbye() {
        let (stop, said) = (Stop::new(), Captured::beginning(100));
        let ask = stop.clone();
        let program = shell("trap 'echo goodbye >&2; exit 0' TERM; echo up; while :; do sleep 0.01; done");
        let ending =
            program.run_until_stopped(at_first_word(move || ask.ask()), said.sink(), &stop.part(), || {}).unwrap();
        assert_eq!(ending, Ending::Cancelled);
        assert!(said.text().ends_with("goodbye\n"), "{}", said.text());
    }

    #[test]
    fn a_command_that_will_not_end_is_killed_with_everything_it_started() {
        let (stop, said) = (Stop::new(), Captured::beginning(100));
        let started = Instant::now();
        let kill = stop.clone();
        let program = shell("trap '' TERM; sleep 60 & echo $!; echo up >&2; wait; sleep 60");
        let ending = program.run_until_stopped(said.sink(), at_first_word(move || kill.kill()), &stop, || {}).unwrap();
        assert_eq!(ending, Ending::Cancelled);
        assert!(started.elapsed() < Duration::from_secs(30));
        let pid: u32 = said.text().trim().parse().unwrap();
        while crate::liveness::mark_of(pid).is_some() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_was_stopped_before_does_not_begin_and_a_part_does_not_stop_the_whole() {
        let stop = Stop::new();
        stop.part().kill();
        let ending = |stop: &Stop| {
            let mut has_started = false;
            let sink = || -> Sink { Box::new(|_| {}) };
            let ending = shell("exit 3").run_until_stopped(sink(), sink(), stop, || has_started = true).unwrap();
            (ending, has_started)
        };
        assert_eq!(ending(&stop), (Ending::Exited(3), true));
        stop.ask();
        assert_eq!(ending(&stop.part()), (Ending::Cancelled, false));
    }
}
