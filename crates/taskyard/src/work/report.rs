//! What came of working a list off.

use std::collections::BTreeMap;
use std::io;

use taskyard_core::TaskId;

use crate::Error;

/// What came of working a list off: every task that was taken, by how the last attempt at it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkReport {
    /// Those that are completed.
    pub completed: Vec<TaskId>,
    /// Those that went back after an attempt failed, and have attempts left.
    pub returned: Vec<TaskId>,
    /// Those that went back after the last attempt failed.
    pub gave_up: Vec<TaskId>,
    /// Those that went back because we were stopped.
    pub interrupted: Vec<TaskId>,
    /// Those that other agents have or completed now.
    pub lost: Vec<TaskId>,
    /// Those that were not taken because they had failed too often before.
    pub passed_over: Vec<TaskId>,
    /// Whether we were stopped.
    pub was_stopped: bool,
}

/// Why work ended before its time. What was taken has gone back or been completed.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(not(feature = "internals"), non_exhaustive)]
pub enum WorkError {
    /// The store gave no answer.
    #[error(transparent)]
    Yard(#[from] Error),
    /// The command could not be started.
    #[error("cannot run `{}`: {source}", .program.escape_debug())]
    CannotStart {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    Completed,
    Returned,
    GaveUp,
    Interrupted,
    Lost,
}

/// How the last attempt at each task ended.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<TaskId, Conclusion>);

impl Tally {
    pub(super) fn count(&mut self, task: TaskId, conclusion: Conclusion) {
        self.0.insert(task, conclusion);
    }

    pub(super) fn report(&self, passed_over: Vec<TaskId>, was_stopped: bool) -> WorkReport {
        let ended = |wanted: Conclusion| {
            let matching = self.0.iter().filter(|(_, conclusion)| **conclusion == wanted);
            matching.map(|(task, _)| task.clone()).collect()
        };
        WorkReport {
            completed: ended(Conclusion::Completed),
            returned: ended(Conclusion::Returned),
            gave_up: ended(Conclusion::GaveUp),
            interrupted: ended(Conclusion::Interrupted),
            lost: ended(Conclusion::Lost),
            passed_over: passed_over.into_iter().filter(|task| !self.0.contains_key(task)).collect(),
            was_stopped,
        }
    }
}
