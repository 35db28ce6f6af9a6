//! One of many processes that create in one list at once, and what such a process reports.

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

/// What a process that created tasks says at its end. The Node rival says the same.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Report {
    /// How many creates were acknowledged.
    pub(crate) acknowledged: usize,
    /// How many failed.
    pub(crate) failed: usize,
    /// How long each acknowledged one took.
    pub(crate) microseconds: Vec<f64>,
}

/// Says "ready", waits for a line, creates so many tasks, and reports.
pub(crate) fn run(mut creator: impl Creator, count: &str) -> Result<ExitCode, Failure> {
    let count: usize = count.parse()?;
    let mut out = io::stdout();
    writeln!(out, "ready")?;
    out.flush()?;
    io::stdin().lock().read_line(&mut String::new())?;
    let mut report = Report::default();
    for _ in 0..count {
        match creator.create() {
            Ok(time) => report.microseconds.push(time.as_secs_f64() * 1e6),
            Err(failure) => {
                tell(&format!("a create failed: {failure}"));
                report.failed += 1;
            }
        }
    }
    report.acknowledged = report.microseconds.len();
    writeln!(out, "{}", serde_json::to_string(&report)?)?;
    Ok(ExitCode::SUCCESS)
}
