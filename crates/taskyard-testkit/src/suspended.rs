//! A command of ours that has stopped itself in the middle of its work.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::home::Home;
use crate::patience::wait_until;
use crate::process::{Process, is_stopped};
use crate::ran::Ran;

/// A command that is stopped at a step.
#[derive(Debug)]
pub struct Suspended {
    process: Process,
}

impl Suspended {
    /// Starts a command that stops itself at a step (`STEP` or `STEP*COUNT`), and waits until it has.
    pub fn at(home: &Home, step: &str, words: &str) -> Self {
        let mut process = home.start_with(&format!("{step}=stop"), words);
        wait_until(&format!("`{words}` to come to `{step}`"), || process.is_stopped() || process.try_wait().is_some());
        assert!(process.try_wait().is_none(), "`{words}` never came to `{step}`: {:?}", process.end());
        Self { process }
    }

    /// Returns the id of its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Returns what tells whether its threads have run or were sent anything: how often each was switched to and from, and the signals
    /// that wait for it. Nothing of it changes while a stopped process is left alone.
    pub fn activity(&self) -> Vec<String> {
        let threads = || -> Vec<_> {
            let folder = fs::read_dir(format!("/proc/{}/task", self.process())).expect("a stopped process is there");
            folder.map(|thread| thread.expect("a thread of a stopped process stays").path()).collect()
        };
        // The process counts as stopped as soon as its first thread is.
        wait_until("all threads to be stopped", || threads().iter().all(|thread| is_stopped(thread)));
        let telling = ["SigPnd:", "ShdPnd:", "voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
        let of_thread = |thread: &PathBuf| {
            let status = fs::read_to_string(thread.join("status")).expect("a thread of a stopped process stays");
            let lines = status.lines().filter(|line| telling.iter().any(|key| line.starts_with(key)));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        threads().iter().flat_map(of_thread).collect()
    }

    /// Lets it go on, and waits for its end.
    pub fn go_on(self) -> Ran {
        self.wake();
        self.end()
    }

    /// Tells it to end as a terminal does that is closed; it learns of it when it goes on.
    pub fn tell_to_end(&self) {
        self.process.signal(Signal::HUP);
    }

    /// Lets it go on.
    pub fn wake(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Waits for its end.
    pub fn end(self) -> Ran {
        self.process.end()
    }
}
