//! What a command did and said.

use std::os::unix::process::ExitStatusExt;
use std::process::Output;

use serde_json::Value;

/// What a command came to.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

impl Ran {
    /// Returns the JSON answer.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the id of the task in the JSON answer.
    pub fn id(&self) -> String {
        self.json()["task"]["id"].as_str().unwrap_or_else(|| panic!("no task in {self:?}")).to_owned()
    }

    /// Tells whether the command was killed.
    pub fn was_killed(&self) -> bool {
        self.signal == Some(9)
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
