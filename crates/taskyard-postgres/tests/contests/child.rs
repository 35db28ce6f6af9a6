//! A process that takes part, and what it tells.

use std::env;
use std::io::BufRead;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use serde_json::Value;
use taskyard_testkit::{Process, Program};

/// One process, whose lines are read as they come.
pub(crate) struct Participant {
    process: Process,
    told: Arc<Mutex<Vec<(Instant, Value)>>>,
    reading: Option<JoinHandle<()>>,
}

impl Participant {
    /// Starts this program in a role.
    pub(crate) fn start(words: &[&str]) -> Self {
        let mut command = Program::new(env::current_exe().unwrap());
        let mut process = command.args(words).stdin(Stdio::piped()).start();
        let told: Arc<Mutex<Vec<(Instant, Value)>>> = Arc::default();
        let (out, into) = (process.take_output(), Arc::clone(&told));
        let reading = thread::spawn(move || {
            for line in out.lines() {
                let line = serde_json::from_str(&line.unwrap()).unwrap();
                into.lock().unwrap().push((Instant::now(), line));
            }
        });
        Self { process, told, reading: Some(reading) }
    }

    /// Returns how much it has told.
    pub(crate) fn count(&self) -> usize {
        self.told.lock().unwrap().len()
    }

    /// Says that it may begin.
    pub(crate) fn let_go(&mut self) {
        self.process.tell("go");
    }

    /// Says that it is enough: its input ends.
    pub(crate) fn stop(&mut self) {
        self.process.close_input();
    }

    /// Waits for its end, which must be a good one, and returns what it told.
    pub(crate) fn ended(mut self) -> Vec<(Instant, Value)> {
        self.stop();
        self.reading.take().unwrap().join().unwrap();
        let status = self.process.wait();
        assert!(status.success(), "a participant failed: {status}; its complaint is above");
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}
