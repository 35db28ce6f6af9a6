//! A home in which something strange stands where a file should be.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

use taskyard_testkit::{Home, Ran, Took};

/// A process that waits for a pipe's writer, a lock or the end of a device waits for twelve seconds at least.
const LONGEST: Duration = Duration::from_secs(10);
/// Half of the commands wait for less than this.
const USUALLY: Duration = Duration::from_secs(1);
/// No command needs more memory than this, in kilobytes.
const MEMORY: u32 = 1_500_000;
/// What the file outside holds, and what must never be found anywhere else.
pub(crate) const SECRET: &str = "BEGIN OPENSSH PRIVATE KEY";

/// A home, and a file outside of it that no command should read.
pub(crate) struct Site {
    pub(crate) home: Home,
    outside: tempfile::TempDir,
    text: String,
    times: Mutex<Vec<Duration>>,
    environment: Vec<(&'static str, &'static str)>,
}

impl Site {
    /// Makes a home. The file outside would be a good one, were it in the right place; it holds the secret.
    pub(crate) fn new(good: &str) -> Self {
        assert!(good.contains(SECRET));
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("good"), good).unwrap();
        let home = Home::new(env!("CARGO_BIN_EXE_taskyard"));
        Self { home, outside, text: good.to_owned(), times: Mutex::default(), environment: Vec::new() }
    }

    /// Sets a variable for every command.
    pub(crate) fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Returns the file outside.
    pub(crate) fn good(&self) -> PathBuf {
        self.outside.path().join("good")
    }

    /// Runs a command that has to come to an end at once, with little memory.
    pub(crate) fn run(&self, words: &str) -> Ran {
        self.run_with(words, Stdio::null())
    }

    /// Does the same with something on stdin.
    pub(crate) fn run_with(&self, words: &str, stdin: Stdio) -> Ran {
        let mut command = self.home.command(words).limited(&format!("ulimit -v {MEMORY}"));
        command.envs(self.environment.iter().copied());
        command.stdin(stdin).stderr(Stdio::piped());
        let (ran, took) = Took::within(command, LONGEST);
        assert!(took.waited < LONGEST, "`{words}` did not come to an end: {ran:?}");
        self.times.lock().unwrap().push(took.waited);
        ran
    }

    /// Runs a command that has to succeed, and returns what it said on both channels.
    pub(crate) fn good_run(&self, words: &str) -> String {
        let ran = self.run(words);
        assert_eq!(ran.code, Some(0), "`{words}`: {ran:?}");
        format!("{}{}", ran.stdout, ran.stderr)
    }

    /// Runs a command that has to fail and to name a path and what stands there, in words and in JSON; returns the words.
    pub(crate) fn refused(&self, words: &str, code: i32, path: &Path, called: &str) -> String {
        let file = path.file_name().unwrap().to_str().unwrap();
        let json = self.run(&format!("{words} --json"));
        let ran = self.run(words);
        for ran in [&json, &ran] {
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(ran.code, Some(code), "`{words}`: {ran:?}");
            assert!(said.contains(file) && said.contains(called), "`{words}` names {file} and {called}: {ran:?}");
        }
        ran.stderr
    }

    /// Looks the home over, which has to find a code and say these words, and mends it until nothing is wrong.
    pub(crate) fn doctor_mends(&self, store: &str, code: &str, words: &[&str]) {
        let found = self.run(&format!("doctor {store}"));
        assert_eq!(found.code, Some(3), "{found:?}");
        for word in words.iter().chain([&code]) {
            assert!(found.stdout.contains(word), "{word}: {found:?}");
        }
        self.good_run(&format!("doctor {store} --fix --yes"));
        self.good_run(&format!("doctor {store}"));
    }

    /// Looks that nothing of the file outside came anywhere, that it is as it was, and that commands were quick.
    pub(crate) fn check(&self) {
        assert_eq!(fs::read_to_string(self.good()).unwrap(), self.text);
        let allowed = |path: &Path| path.ends_with("good-inside");
        let leaked: Vec<PathBuf> = files_below(self.home.path()).into_iter().filter(|path| !allowed(path)).collect();
        for path in leaked {
            let bytes = fs::read(&path).unwrap();
            let is_in = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
            assert!(!is_in, "what a link led to is in {}", path.display());
        }
        let mut times = self.times.lock().unwrap();
        times.sort();
        assert!(times[times.len() / 2] < USUALLY, "{times:?}");
    }
}

/// Returns the regular files below a directory that are of a size one can read; links are not followed.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files.extend(files_below(&entry.path()));
        } else if kind.is_file() && entry.metadata().unwrap().len() < 1 << 30 {
            files.push(entry.path());
        }
    }
    files
}
