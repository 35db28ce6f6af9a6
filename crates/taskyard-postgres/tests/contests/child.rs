//! A process that takes part, and what it tells.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use serde_json::Value;

/// One process, whose lines are read as they come.
pub(crate) struct Participant {
    child: Child,
    stdin: Option<ChildStdin>,
    told: Arc<Mutex<Vec<(Instant, Value)>>>,
    reading: Option<JoinHandle<()>>,
}

impl Participant {
    /// Starts this program in a role.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        let mut child = command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let told: Arc<Mutex<Vec<(Instant, Value)>>> = Arc::default();
        let (out, into) = (BufReader::new(child.stdout.take().unwrap()), Arc::clone(&told));
        let reading = thread::spawn(move || {
            for line in out.lines() {
                let line = serde_json::from_str(&line.unwrap()).unwrap();
                into.lock().unwrap().push((Instant::now(), line));
            }
        });
        Self { stdin: child.stdin.take(), child, told, reading: Some(reading) }
    }

    /// Returns how much it has told.
    pub(crate) fn count(&self) -> usize {
        self.told.lock().unwrap().len()
    }

    /// Says that it may begin.
    pub(crate) fn let_go(&mut self) {
        self.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Says that it is enough: its input ends.
    pub(crate) fn stop(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end, which must be a good one, and returns what it told.
    pub(crate) fn ended(mut self) -> Vec<(Instant, Value)> {
        self.stop();
        self.reading.take().unwrap().join().unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "a participant failed: {status}; its complaint is above");
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

impl Drop for Participant {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
