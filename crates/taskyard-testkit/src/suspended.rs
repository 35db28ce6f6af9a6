//! A command of ours that has stopped itself in the middle of its work.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::home::{Home, Ran};

/// A command that is stopped at a step.
#[derive(Debug)]
pub struct Suspended {
    child: Child,
}

impl Suspended {
    /// Starts a command that stops itself at a step (`STEP` or `STEP*COUNT`), and waits until it has.
    pub fn at(home: &Home, step: &str, words: &str) -> Self {
        let mut child = home.start_with(&format!("{step}=stop"), words);
        let started = Instant::now();
        while !is_stopped(child.id()) {
            let ended = child.try_wait().expect("a child can be asked");
            assert!(ended.is_none(), "`{words}` never came to `{step}`: {:?}", Ran::wait(child));
            assert!(started.elapsed() < Duration::from_secs(60), "`{words}` does not come to `{step}`");
            thread::sleep(Duration::from_millis(2));
        }
        Self { child }
    }

    /// Lets it go on, and waits for its end.
    pub fn go_on(self) -> Ran {
        self.wake();
        Ran::wait(self.child)
    }

    /// Lets it go on.
    pub fn wake(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a child has a process id");
        kill_process(pid, Signal::CONT).expect("a child can be woken");
    }

    /// Waits for its end.
    pub fn end(self) -> Ran {
        Ran::wait(self.child)
    }
}

fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}
