//! A command of ours that has stopped itself in the middle of its work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::home::Home;
use crate::ran::Ran;

/// A command that is stopped at a step.
#[derive(Debug)]
pub struct Suspended {
    child: Option<Child>,
}

impl Suspended {
    /// Starts a command that stops itself at a step (`STEP` or `STEP*COUNT`), and waits until it has.
    pub fn at(home: &Home, step: &str, words: &str) -> Self {
        let mut child = home.start_with(&format!("{step}=stop"), words);
        let started = Instant::now();
        while !is_stopped(Path::new(&format!("/proc/{}", child.id()))) {
            let ended = child.try_wait().expect("a child can be asked");
            assert!(ended.is_none(), "`{words}` never came to `{step}`: {:?}", Ran::wait(child));
            assert!(started.elapsed() < Duration::from_secs(60), "`{words}` does not come to `{step}`");
            thread::sleep(Duration::from_millis(2));
        }
        Self { child: Some(child) }
    }

    /// Returns the id of its process.
    pub fn process(&self) -> u32 {
        self.child.as_ref().expect("it ends once").id()
    }

    /// Returns what tells whether its threads have run or were sent anything: how often each was switched to and from, and the signals
    /// that wait for it. Nothing of it changes while a stopped process is left alone.
    pub fn activity(&self) -> Vec<String> {
        let threads = || -> Vec<_> {
            let folder = fs::read_dir(format!("/proc/{}/task", self.process())).expect("a stopped process is there");
            folder.map(|thread| thread.expect("a thread of a stopped process stays").path()).collect()
        };
        // The process counts as stopped as soon as its first thread is.
        while !threads().iter().all(|thread| is_stopped(thread)) {
            thread::sleep(Duration::from_millis(2));
        }
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
        self.send(Signal::HUP);
    }

    /// Lets it go on.
    pub fn wake(&self) {
        self.send(Signal::CONT);
    }

    fn send(&self, signal: Signal) {
        let pid = self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok()).and_then(Pid::from_raw);
        let pid = pid.expect("a child has a process id");
        kill_process(pid, signal).expect("a child can be sent signals");
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ran {
        Ran::wait(self.child.take().expect("it ends once"))
    }
}

impl Drop for Suspended {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn is_stopped(process: &Path) -> bool {
    let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('T'))
}
