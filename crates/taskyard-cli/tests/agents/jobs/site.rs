//! A home with jobs in it, and a look at what runs of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use taskyard_testkit::{Home, PATIENCE, Program, Ran, kill_all_with, wait_until};

/// A home of a test's own. What it leaves running is killed at its end, so that a test that fails leaves nothing behind.
pub(crate) struct Site {
    pub(crate) home: Home,
}

impl Site {
    pub(crate) fn new() -> Self {
        let site = Self { home: Home::new(env!("CARGO_BIN_EXE_taskyard")) };
        site.configured("[jobs]\ngrace = \"300ms\"\n")
    }

    /// Writes the user's configuration.
    pub(crate) fn configured(self, text: &str) -> Self {
        let folder = self.path(".config/taskyard");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("taskyard.toml"), text).unwrap();
        self
    }

    /// Returns a command in this home.
    pub(crate) fn command(&self, words: &str) -> Program {
        let mut command = self.home.command(words);
        command.env("CLAUDE_CODE_TMPDIR", self.path("tmp")).env("TASKYARD", env!("CARGO_BIN_EXE_taskyard"));
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, words: &str) -> Ran {
        self.command(words).run()
    }

    /// Runs a command that must succeed, and returns its JSON answer.
    pub(crate) fn ask(&self, words: &str) -> Value {
        let ran = self.run(&format!("{words} --json"));
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        ran.json()
    }

    /// Returns `job run` with flags for a line of shell.
    pub(crate) fn starter(&self, flags: &str, line: &str) -> Program {
        let mut command = self.command(&format!("job run {flags} --json -- sh -c"));
        command.arg(line);
        command
    }

    /// Starts a line of shell as a job, and returns its id.
    pub(crate) fn start(&self, flags: &str, line: &str) -> String {
        let ran = self.starter(flags, line).run();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()["job"]["id"].as_str().unwrap().to_owned()
    }

    /// Waits for the end of a job, and returns it.
    pub(crate) fn ended(&self, id: &str) -> Value {
        let ran = self.run(&format!("job wait {id} --timeout {}s --json", PATIENCE.as_secs()));
        let answer = ran.json();
        assert!(answer["timedOut"] == false, "{ran:?}");
        answer["job"].clone()
    }

    /// Returns a job as it stands.
    pub(crate) fn job(&self, id: &str) -> Value {
        self.jobs().into_iter().find(|job| job["id"] == id).unwrap()
    }

    /// Returns every job.
    pub(crate) fn jobs(&self) -> Vec<Value> {
        self.ask("job list")["jobs"].as_array().unwrap().clone()
    }

    /// Returns what lies in the output file of a job.
    pub(crate) fn file(&self, job: &Value) -> Vec<u8> {
        fs::read(job["outputFile"].as_str().unwrap()).unwrap()
    }

    /// Returns a path in the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Waits until so many lines are in a file, and returns them as numbers.
    pub(crate) fn await_pids(&self, count: usize) -> BTreeSet<u32> {
        let read = || -> BTreeSet<u32> {
            let text = fs::read_to_string(self.path("pids")).unwrap_or_default();
            text.lines().filter_map(|line| line.parse().ok()).collect()
        };
        wait_until("processes to start", || read().len() >= count);
        read()
    }

    /// Returns what runs of the jobs of this home: commands and all they started, as far as they kept their environment.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let home = format!("TASKYARD_HOME={}", self.home.data().display());
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let has = |wanted: &dyn Fn(&[u8]) -> bool| environment.split(|byte| *byte == 0).any(wanted);
            has(&|variable| variable == home.as_bytes()) && has(&|variable| variable.starts_with(b"TASKYARD_JOB="))
        };
        all_pids().into_iter().filter(|pid| is_alive(*pid) && is_ours(pid)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        kill_all_with("TASKYARD_HOME", &self.home.data().display().to_string());
    }
}

/// Kills a process, where it is still there.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Tells whether a process runs.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

fn all_pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
