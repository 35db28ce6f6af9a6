//! One of many processes that work on one list at once, and what such a process reports.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::table::tell;

/// Creates tasks in one list, one after the other.
pub(crate) trait Creator {
    /// Creates the next task and returns how long it took.
    fn create(&mut self) -> Result<Duration, Failure>;
}

/// What such a process says at its end. The Node rival says the same.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Report {
    /// How many of its changes were acknowledged.
    pub(crate) acknowledged: usize,
    /// How many failed.
    pub(crate) failed: usize,
    /// How long each acknowledged one took.
    pub(crate) microseconds: Vec<f64>,
}

/// Says "ready", waits for a line, does its work so often, and reports.
pub(crate) fn run(mut work: impl FnMut() -> Result<Duration, Failure>, count: &str) -> Result<ExitCode, Failure> {
    let count: usize = count.parse()?;
    let mut out = io::stdout();
    writeln!(out, "ready")?;
    out.flush()?;
    io::stdin().lock().read_line(&mut String::new())?;
    let mut report = Report::default();
    for _ in 0..count {
        match work() {
            Ok(time) => report.microseconds.push(time.as_secs_f64() * 1e6),
            Err(failure) => {
                tell(&format!("a change failed: {failure}"));
                report.failed += 1;
            }
        }
    }
    report.acknowledged = report.microseconds.len();
    writeln!(out, "{}", serde_json::to_string(&report)?)?;
    Ok(ExitCode::SUCCESS)
}
